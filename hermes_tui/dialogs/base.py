"""What all dialogs share: a box with title, buttons and keys, and a line for failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button

from hermes_store.errors import StoreError
from hermes_store.records.safe_text import clean, clean_line
from hermes_store.store import Store
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton

SHEET = styles_folder() / "dialogs.tcss"
Result = TypeVar("Result")
Value = TypeVar("Value")
Keys = Iterable[tuple[str, str]]
"""Keys and what they do."""


class Dialog(ModalScreen[Result]):
    """A question that returns a result, or None if canceled."""

    CSS_PATH = SHEET
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel", show=False),
        Binding("enter", "submit", "submit", show=False),
        Binding("left", "go_to_button(-1)", "previous button", show=False),
        Binding("right", "go_to_button(1)", "next button", show=False),
        Binding("up", "app.focus_previous", "previous field", show=False),
        Binding("down", "app.focus_next", "next field", show=False),
        Binding("y", "answer(True)", "yes", show=False),
        Binding("n", "answer(False)", "no", show=False),
    ]

    title_text = ""
    answers = False
    """Whether y and n answer the question."""
    access: Access | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(clean_line(self.title_text))
            box.border_subtitle = _key_line(self.keys())
            with Vertical(classes="body"):
                yield from self.body()
            yield PlainText("", id="failure")
            with Horizontal(classes="buttons"):
                yield from self.buttons()

    def box_title(self, text: str) -> None:
        """Show another title."""
        self.query_one(".dialog").border_title = Content(clean_line(text))

    def body(self) -> Iterable[Widget]:
        """Yield the widgets between title and buttons; none unless a dialog has some."""
        return ()

    def buttons(self) -> Iterable[Widget]:
        """Yield the buttons, the safe one first."""
        yield PushButton("Cancel", id="cancel")

    def keys(self) -> Keys:
        """Return the keys that the dialog shows at its lower edge."""
        return (("Esc", "close"),)

    def ask(self, answer: type[Answer[Value]], job: Callable[[Store, Stopped], Value]) -> None:
        """Ask the store in the background; a newer question cancels the older one."""
        assert self.access is not None
        self.access.ask(self, answer, job, group="dialog")

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if not event.stale:
            self.failed(event.error)

    def failed(self, error: StoreError) -> None:
        """Show an error above the buttons."""
        line = self.query_one("#failure", PlainText)
        line.update(Content.styled(clean(str(error)), "$error"))
        line.display = True

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_submit(self) -> None:
        """Press the main button, wherever the focus is."""
        main = self.query("#ok")
        if main and not main.first().disabled:
            self.confirm("ok")

    def action_answer(self, yes: bool) -> None:
        if self.answers and yes:
            self.action_submit()
        elif self.answers:
            self.action_cancel()

    def action_go_to_button(self, step: int) -> None:
        """Move the focus between the buttons."""
        buttons = [each for each in self.query(Button) if each.focusable]
        if self.focused in buttons:
            buttons[(buttons.index(self.focused) + step) % len(buttons)].focus()
        elif buttons:
            buttons[0 if step > 0 else -1].focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "cancel":
            self.action_cancel()
        else:
            self.confirm(event.button.id or "")

    def confirm(self, button: str) -> None:
        """Dismiss with the result for the button that was pressed; with none unless it has one."""
        self.dismiss(None)


class Confirm(Dialog[bool]):
    """Asks for confirmation of what cannot be undone; Cancel has the focus."""

    answers = True

    def __init__(self, title: str, text: str, verb: str) -> None:
        super().__init__()
        self.title_text = title
        self._text, self._verb = text, verb

    def body(self) -> Iterable[Widget]:
        yield PlainText(self._text)

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton(self._verb, id="ok")

    def keys(self) -> Keys:
        return (("y", self._verb.lower()), ("n", "cancel"), ("←→", "choose"))

    def on_mount(self) -> None:
        self.query_one("#cancel").focus()

    def confirm(self, button: str) -> None:
        self.dismiss(True)


def _key_line(keys: Keys) -> Content:
    pieces: list[tuple[str, str] | str] = []
    for key, label in keys:
        pieces += ["  " if pieces else "", (key, "bold"), f" {label}"]
    return Content.assemble(*pieces)
