"""The rename dialog, which checks the title on every key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.records.safe_text import clean
from hermes_store.records.session import TitleAdvice
from hermes_store.sessions.titles import MAX_LENGTH
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.text_field import Field


@dataclass(frozen=True, slots=True)
class Rename:
    """A new title for a session; None removes it."""

    session_id: str
    title: str | None


class RenameDialog(Dialog[Rename]):
    """Asks for a title."""

    title_text = "Rename"

    class Advised(Answer[TitleAdvice]):
        """The check of a title."""

    def __init__(self, access: Access, session_id: str, title: str | None) -> None:
        super().__init__()
        self.access = access
        self._session_id = session_id
        self._title = title or ""
        self._advice = TitleAdvice(title, None, None)

    def body(self) -> Iterable[Widget]:
        yield Field(self._title, id="title", compact=True, select_on_focus=True)
        yield PlainText("", id="advice")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Suggestion", id="suggest")
        yield PushButton("Rename", id="ok")

    def keys(self) -> Keys:
        return (("⏎", "rename"), ("Esc", "cancel"))

    def on_mount(self) -> None:
        self.query_one("#suggest").display = False
        self._advise(self._advice)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.ask(
            self.Advised,
            lambda store, _: store.sessions.advise_title(self._session_id, event.value),
        )

    def on_rename_dialog_advised(self, event: Advised) -> None:
        event.stop()
        if not event.stale:
            self._advise(event.value)

    def _advise(self, advice: TitleAdvice) -> None:
        self._advice = advice
        typed = self.query_one("#title", Input).value
        length = len(advice.title or "") if advice.problem is None else len(typed.strip())
        parts: list[tuple[str, str]] = [
            (f"{length} of {MAX_LENGTH} characters", "$foreground-muted")
        ]
        if advice.problem:
            parts.append((f"\n{clean(advice.problem)}", "$error"))
        elif advice.title is None:
            parts.append(("\nLeave empty to remove the title", "$warning"))
        elif advice.title != typed:
            parts.append((f"\nStored as: {clean(advice.title)}", "$foreground-muted"))
        if advice.suggestion is not None:
            parts.append((f"\n“{clean(advice.suggestion)}” is available.", "$success"))
        self.query_one("#advice", PlainText).update(Content.assemble(*parts))
        self.query_one("#suggest").display = advice.suggestion is not None
        self.query_one("#ok", PushButton).disabled = advice.problem is not None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._advice.problem is None:
            self.confirm("ok")

    def confirm(self, button: str) -> None:
        typed = self.query_one("#title", Input).value
        title = self._advice.suggestion if button == "suggest" else typed
        self.dismiss(Rename(self._session_id, title))
