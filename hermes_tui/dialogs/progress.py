"""The progress dialog of long work, with a way to stop it."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Button, ProgressBar

from hermes_store.errors import StoreError
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.fit_text import plain
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton

DELAY = 0.4
"""Seconds before the dialog opens, so that it does not flash up for short work."""
LOOK = 0.1


class GivenUp(StoreError):
    """The user stopped the work."""


class Work:
    """Progress shared by the working thread and the dialog."""

    def __init__(self, title: str, left_behind: str) -> None:
        """`left_behind` is a sentence that says what stopping leaves behind."""
        self.title = title
        self._left_behind = left_behind
        self.what, self.done, self.total = title, 0, 0
        self.ended = False
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask the work to stop."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """Whether the work was asked to stop."""
        return self._stop.is_set()

    def progress(self, what: str, done: int, total: int) -> None:
        """Report progress; raises GivenUp once the work was asked to stop."""
        self.what, self.done, self.total = what, done, total
        if self.stopping:
            raise GivenUp(f"{self.title} was stopped. {self._left_behind}")

    def counted(self, done: int, total: int) -> None:
        """Report progress without naming the step."""
        self.progress(self.title, done, total)


class ProgressDialog(Dialog[None]):
    """Shows the progress of some work."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.title_text = work.title
        self._work = work

    def body(self) -> Iterable[Widget]:
        yield PlainText("", id="step")
        yield ProgressBar(id="bar", show_eta=False)

    def buttons(self) -> Iterable[Widget]:
        yield PushButton("Stop", id="cancel")

    def keys(self) -> Keys:
        return (("⏎/Esc", "stop"),)

    def on_mount(self) -> None:
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        work = self._work
        if work.ended:
            self.dismiss(None)
            return
        self.query_one("#step", PlainText).update(
            "Stopping …" if work.stopping else plain(work.what)
        )
        self.query_one("#bar", ProgressBar).update(total=work.total or None, progress=work.done)

    def action_cancel(self) -> None:
        """Ask the work to stop; the dialog closes once it has."""
        self._work.stop()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._work.stop()


def begin(widget: Widget, title: str, left_behind: str) -> Work:
    """Return new work; if it takes long, a dialog shows its progress until it has ended."""
    work = Work(title, left_behind)

    def show() -> None:
        if not work.ended:
            widget.app.push_screen(ProgressDialog(work))

    widget.set_timer(DELAY, show)
    return work
