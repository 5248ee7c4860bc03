"""One turn that is being answered: what has arrived, stopping it, and whether it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hermes_tui.chat.conversation_pane import Heard
from hermes_tui.chat.streamed_reply import Reply
from hermes_tui.chat.turn_loop import Conversation, Turn
from hermes_tui.store_access import Stopped

Job = Callable[[Conversation, Heard, Stopped], Turn]
"""Asks for an answer."""


class AnswerUnderWay:
    """A turn; the screen and the thread that asks share it."""

    def __init__(self, text: str | None, heard: Heard) -> None:
        self.text = text
        """The message that is being answered; None if an earlier one is."""
        self.heard = heard
        self._stop = threading.Event()
        self._done = threading.Event()

    @classmethod
    def none(cls) -> AnswerUnderWay:
        """Return a turn that is over."""
        nothing = cls(None, Heard())
        nothing._done.set()
        return nothing

    def turn(self, job: Job) -> Callable[[Conversation, Stopped], Turn]:
        """Return the job for the queue."""

        def run(talk: Conversation, stopped: Stopped) -> Turn:
            try:
                return job(talk, self.heard, lambda: self._stop.is_set() or stopped())
            finally:
                self._done.set()

        return run

    def over(self) -> AnswerUnderWay:
        """Return this turn, which is over: it may have failed before it began."""
        self._done.set()
        return self

    @property
    def is_coming(self) -> bool:
        """Whether it is not over."""
        return not self._done.is_set()

    def stop(self) -> bool:
        """Stop it; return whether it was coming."""
        coming = self.is_coming
        self._stop.set()
        return coming

    @property
    def session_id(self) -> str | None:
        """The session that it was written to so far."""
        return self.heard.session_id

    @property
    def is_said(self) -> bool:
        """Whether the message is in the database."""
        return self.text is None or self.heard.session_id is not None

    @property
    def unsaid(self) -> str:
        """The message while it is on its way and not in the database yet."""
        return self.text if self.is_coming and not self.is_said and self.text else ""


def how_it_ended(reply: Reply) -> str:
    """Return a note on an answer; empty if it is complete."""
    if not reply.stopped:
        return ""
    if reply.text or reply.reasoning:
        return "Stopped. The partial answer is saved."
    return "Stopped before an answer came. /retry asks again."
