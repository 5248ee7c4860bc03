"""The search: from a text to a page of results with counts and diagnostics."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice

import apsw

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import WORDS
from hermes_store.engines.sqlite.side_word_index import SideIndex
from hermes_store.engines.sqlite.tokenizer import tokenizer
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.listing import page_bounds
from hermes_store.records.search import Count, Group, Hit, Order, Relaxation, Request, SearchResult
from hermes_store.search import grouping, query_language, ranking, relaxation
from hermes_store.search.cancellation import Stop
from hermes_store.search.candidates import Found
from hermes_store.search.field_conditions import MarkSource
from hermes_store.search.query_tree import Node, Query
from hermes_store.search.run_plan import CATCH_UP_SECONDS, Search, open_ended
from hermes_store.sessions import lineage

COUNT_UP_TO = 1_000
RARE = 50
SEEN_FOR_GROUPS = 500
READ_FOR_GROUPS = 5_000
"""Matches to read, at 10 µs each, so that one long conversation does not hide all others."""
HITS_PER_GROUP = 3


def search(
    tx: Transaction,
    request: Request,
    index: SideIndex | None = None,
    marks: MarkSource | None = None,
) -> SearchResult:
    """Run a search. Never raises for anything in the text."""
    limit, offset = page_bounds(request.limit, request.offset)
    request = replace(request, limit=limit, offset=offset)
    query = query_language.parse(request.text)
    root = query.root
    if request.typing:
        root = open_ended(root, len(request.text))
    order = request.order or Order(query.sort or Order.NEWEST.value)
    stop = Stop(request.cancelled, request.seconds)
    runner = _Runner(tx, request, index, marks, stop, order)
    result = runner.page(query, root)
    if request.titles:
        shown = lineage.roots(tx, [hit.session_id for hit in result.hits]).values()
        titled = tuple(each for each in runner.titled(root) if each not in shown)
        result = replace(result, titled=titled)
    if result.hits or result.groups or result.titled:
        return result
    if root is None or not request.relax or stop.stopped:
        return result
    return runner.relaxed(query, root) or result


class _Runner:
    """Runs a query and its wider forms with one time limit."""

    def __init__(
        self,
        tx: Transaction,
        request: Request,
        index: SideIndex | None,
        marks: MarkSource | None,
        stop: Stop,
        order: Order,
    ) -> None:
        self._tx = tx
        self._request = request
        self._index = index
        self._marks = marks
        self._stop = stop
        self._order = order

    def _search(self, root: Node | None) -> Search:
        return Search(
            self._tx,
            root,
            index=self._index,
            marks=self._marks,
            stop=self._stop,
            oldest_first=self._order is Order.OLDEST,
            # A group shows only a few hits, so only their text is read.
            texts=not self._request.grouped,
            now=self._request.now,
        )

    def page(
        self, query: Query, root: Node | None, steps: tuple[Relaxation, ...] = ()
    ) -> SearchResult:
        """Return the page of results for a tree."""
        running = self._search(root)
        hits, groups, messages, conversations = (
            self._grouped(running) if self._request.grouped else self._flat(running)
        )
        stopped = self._stop.stopped
        back_to = running.rows.scanned_back_to if stopped else None
        return SearchResult(
            hits=hits,
            groups=groups,
            order=self._order,
            messages=messages,
            conversations=conversations,
            partial=stopped,
            searched_back_to=back_to,
            relaxations=steps,
            diagnostics=(*query.diagnostics, *running.diagnostics),
            highlighter=running.highlighter,
        )

    def titled(self, root: Node | None) -> tuple[str, ...]:
        """Return the conversations whose title matches a tree, the newest first."""
        return grouping.with_matching_title(self._tx, self._search(root), self._request.limit)

    def _flat(self, running: Search) -> tuple[tuple[Hit, ...], tuple[Group, ...], Count, Count]:
        wanted = self._request.offset + self._request.limit
        found, more = self._first(running, wanted)
        page = found[self._request.offset :]
        messages = self._count(running, len(found), more)
        conversations = Count(len({row.session_id for row in page}), not more)
        return tuple(running.hit(row) for row in page), (), messages, conversations

    def _first(self, running: Search, number: int) -> tuple[list[Found], bool]:
        """Return the first matches in the wanted order, and whether there are more."""
        if self._order is Order.RELEVANCE:
            found = list(islice(ranking.ranked(running, number, weighted=True), number))
            return found, len(found) == number
        rows = running.found()
        found = list(islice(rows, number))
        more = not running.complete and next(rows, None) is not None
        return found, more or self._stop.stopped

    def _count(self, running: Search, seen: int, more: bool) -> Count:
        """Count matches without reading them, up to a limit, or else return what was seen."""
        if not more:
            return Count(seen, True)
        wanted = self._request.count and not (self._request.typing and running.is_slow)
        counted = running.count(COUNT_UP_TO) if wanted else None
        if counted is None or counted < seen:
            return Count(seen, False)
        exact = counted <= COUNT_UP_TO and running.single_tier
        return Count(min(counted, COUNT_UP_TO), exact)

    def _grouped(self, running: Search) -> tuple[tuple[Hit, ...], tuple[Group, ...], Count, Count]:
        request = self._request
        wanted = request.offset + request.limit
        titled = grouping.with_matching_title(self._tx, running, wanted)
        if self._order is Order.RELEVANCE:
            found, more = self._first(running, SEEN_FOR_GROUPS)
        else:
            found, more = self._until_enough(running, wanted)
        gathered = grouping.gather(self._tx, found, titled, self._order)
        page = tuple(
            Group(
                root_id,
                tuple(running.hit(row) for row in rows[:HITS_PER_GROUP]),
                len(rows),
                root_id in titled,
            )
            for root_id, rows in gathered[request.offset : wanted]
        )
        messages = self._count(running, len(found), more)
        conversations = Count(len(gathered), not more)
        return tuple(hit for group in page for hit in group.hits), page, messages, conversations

    def _until_enough(self, running: Search, wanted: int) -> tuple[list[Found], bool]:
        """Return matches from enough conversations, and whether there are more."""
        found: list[Found] = []
        roots: dict[str, str] = {}
        for row in running.found():
            found.append(row)
            if row.session_id not in roots:
                roots |= lineage.roots(self._tx, [row.session_id])
            if len(set(roots.values())) > wanted or len(found) >= READ_FOR_GROUPS:
                return found, True
        return found, self._stop.stopped

    # -- relaxation ------------------------------------------------------------------------

    def relaxed(self, query: Query, root: Node) -> SearchResult | None:
        """Return the first wider form of a tree that finds something."""
        tokenize = tokenizer(self._tx.connection)
        if self._index is not None:
            # Similar words are found only in the side index, so bring it up to date.
            deadline = time.monotonic() + CATCH_UP_SECONDS
            self._index.catch_up(self._tx, deadline=deadline, stopped=self._stop)
        with self._stop.watching(self._tx.connection):
            for wider in relaxation.ladder(root, tokenize, self._index, self._frequency):
                result = self.page(query, wider.root, (wider.step,))
                if result.hits or result.groups:
                    return result
                if self._stop():
                    break
        return None

    def _frequency(self, word: str) -> int:
        """Return how many messages have a word, up to a limit."""
        if self._tx.caps.words is FullText.NONE:
            return 0
        try:
            return int(
                self._tx.value(
                    f"SELECT COUNT(*) FROM (SELECT 1 FROM {WORDS} WHERE {WORDS} MATCH ? "
                    f"LIMIT {RARE})",
                    (relaxation.expression(word),),
                )
            )
        except apsw.SQLError:
            return 0  # the word has nothing that can be indexed
