"""What all dialogs share: a centered box, a title, buttons, Esc to cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input

from hermes_store.errors import StoreError
from hermes_store.records.safe_text import clean, clean_line
from hermes_store.store import Store
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.text_field import Field

SHEET = styles_folder() / "dialogs.tcss"
Result = TypeVar("Result")
Value = TypeVar("Value")


class Dialog(ModalScreen[Result]):
    """A question that returns a result, or None if canceled."""

    CSS_PATH = SHEET
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel", show=False)]

    title_text = ""
    access: Access | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(clean_line(self.title_text))
            with Vertical(classes="body"):
                yield from self.body()
            with Horizontal(classes="buttons"):
                yield from self.buttons()

    def body(self) -> Iterable[Widget]:
        """Yield the widgets between title and buttons; none unless a dialog has some."""
        return ()

    def buttons(self) -> Iterable[Widget]:
        """Yield the buttons, the safe one first."""
        yield Button("Cancel", id="cancel", compact=True)

    def ask(self, answer: type[Answer[Value]], job: Callable[[Store, Stopped], Value]) -> None:
        """Ask the store in the background; a newer question cancels the older one."""
        assert self.access is not None
        self.access.ask(self, answer, job, group="dialog")

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if not event.stale:
            self.failed(event.error)

    def failed(self, error: StoreError) -> None:
        """Show an error."""
        self.notify(clean(str(error)), severity="error", timeout=10, markup=False)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "cancel":
            self.dismiss(None)
        else:
            self.confirm(event.button.id or "")

    def confirm(self, button: str) -> None:
        """Dismiss with the result for the button that was pressed; with none unless it has one."""
        self.dismiss(None)


class Ask(Dialog[str]):
    """Asks for one line of text."""

    def __init__(self, title: str, value: str, verb: str, hint: str = "") -> None:
        super().__init__()
        self.title_text = title
        self._value, self._verb, self._hint = value, verb, hint

    def body(self) -> Iterable[Widget]:
        yield Field(self._value, id="answer", compact=True, select_on_focus=True)
        if self._hint:
            yield PlainText(self._hint, classes="hint")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button(self._verb, id="ok", variant="primary", compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.confirm("ok")

    def confirm(self, button: str) -> None:
        self.dismiss(self.query_one("#answer", Input).value.strip())


class Confirm(Dialog[bool]):
    """Asks for confirmation; Cancel has the focus."""

    def __init__(self, title: str, text: str, verb: str) -> None:
        super().__init__()
        self.title_text = title
        self._text, self._verb = text, verb

    def body(self) -> Iterable[Widget]:
        yield PlainText(self._text)

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button(self._verb, id="ok", variant="error", compact=True)

    def confirm(self, button: str) -> None:
        self.dismiss(True)
