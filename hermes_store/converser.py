"""The part of `Store` that a chat works with: remembering, compressing, branching, taking back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_store.viewer import Viewer

# Loaded when used, as in `store`.
if TYPE_CHECKING:
    from hermes_store.models import Session
    from hermes_store.recall import Summarise
    from hermes_store.recalled import Recalled


class Converser(Viewer):
    """Goes on with conversations and remembers earlier ones."""

    def recall(
        self,
        question: str,
        *,
        limit: int = 3,
        characters: int = 100_000,
        current_session_id: str | None = None,
        summarise: Summarise | None = None,
        role_filter: Sequence[str] | str | None = None,
        now: float,
    ) -> Recalled:
        """Return the earlier conversations that bear on a question; see docs/recall.md."""
        from hermes_store.recall import recall

        return recall(
            self,
            question,
            limit=limit,
            characters=characters,
            current_session_id=current_session_id,
            summarise=summarise,
            role_filter=role_filter,
            now=now,
        )

    def compress(
        self,
        session_id: str,
        *,
        summary: str,
        keep_last: int,
        summarised_to: int | None = None,
        new_id: str | None = None,
        now: float,
    ) -> Session:
        """End a session and return its continuation: the summary, then its last turns.

        What others said after message `summarised_to`, while the summary was being made, is kept
        word for word. SessionInUse if another process was faster or is at work on it.
        """
        from hermes_store import continuation

        with self._db.write() as tx:
            return continuation.compress(
                tx,
                session_id,
                summary=summary,
                keep_last=keep_last,
                summarised_to=summarised_to,
                new_id=new_id,
                now=now,
            )

    def newest_message(self, session_id: str) -> int:
        """Return the id of the message that was stored last in a session, 0 for a silent one."""
        from hermes_store import copies

        with self._db.read() as tx:
            return copies.newest_message(tx, session_id)

    def branch(
        self,
        session_id: str,
        *,
        title: str | None = None,
        new_id: str | None = None,
        now: float,
    ) -> Session:
        """End a session and return a copy of it that goes its own way."""
        from hermes_store import continuation

        with self._db.write() as tx:
            return continuation.branch(tx, session_id, title=title, new_id=new_id, now=now)

    def undo_exchange(self, session_id: str, *, answer_only: bool = False) -> int:
        """Take back the last thing the user said and what followed; return how many messages.

        With `answer_only`, what the user said stays.
        """
        from hermes_store import continuation

        with self._db.write() as tx:
            return continuation.undo_exchange(tx, session_id, answer_only=answer_only)
