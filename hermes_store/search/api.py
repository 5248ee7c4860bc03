"""The search part of a store: `store.search`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hermes_store.engines.base import Database, WordSource
from hermes_store.records.search import Request, SearchResult
from hermes_store.search import check_query, known_values, query_language
from hermes_store.search.field_conditions import MarkSource
from hermes_store.search.query_tree import narrowed
from hermes_store.search.result_page import search, stream
from hermes_store.search.sessiondb_search import search_messages


class MessageSearch:
    """Searches messages; see docs/search.md for the query language."""

    def __init__(self, database: Database, words: WordSource, marks: MarkSource) -> None:
        self._database = database
        self._words = words
        self._marks = marks

    def run(self, request: Request | str) -> SearchResult:
        """Run a search. Never raises for anything in the text."""
        wanted = Request(request) if isinstance(request, str) else request
        with self._database.read() as tx:
            return search(tx, wanted, self._words, self._marks)

    def problems(self, request: Request) -> list[str]:
        """Return a sentence for every part of a request that a search would ignore.

        These are fields with values that they cannot have, such as `after:30dd`.
        """
        now = time.time() if request.now is None else request.now
        query = narrowed(query_language.parse(request.text), request.fields)
        with self._database.read() as tx:
            return check_query.problems(tx, query, now, self._marks)

    def unknown_source(self, name: str) -> str | None:
        """Return a sentence if there is no such source, neither known nor in the database."""
        with self._database.read() as tx:
            return check_query.unknown_source(tx, name)

    def stream(self, request: Request) -> Iterator[SearchResult]:
        """Run a search and yield growing results; the last one is complete.

        What an index has is in the first one. Until the last, `partial` is true and `looked` says
        how far the rest has been read.
        """
        with self._database.read() as tx:
            yield from stream(tx, request, self._words, self._marks)

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
                words=self._words,
                marks=self._marks,
                source_filter=source_filter,
                exclude_sources=exclude_sources,
                role_filter=role_filter,
                limit=limit,
                offset=offset,
            )

    def values(self) -> dict[str, dict[str, int]]:
        """Return the values that fields can have here, with the number of sessions of each.

        The number is 0 where it is not counted. They are for completion while somebody types.
        """
        with self._database.read() as tx:
            found = known_values.counted_values(tx)
            return found | {"tag": dict(self._marks.tags_in(tx))}

    def prepare(
        self,
        progress: Callable[[int, int], None] | None = None,
        seconds: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Make the list of words, or bring it up to date; return whether it is complete.

        Searches work without it. With it, parts of words are found without reading messages.
        Programs that stay open can run this in the background; what is done is kept if it is
        stopped.
        """
        end = None if seconds is None else time.monotonic() + seconds

        def is_over() -> bool:
            return stopped() or (end is not None and time.monotonic() >= end)

        return self._words.prepare(self._database.read, progress=progress, stopped=is_over)
