"""The browsing parts of a store: `store.lists` and `store.transcripts`."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from hermes_store.browse import order, recap, recent_sessions, rows, transcript
from hermes_store.engines.base import Database, Transaction
from hermes_store.records.listing import Entry, Filter, Hidden, ListRow, View
from hermes_store.records.marks import SessionMarks
from hermes_store.records.message import Message
from hermes_store.records.recap import Limits, Recap
from hermes_store.records.search import Spans
from hermes_store.records.session import Conversation
from hermes_store.records.transcript import Outline
from hermes_store.records.workspace import Place
from hermes_store.sessions import messages, workspaces


class MarksBeside(Protocol):
    """Supplies the marks that are stored in the sidecar."""

    def archived(self, tx: Transaction) -> tuple[str, ...]:
        """Return the sessions that are archived in the sidecar only."""

    def pinned_in(self, tx: Transaction) -> tuple[str, ...]:
        """Return all sessions of pinned conversations."""

    def of_rows(self, tx: Transaction, session_ids: Sequence[str]) -> dict[str, SessionMarks]:
        """Return the marks of conversations; empty if there cannot be any."""


class Lists:
    """Lists of conversations: all ids in order, and rows on demand."""

    def __init__(self, database: Database, marks: MarksBeside) -> None:
        self._database = database
        self._marks = marks

    def conversations(
        self, chosen: Filter | None = None, *, limit: int = 20, offset: int = 0
    ) -> list[Conversation]:
        """Return conversations by last activity, one per compression chain."""
        with self._database.read() as tx:
            wanted = self._without_archived(tx, chosen or Filter())
            return recent_sessions.conversations(tx, wanted, limit=limit, offset=offset)

    def as_dictionaries(
        self, chosen: Filter | None = None, *, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return the same list as dictionaries with all columns; faster for long lists."""
        with self._database.read() as tx:
            wanted = self._without_archived(tx, chosen or Filter())
            return recent_sessions.rich(tx, wanted, limit=limit, by_activity=True)

    def _without_archived(self, tx: Transaction, chosen: Filter) -> Filter:
        if chosen.include_archived:
            return chosen
        hidden = self._marks.archived(tx)
        return replace(chosen, archived_ids=(*chosen.archived_ids, *hidden)) if hidden else chosen

    def recent_ids(
        self,
        source: str | None = None,
        *,
        limit: int = -1,
        workspace: str | None = None,
        here: str | None = None,
    ) -> list[str]:
        """Return ids of every kind of session, the most recently active first; -1 is no limit.

        With a `workspace`, only those with this in the path of their workspace; with `here`, only
        those of this workspace.
        """
        with self._database.read() as tx:
            if limit >= 0 and workspace is None and here is None:
                return [row["id"] for row in recent_sessions.recent(tx, source, limit=limit)]
            scope = workspaces.scope(tx.caps, "s", workspace, here)
            found = recent_sessions.recent_ids(tx, source, scope)
            return found if limit < 0 else found[:limit]

    def workspaces(self) -> dict[str, int]:
        """Return the keys of all workspaces with their numbers of sessions, most used first."""
        with self._database.read() as tx:
            return dict(workspaces.known(tx).most_common())

    def branches(self) -> dict[str, int]:
        """Return the git branches of all sessions with their numbers, most used first."""
        with self._database.read() as tx:
            return dict(workspaces.branches(tx).most_common())

    def workspace_here(self, place: Place) -> str | None:
        """Return the workspace of a folder if a list shows any conversation from there."""
        with self._database.read() as tx:
            found = workspaces.here(tx, place)
            if found is None:
                return None
            shown = order.shows_any(tx, View(here=found), archived=self._marks.archived(tx))
            return found if shown else None

    def sources(self) -> list[str]:
        """Return the sources of all sessions, by name."""
        with self._database.read() as tx:
            return recent_sessions.sources(tx)

    def entries(self, view: View, *, now: float) -> Iterator[Entry]:
        """Yield all ids of a list in order, with the headings of its grouping."""
        with self._database.read() as tx:
            hidden, first = self._marks.archived(tx), self._marks.pinned_in(tx)
            yield from order.entries(tx, view, archived=hidden, pinned=first, now=now)

    def number_of(self, view: View) -> int:
        """Return how many conversations a list shows, whatever its limit."""
        with self._database.read() as tx:
            return order.number_of(tx, view, archived=self._marks.archived(tx))

    def rows(self, ids: Sequence[str], *, now: float, last: bool = False) -> list[ListRow]:
        """Return the rows of conversations, including their marks.

        With `last`, each has the beginning of its last message, too.
        """
        with self._database.read() as tx:
            found = rows.rows(tx, ids, now)
            found = rows.with_last_text(tx, found) if last else found
            marks = self._marks.of_rows(tx, [row.id for row in found])
        if not marks:
            return found
        return [
            replace(
                row,
                pinned=marks[row.id].pinned,
                archived=marks[row.id].archived,
                tags=marks[row.id].tags,
            )
            for row in found
        ]

    def days(self, *, now: float) -> tuple[int, ...]:
        """Return how many sessions started on each of the last thirty days, the last one today."""
        with self._database.read() as tx:
            return recent_sessions.days(tx, now)

    def hidden_counts(self, view: View) -> dict[Hidden, int]:
        """Return how many conversations a view leaves out, by reason."""
        with self._database.read() as tx:
            return order.hidden_counts(tx, view, archived=self._marks.archived(tx))


class Transcripts:
    """Whole conversations as one long page each, and recaps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def outline(self, session_id: str, *, everything: bool = False) -> Outline:
        """Return the conversation of a session as one long page of message ids.

        With `everything`, it includes messages that were taken back or are hidden.
        """
        with self._database.read() as tx:
            return transcript.outline(tx, session_id, everything=everything)

    def page_end(
        self, session_id: str, known: Outline | None = None, *, everything: bool = False
    ) -> tuple[Outline, list[Message]]:
        """Return a conversation as one long page, and those of its last messages not in `known`."""
        with self._database.read() as tx:
            return transcript.page_end(tx, session_id, known, everything=everything)

    def find(
        self,
        page: Outline,
        text: str,
        *,
        cancelled: Callable[[], bool] | None = None,
        typing: bool = False,
    ) -> tuple[array[int], Spans]:
        """Return the messages of a page that match a search, and a highlighter for the matches."""
        from hermes_store.browse import (
            find_in_conversation,  # keeps lists from loading all of search
        )

        with self._database.read() as tx:
            return find_in_conversation.matches(tx, page, text, cancelled=cancelled, typing=typing)

    def recap(self, session_id: str, limits: Limits | None = None) -> Recap:
        """Return a short recap of the last messages of a session."""
        with self._database.read() as tx:
            return recap.build(messages.iterate(tx, session_id), limits)

    def quick_recap(self, session_id: str, limits: Limits | None = None) -> Recap:
        """Return the recap of a session without reading a long one completely."""
        with self._database.read() as tx:
            return recap.of_session(tx, session_id, limits)
