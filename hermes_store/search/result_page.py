"""The search: from a text to a page of results, which grows while messages are still being read."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from hermes_store.engines.base import Interrupted, Transaction, WordSource
from hermes_store.records.listing import page_bounds
from hermes_store.records.search import (
    Count,
    Diagnostic,
    Hit,
    Looked,
    Order,
    Relaxation,
    Request,
    SearchResult,
    Severity,
    Strength,
)
from hermes_store.search import known_values, query_language, ranking, relaxation
from hermes_store.search.cancellation import Stop
from hermes_store.search.field_conditions import Condition, MarkSource
from hermes_store.search.grouping import Groups
from hermes_store.search.hits import hits_of
from hermes_store.search.matcher import Found
from hermes_store.search.query_tree import Node, Query, narrowed
from hermes_store.search.run_plan import Search
from hermes_store.search.snippets import wanted_texts
from hermes_store.search.titles import with_matching_title
from hermes_store.sessions import lineage, workspaces

COUNT_UP_TO = 1_000
RARE = 50
SEEN_FOR_GROUPS = 500
"""Matches to rank before they are grouped."""
TELL_EVERY = 0.1
"""Seconds between two partial results."""


def search(
    tx: Transaction,
    request: Request,
    words: WordSource | None = None,
    marks: MarkSource | None = None,
) -> SearchResult:
    """Run a search. Never raises for anything in the text."""
    *_, result = _Runner(tx, request, words, marks).results(partials=False)
    return result


def stream(
    tx: Transaction,
    request: Request,
    words: WordSource | None = None,
    marks: MarkSource | None = None,
) -> Iterator[SearchResult]:
    """Run a search and yield growing results: whole words at once, the complete page last."""
    return _Runner(tx, request, words, marks).results(partials=True)


@dataclass(slots=True)
class _Walk:
    """What a walk through the matches has found so far."""

    groups: Groups
    rows: list[Found]
    seen: dict[Strength, int]
    """The number of matches by strength."""
    earlier: int = 0
    """How many belong to conversations of earlier pages."""
    done: bool = False
    """Whether the walk has come to the end of all matches."""


class _Runner:
    """Runs a query and its wider forms with one time limit."""

    def __init__(
        self,
        tx: Transaction,
        request: Request,
        words: WordSource | None,
        marks: MarkSource | None,
    ) -> None:
        limit, offset = page_bounds(request.limit, request.offset)
        self._tx = tx
        self._request = replace(request, limit=limit, offset=offset)
        self._words = words
        self._marks = marks
        parsed = query_language.parse(request.text, typing=request.typing)
        self._query: Query = narrowed(parsed, request.fields)
        self._order = request.order or Order(self._query.sort or Order.NEWEST.value)
        self._stop = Stop(request.cancelled, request.seconds)

    def results(self, *, partials: bool) -> Iterator[SearchResult]:
        """Yield the results, the last one complete unless the search was stopped."""
        root = self._query.root
        result = None
        for result in self._page(root, partials=partials):
            if result.partial and not self._stop.stopped:
                yield result
        assert result is not None
        if self._request.titles:
            shown = lineage.roots(self._tx, [hit.session_id for hit in result.hits]).values()
            named = self._titled(self._search(root))
            titled = tuple(each for each in named if each not in shown)
            result = replace(result, titled=titled, named=named)
        nothing = not (result.hits or result.groups or result.titled)
        if nothing and root is not None and not self._stop.stopped:
            if self._request.relax:
                result = self._without_unfinished() or self._relaxed(root) or result
            noted = (*result.diagnostics, *self._tags_meant(root))
            result = replace(result, diagnostics=noted)
        yield result

    def _tags_meant(self, root: Node) -> Iterator[Diagnostic]:
        """Yield a note for each word that is found nowhere, but is a tag."""
        texts = wanted_texts(root)
        tags = {name for name, _ in self._marks.tags_in(self._tx)} if self._marks and texts else ()
        for each in texts:
            name = each.value.lower().removeprefix("#")
            if name in tags:
                field = f'tag:"{name}"' if " " in name else f"tag:{name}"
                said = f"{field} shows the conversations with this tag."
                yield Diagnostic(said, each.span, Severity.NOTE)

    def _without_unfinished(self) -> SearchResult | None:
        """Return the result without what is still being typed and may become a field."""
        if not self._request.typing:
            return None
        text = self._request.text
        rest = relaxation.without_field_start(text)
        if rest is None:
            rest = known_values.without_unfinished_value(self._tx, text)
        if rest is None:
            return None
        return search(self._tx, replace(self._request, text=rest), self._words, self._marks)

    def _search(self, root: Node | None) -> Search:
        return Search(
            self._tx,
            root,
            words=self._words,
            marks=self._marks,
            extra=_scope(self._tx, self._request),
            stop=self._stop,
            oldest_first=self._order is Order.OLDEST,
            now=self._request.now,
        )

    def _titled(self, running: Search) -> tuple[str, ...]:
        wanted = self._request.offset + self._request.limit
        return with_matching_title(self._tx, running.root, running.matcher.conditions, wanted)

    # -- a page ----------------------------------------------------------------------------

    def _page(
        self,
        root: Node | None,
        steps: tuple[Relaxation, ...] = (),
        *,
        partials: bool = False,
        weakest: Strength = Strength.ROW,
    ) -> Iterator[SearchResult]:
        running = self._search(root)
        request = self._request
        titled = self._titled(running) if request.grouped else ()
        walk = _Walk(Groups(self._tx, titled, request.after), [], {})
        told = time.monotonic()
        events = self._events(running, weakest)
        try:
            for event in events:
                if isinstance(event, Found):
                    if self._is_full(walk):
                        break
                    self._take(walk, event, running)
                elif self._is_full(walk):
                    break
                elif partials and (
                    isinstance(event, Strength) or time.monotonic() - told > TELL_EVERY
                ):
                    yield self._result(running, walk, steps, partial=True)
                    told = time.monotonic()
            else:
                walk.done = not self._stop.stopped and not self._is_cut(walk)
        except Interrupted:
            # While matches are looked for, all statements are stopped, those about them too.
            self._stop.stopped = True
        finally:
            events.close()
        yield self._result(running, walk, steps, partial=self._stop.stopped)

    def _events(
        self, running: Search, weakest: Strength
    ) -> Generator[Found | Looked | Strength, None, None]:
        if self._order is not Order.RELEVANCE:
            yield from running.steps(after=self._request.after, weakest=weakest)
            return
        yield from islice(ranking.ranked(running, self._ranked, weighted=True), self._ranked)

    @property
    def _ranked(self) -> int:
        """How many matches to rank."""
        number = self._request.offset + self._request.limit
        return SEEN_FOR_GROUPS if self._request.grouped else number

    def _is_cut(self, walk: _Walk) -> bool:
        """Return whether there may be more matches than were ranked."""
        if self._order is not Order.RELEVANCE:
            return False
        return sum(walk.seen.values()) + walk.earlier >= self._ranked

    def _take(self, walk: _Walk, found: Found, running: Search) -> None:
        if self._request.grouped:
            place = running.place[0] if running.place is not None else 0
            if not walk.groups.add(found, place):
                walk.earlier += 1
                return
        else:
            walk.rows.append(found)
        walk.seen[found.strength] = walk.seen.get(found.strength, 0) + 1

    def _is_full(self, walk: _Walk) -> bool:
        wanted = self._request.offset + self._request.limit
        if not self._request.grouped:
            return len(walk.rows) >= wanted
        # The best titles come first, whatever the matches, so all that are ranked are needed.
        return self._order is not Order.RELEVANCE and walk.groups.found > wanted

    def _result(
        self, running: Search, walk: _Walk, steps: tuple[Relaxation, ...], *, partial: bool
    ) -> SearchResult:
        request = self._request
        more = not walk.done
        page = slice(request.offset, request.offset + request.limit)
        if request.grouped:
            by_time = None if self._order is Order.RELEVANCE else self._order is Order.OLDEST
            groups = walk.groups.page(page, running.highlighter, oldest_first=by_time)
            hits = tuple(hit for group in groups for hit in group.hits)
            conversations = Count(walk.groups.total, not more)
        else:
            groups = ()
            hits = hits_of(self._tx, walk.rows[page], running.highlighter)
            if walk.done and running.mixed and not request.offset:
                hits = tuple(sorted(hits, key=self._place))
            conversations = Count(len({hit.session_id for hit in hits}), not more)
        return SearchResult(
            hits=hits,
            groups=groups,
            order=self._order,
            messages=self._count(running, walk, partial=partial),
            conversations=conversations,
            weaker=Count(walk.seen.get(Strength.ROW, 0), not more),
            partial=partial,
            looked=running.looked if partial else None,
            next=walk.groups.cursor() if request.grouped and self._goes_on(walk) else None,
            relaxations=steps,
            diagnostics=(*self._query.diagnostics, *running.diagnostics),
            highlighter=running.highlighter,
        )

    def _goes_on(self, walk: _Walk) -> bool:
        """Return whether there is another page: by relevance, of those that were ranked."""
        if self._order is Order.RELEVANCE:
            return walk.groups.left > 0
        shown = self._request.offset + self._request.limit
        return not walk.done or walk.groups.are_more_than(shown)

    def _place(self, hit: Hit) -> tuple[Strength, float, int]:
        """Return the place of a hit among all: what had to be read belongs between the others."""
        sign = 1 if self._order is Order.OLDEST else -1
        return hit.strength, sign * hit.timestamp, sign * hit.message_id

    def _count(self, running: Search, walk: _Walk, *, partial: bool) -> Count:
        """Count matches without reading them, up to a limit, or else return what was seen."""
        seen = sum(number for strength, number in walk.seen.items() if strength < Strength.ROW)
        if walk.done or partial or not self._request.count:
            return Count(seen, walk.done)
        counted = running.count(COUNT_UP_TO)
        if counted is None or counted[0] < seen:
            return Count(seen, False)
        return Count(*counted)

    # -- relaxation ------------------------------------------------------------------------

    def _relaxed(self, root: Node) -> SearchResult | None:
        """Return the first wider form of a tree that finds something, in whole words."""
        matcher = self._search(root).matcher
        frequency = partial(matcher.frequency, up_to=RARE)
        with self._stop.watching(self._tx):
            for wider in relaxation.ladder(root, self._tx.split, matcher.vocabulary(), frequency):
                *_, result = self._page(wider.root, (wider.step,), weakest=Strength.WHOLE)
                if result.hits or result.groups:
                    return result
                if self._stop():
                    break
        return None


def _scope(tx: Transaction, request: Request) -> list[Condition]:
    """Return the conditions for the workspace in which to search."""
    scope = workspaces.scope(tx.caps, "s", request.workspace, request.here)
    return [Condition(*each) for each in scope]
