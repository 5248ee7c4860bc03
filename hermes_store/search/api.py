"""The search part of a store: `store.search`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.side_word_index import SideIndex
from hermes_store.records.search import Request, SearchResult
from hermes_store.search.field_conditions import MarkSource
from hermes_store.search.result_page import search
from hermes_store.search.sessiondb_search import search_messages


class MessageSearch:
    """Searches messages; see docs/search.md for the query language."""

    def __init__(self, database: Database, index: SideIndex, marks: MarkSource) -> None:
        self._database = database
        self._index = index
        self._marks = marks

    def run(self, request: Request | str) -> SearchResult:
        """Run a search. Never raises for anything in the text."""
        wanted = Request(request) if isinstance(request, str) else request
        with self._database.read() as tx:
            return search(tx, wanted, self._index, self._marks)

    def messages(
        self,
        query: str | None,
        *,
        source_filter: Sequence[str] | None = None,
        exclude_sources: Sequence[str] | None = None,
        role_filter: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return matching messages as dictionaries, as Hermes Agent's `search_messages` does."""
        with self._database.read() as tx:
            return search_messages(
                tx,
                query or "",
                index=self._index,
                marks=self._marks,
                source_filter=source_filter,
                exclude_sources=exclude_sources,
                role_filter=role_filter,
                limit=limit,
                offset=offset,
            )

    def prepare(
        self, progress: Callable[[int, int], None] | None = None, seconds: float | None = None
    ) -> bool:
        """Bring the side index up to date; return whether it is complete.

        Searches do this themselves for small amounts. Programs that open a large database for
        the first time can run it in the background.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._database.read() as tx:
            return self._index.catch_up(tx, deadline=deadline, progress=progress)
