"""The export dialog: which conversations, which format, which file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.errors import StoreError
from hermes_store.records.safe_text import clean_line
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.export_target import refuse_own_file, suggested_name, typed_path
from hermes_tui.presentation.numbers import plural
from hermes_tui.widgets.checkboxes import OneOf, Option, Tick
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.text_field import Field

FORMATS = {"jsonl": "JSON lines", "markdown": "Markdown", "html": "HTML page"}
REDACT = "Redact keys, passwords, emails"
ENDINGS = {"jsonl": ".jsonl", "markdown": ".md", "html": ".html"}


@dataclass(frozen=True, slots=True)
class Export:
    """What to export, and where."""

    path: Path
    fmt: str
    roots: tuple[str, ...]
    redact: bool


class ExportDialog(Dialog[Export]):
    """Asks what to export."""

    title_text = "Export"

    def __init__(
        self, current: str, selected: Sequence[str], listed: Sequence[str], database: Path
    ) -> None:
        super().__init__()
        self._database = database
        self._extents = {"this": (current,), "selected": tuple(selected), "listed": tuple(listed)}
        self._current = current
        self._typed = False
        self._suggested = ""
        self._sure_of: Path | None = None
        """An existing file that Enter replaces the next time."""

    def body(self) -> Iterable[Widget]:
        chosen = "selected" if self._extents["selected"] else "this"
        self._suggested = self._default(chosen)
        yield Field(self._suggested, id="path", compact=True, select_on_focus=False)
        yield PlainText("", id="advice")
        with OneOf(id="extent", compact=True):
            yield Option("This conversation", value=chosen == "this", id="this")
            number = len(self._extents["selected"])
            yield Option(
                plural(number, "selected conversation") if number else "Nothing selected",
                value=chosen == "selected",
                id="selected",
                disabled=not number,
            )
            yield Option(
                f"The whole list ({plural(len(self._extents['listed']), 'conversation')})",
                id="listed",
            )
        with OneOf(id="format", compact=True):
            for fmt, label in FORMATS.items():
                yield Option(label, value=fmt == "jsonl", id=fmt)
        yield Tick(REDACT, id="redact", compact=True)

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Export", id="ok")

    def keys(self) -> Keys:
        return (("⏎", "export"), ("Esc", "cancel"), ("↑↓ Tab", "choose"))

    def on_mount(self) -> None:
        self.query_one("#path").focus()
        self._advise()

    def _chosen(self, group: str) -> str:
        pressed = self.query_one(f"#{group}", OneOf).pressed_button
        return (pressed.id if pressed is not None else None) or ""

    def _default(self, extent: str = "this", fmt: str = "jsonl") -> str:
        stem = self._current if extent == "this" else "hermes-sessions"
        return str(_here() / suggested_name(stem, ENDINGS[fmt]))

    def on_radio_set_changed(self) -> None:
        """Suggest a matching file name, unless the user typed one."""
        if not self._typed:
            with self.prevent(Input.Changed):
                self._suggested = self._default(self._chosen("extent"), self._chosen("format"))
                self.query_one("#path", Input).value = self._suggested
        self._advise()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._typed = self._typed or event.value != self._suggested
        self._follow_ending(Path(event.value).suffix.lower())
        self._advise()

    def _follow_ending(self, ending: str) -> None:
        """Choose the format that the name of a file asks for."""
        for fmt, usual in ENDINGS.items():
            if self._typed and ending == usual:
                self.query_one(f"#{fmt}", Option).value = True

    def _advise(self) -> None:
        advice = Content("")
        trouble = self._trouble()
        if trouble:
            advice = Content.styled(clean_line(trouble), "$error")
        elif self._path().exists():
            again = " Enter again replaces it." if self._sure_of == self._path() else ""
            advice = Content.styled(f"This file exists.{again}", "$warning")
        else:
            advice = Content.styled(clean_line(self._remark()), "$warning")
        self.query_one("#advice", PlainText).update(advice)
        self.query_one("#ok", PushButton).disabled = bool(trouble)

    def _remark(self) -> str:
        """Return what is worth knowing about the file, if anything."""
        path, fmt = self._path(), self._chosen("format")
        if path != self._typed_path():
            return f"Creates {path.name} in this folder."
        if path.suffix.lower() in {*ENDINGS.values()} - {ENDINGS[fmt]}:
            return f"The name ends in {path.suffix}, but the format is {FORMATS[fmt]}."
        return ""

    def _typed_path(self) -> Path:
        return typed_path(self.query_one("#path", Input).value)

    def _path(self) -> Path:
        """Return the file to write; in a folder, the one with the usual name."""
        path = self._typed_path()
        if path.is_dir() or self.query_one("#path", Input).value.rstrip().endswith("/"):
            usual = self._default(self._chosen("extent"), self._chosen("format"))
            return path / Path(usual).name
        return path

    def _trouble(self) -> str:
        """Return why the file cannot be written, "" if nothing is known to prevent it."""
        try:
            path = self._path()
            if path.is_dir():
                return "This is a folder; add a file name."
            if not path.parent.is_dir():
                return "This folder does not exist."
            refuse_own_file(path, self._database)
            place = path if path.exists() else path.parent
            return "" if os.access(place, os.W_OK) else "You may not write there."
        except StoreError as error:
            return str(error)
        except OSError as error:
            return f"This path cannot be used: {error.strerror}."

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def confirm(self, button: str) -> None:
        """Export; a file that exists is replaced only when asked twice."""
        path = self._path()
        if path.exists() and self._sure_of != path:
            self._sure_of = path
            self._advise()
            return
        self.dismiss(
            Export(
                path,
                self._chosen("format"),
                self._extents[self._chosen("extent")],
                self.query_one("#redact", Tick).value,
            )
        )


def _here() -> Path:
    """Return the current folder, or the user's own if that was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()
