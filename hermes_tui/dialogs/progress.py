"""Long work: how far it is, and stopping it."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Button, ProgressBar, Static

from hermes_store.errors import StoreError
from hermes_tui.dialogs.base import Dialog
from hermes_tui.presentation.text import plain

DELAY = 0.4
"""Seconds after which work counts as long; a dialog that flashes up only startles."""
LOOK = 0.1


class GivenUp(StoreError):
    """The person stopped the work."""


class Work:
    """What the thread that works and the dialog that shows it have in common."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.what, self.done, self.total = title, 0, 0
        self.ended = False
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask for the work to be stopped."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """Whether it is to be stopped."""
        return self._stop.is_set()

    def progress(self, what: str, done: int, total: int) -> None:
        """Hear how far the work is; GivenUp where it is to be stopped."""
        self.what, self.done, self.total = what, done, total
        if self.stopping:
            raise GivenUp(f"{self.title} was stopped. Changes made so far are kept.")

    def counted(self, done: int, total: int) -> None:
        """Hear how far the work is, without a name for the step."""
        self.progress(self.title, done, total)


class ProgressDialog(Dialog[None]):
    """Shows how far some work is."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.title_text = work.title
        self._work = work

    def body(self) -> Iterable[Widget]:
        """Yield the step and the bar."""
        yield Static("", id="step", markup=False)
        yield ProgressBar(id="bar", show_eta=False)

    def buttons(self) -> Iterable[Widget]:
        """Yield the button that stops it."""
        yield Button("Stop", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Look now and then."""
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        work = self._work
        if work.ended:
            self.dismiss(None)
            return
        self.query_one("#step", Static).update("Stopping …" if work.stopping else plain(work.what))
        self.query_one("#bar", ProgressBar).update(total=work.total or None, progress=work.done)

    def action_cancel(self) -> None:
        """Stop the work; the dialog goes when that has ended."""
        self._work.stop()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Stop the work."""
        event.stop()
        self._work.stop()
