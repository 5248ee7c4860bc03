"""The part of `Store` that a browser looks through: long lists, their rows, long pages."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hermes_store.database.transaction import Transaction
from hermes_store.keeper import Keeper

# Loaded when used, as in `store`.
if TYPE_CHECKING:
    from hermes_store.models import Message
    from hermes_store.overview import (
        Entry,
        Hidden,
        Limits,
        ListRow,
        Outline,
        Recap,
        TitleAdvice,
        View,
        Weight,
    )
    from hermes_store.search.snippet import Highlighter


class Viewer(Keeper):
    """Looks at conversations without loading all of them."""

    # -- lists -----------------------------------------------------------------------------

    def list_entries(self, view: View, *, now: float) -> Iterator[Entry]:
        """Yield all ids of a list in order, with the headings of its grouping."""
        from hermes_store import browsing

        with self._db.read() as tx:
            hidden = self._archived_beside(tx)
            yield from browsing.entries(tx, view, archived=hidden, now=now)

    def list_first_guess(self) -> list[str]:
        """Return the ids that likely begin a list, where working out all of it takes a while."""
        from hermes_store import browsing

        with self._db.read() as tx:
            if tx.caps.activity:
                return []
            return browsing.first_guess(tx, archived=self._archived_beside(tx))

    def list_rows(self, ids: Sequence[str], *, now: float) -> list[ListRow]:
        """Return the rows of some conversations, marks included."""
        from hermes_store import list_rows

        with self._db.read() as tx:
            rows = list_rows.rows(tx, ids, now)
            marked = self._marked(tx)
        if not marked:
            return rows
        marks = self._marks.of([row.id for row in rows])
        return [
            row._replace(
                pinned=marks[row.id].pinned,
                archived=marks[row.id].archived,
                tags=marks[row.id].tags,
            )
            for row in rows
        ]

    def hidden_counts(self, view: View) -> dict[Hidden, int]:
        """Return how many conversations a view leaves out, by the reason."""
        from hermes_store import browsing

        with self._db.read() as tx:
            return browsing.hidden_counts(tx, view, archived=self._archived_beside(tx))

    def _marked(self, tx: Transaction) -> bool:
        """Tell whether there can be marks at all."""
        from hermes_store.companion import path_for

        return tx.caps.has_session("pinned") or path_for(self._db.path).exists()

    def _archived_beside(self, tx: Transaction) -> tuple[str, ...]:
        """Return what was archived although the file does not say so."""
        from hermes_store.companion import path_for

        if not path_for(self._db.path).exists():
            return ()
        from hermes_store.marks import ARCHIVED

        return self._marks.sessions_with(tx, ARCHIVED, in_file=False)

    # -- before a change -------------------------------------------------------------------

    def weigh(self, session_ids: Sequence[str], *, now: float) -> Weight:
        """Return how much some sessions hold, and whether one is being written to."""
        from hermes_store import browsing

        with self._db.read() as tx:
            return browsing.weigh(tx, session_ids, now)

    def advise_title(self, session_id: str, title: str) -> TitleAdvice:
        """Return whether a session can have a title, and what it would be stored as."""
        from hermes_store import titles
        from hermes_store.errors import TitleError, TitleTaken
        from hermes_store.overview import TitleAdvice

        try:
            wanted = titles.sanitize(title)
        except TitleError as error:
            return TitleAdvice(None, str(error), None)
        if wanted is None:
            return TitleAdvice(None, None, None)
        with self._db.read() as tx:
            holder = titles.holder_of(tx, wanted)
            if holder in (None, session_id):
                return TitleAdvice(wanted, None, None)
            return TitleAdvice(
                wanted, str(TitleTaken(wanted, str(holder))), titles.next_in_lineage(tx, wanted)
            )

    # -- pages -----------------------------------------------------------------------------

    def outline(self, session_id: str) -> Outline:
        """Return the whole conversation of a session as a long page of message ids."""
        from hermes_store import reading

        with self._db.read() as tx:
            return reading.outline(tx, session_id)

    def page_end(
        self, session_id: str, known: Outline | None = None
    ) -> tuple[Outline, list[Message]]:
        """Return a conversation as a long page, with those of its last messages that are new.

        New is what an earlier form of the page, if there is one, does not have.
        """
        from hermes_store import reading

        with self._db.read() as tx:
            return reading.page_end(tx, session_id, known)

    def messages_by_id(self, ids: Sequence[int]) -> list[Message]:
        """Return messages in the order asked for; what is gone is left out."""
        from hermes_store import reading

        with self._db.read() as tx:
            return reading.messages_by_id(tx, ids)

    def matches(
        self,
        page: Outline,
        text: str,
        *,
        cancelled: Callable[[], bool] | None = None,
        typing: bool = False,
    ) -> tuple[array[int], Highlighter]:
        """Return the messages of a page that match a search text, and what marks the places."""
        from hermes_store import page_matches

        with self._db.read() as tx:
            return page_matches.matches(tx, page, text, cancelled=cancelled, typing=typing)

    def quick_recap(self, session_id: str, limits: Limits | None = None) -> Recap:
        """Return the recap of a session without reading all of a long one."""
        from hermes_store import reading

        with self._db.read() as tx:
            return reading.recap_of(tx, session_id, limits)
