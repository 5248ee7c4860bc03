"""A conversation, and the queue for everything that touches it.

Two turns never run at once, and nothing is written on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.dom import DOMNode

from hermes_tui.chat.turn_loop import Conversation
from hermes_tui.store_access import Access, Answer, Stopped

Value = TypeVar("Value")
Open = Callable[[str | None], Conversation]
"""Makes a conversation; takes the session to continue."""


class ConversationQueue:
    """Runs jobs on a conversation, one at a time, in its own thread."""

    def __init__(
        self,
        access: Access,
        open_: Open,
        session_id: str | None,
        on_title: Callable[[], None],
    ) -> None:
        """`on_title` is called from another thread when a title is found."""
        self._access = access
        self._open = open_
        self._session_id = session_id
        self._on_title = on_title
        self._queue = access.queue("hermes-chat")
        self._conversation: Conversation | None = None

    def run(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Conversation, Stopped], Value],
    ) -> None:
        """Queue a job, and post its result to a node."""
        self._access.run(
            node,
            answer,
            lambda stopped: job(self._made(), stopped),
            exclusive=False,
            queue=self._queue,
        )

    def _made(self) -> Conversation:
        """Return the conversation; the first job makes it."""
        if self._conversation is None:
            self._conversation = self._open(self._session_id)
            self._conversation.on_title = lambda _: self._on_title()
        return self._conversation

    def end(self, node: DOMNode, answer: type[Answer[None]]) -> None:
        """End the session, if a message was sent in it; it can be resumed at any time."""
        self._access.run(node, answer, lambda _: self._end(), exclusive=False, queue=self._queue)

    # The next three run in the queue: whether there is a conversation, and which session it is
    # in, depends on the jobs before them, which may still wait for the database.

    def _end(self) -> None:
        if self._conversation is not None:
            self._conversation.end("cli_close")

    def _move_to(self, session_id: str | None) -> None:
        self._session_id = session_id
        if self._conversation is not None:
            self._conversation.move_to(session_id)

    def _close(self) -> None:
        if self._conversation is not None:
            self._conversation.close()

    def move_to(self, session_id: str | None) -> None:
        """Continue another session, or a new one."""
        self._queue.submit(lambda: self._move_to(session_id))

    def close(self) -> None:
        """Close the conversation once everything is written."""
        self._queue.submit(self._close)
        self._queue.close()
