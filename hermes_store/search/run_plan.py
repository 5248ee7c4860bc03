"""Running a plan: matches one after the other, the strongest first, each strength in time order."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count

from hermes_store.engines.base import Transaction, WordSource
from hermes_store.engines.message_states import findable
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.records.search import Cursor, Diagnostic, Looked, Strength
from hermes_store.records.stored_values import moment
from hermes_store.search import field_conditions
from hermes_store.search.cancellation import Stop
from hermes_store.search.field_conditions import Condition, FieldProblem, MarkSource, Unfinished
from hermes_store.search.in_sqlite import SqliteMatcher
from hermes_store.search.matcher import MAX_ID, Found, Matcher, Part
from hermes_store.search.query_tree import And, Field, Node, Not, Or
from hermes_store.search.snippets import Highlighter, wanted_texts
from hermes_store.sessions import late_messages
from hermes_store.sessions.late_messages import Late

Produce = Callable[[int, int], Iterator[Found | Looked]]


def matcher(
    tx: Transaction,
    root: Node | None,
    conditions: Sequence[Condition],
    condition_of: Callable[[Field], Condition],
    words: WordSource | None,
    *,
    oldest_first: bool,
) -> Matcher:
    """Return what finds the matches of a tree in the engine of a transaction."""
    if isinstance(tx, SqliteTransaction):
        assert words is None or isinstance(words, WordList)
        return SqliteMatcher(tx, root, conditions, condition_of, words, oldest_first=oldest_first)
    from hermes_store.engines.postgres.transaction import PostgresTransaction
    from hermes_store.search.on_postgres.matcher import PostgresMatcher

    assert isinstance(tx, PostgresTransaction)
    return PostgresMatcher(tx, root, conditions, condition_of, oldest_first=oldest_first)


class Search:
    """One query on one snapshot of a database."""

    def __init__(
        self,
        tx: Transaction,
        root: Node | None,
        *,
        words: WordSource | None = None,
        marks: MarkSource | None = None,
        extra: Sequence[Condition] = (),
        only: Sequence[int] | None = None,
        stop: Stop | None = None,
        oldest_first: bool = False,
        now: float | None = None,
    ) -> None:
        self._tx = tx
        self._marks = marks
        self._given = only
        self.stop = stop or Stop()
        self._oldest_first = oldest_first
        self._now = time.time() if now is None else now
        self.diagnostics: list[Diagnostic] = []
        self.complete = False
        """Whether everything has been looked at."""
        self.looked: Looked | None = None
        """How far messages have been read, if any must be."""
        self.mixed = False
        """Whether matches of one strength came out of more than one step."""
        self.place: tuple[int, Found] | None = None
        """The step of the last match, and the match."""
        self._conditions: dict[Field, Condition] = {}
        conditions, self.root = self._hoist(self._understood(root))
        self.matcher = matcher(
            tx,
            self.root,
            [Condition(findable(tx.caps), session=False), *extra, *conditions],
            self._conditions.__getitem__,
            words,
            oldest_first=oldest_first,
        )
        self.highlighter = Highlighter(self.matcher.leaf(text) for text in wanted_texts(self.root))

    # -- conditions ------------------------------------------------------------------------

    def _understood(self, node: Node | None) -> Node | None:
        """Leave out fields with an invalid value, and add a diagnostic."""
        match node:
            case Field():
                try:
                    condition = field_conditions.condition(self._tx, node, self._now, self._marks)
                except Unfinished:
                    return None
                except FieldProblem as problem:
                    self.diagnostics.append(field_conditions.diagnose(node, problem))
                    return None
                self._conditions[node] = condition
                self.diagnostics += field_conditions.remarked(node, condition)
                return node
            case Not():
                negated = self._understood(node.part)
                return None if negated is None else replace(node, part=negated)
            case And() | Or():
                parts = tuple(p for each in node.parts if (p := self._understood(each)) is not None)
                return replace(node, parts=parts) if len(parts) > 1 else next(iter(parts), None)
            case _:
                return node

    def _hoist(self, root: Node | None) -> tuple[list[Condition], Node | None]:
        """Move the fields that all matches must satisfy from the tree into SQL conditions."""
        match root:
            case Field():
                return [self._conditions[root]], None
            case Not(part=Field() as field):
                condition = self._conditions[field]
                return [replace(condition, sql=f"NOT COALESCE({condition.sql}, FALSE)")], None
            case And():
                conditions: list[Condition] = []
                rest: list[Node] = []
                for part in root.parts:
                    found, left = self._hoist(part)
                    conditions += found
                    rest += [left] if left is not None else []
                if len(rest) < 2:
                    return conditions, rest[0] if rest else None
                return conditions, And(tuple(rest), root.span)
            case _:
                return [], root

    # -- matches ---------------------------------------------------------------------------

    def found(
        self, *, after: Cursor | None = None, weakest: Strength = Strength.ROW
    ) -> Iterator[Found]:
        """Yield matches; see `steps` for what comes in between."""
        for each in self.steps(after=after, weakest=weakest):
            if isinstance(each, Found):
                yield each

    def steps(
        self, *, after: Cursor | None = None, weakest: Strength = Strength.ROW
    ) -> Iterator[Found | Looked | Strength]:
        """Yield matches, how far messages have been read, and each strength once it is done.

        With `after`, go on behind the end of a page.
        """
        seen: set[int] = set()
        strength = None
        places: set[int] = set()
        with self.stop.watching(self._tx):
            for place, step in enumerate(self.matcher.parts(self._only)):
                if step.strength > weakest:
                    break
                if strength is not None and step.strength is not strength:
                    yield strength
                    places.clear()
                strength = step.strength
                if after is not None and place < after.step:
                    continue
                here = after if after is not None and place == after.step else None
                for each in self._run(step, here):
                    if isinstance(each, Looked):
                        self.looked = each
                        yield each
                    elif each.message_id not in seen:
                        seen.add(each.message_id)
                        self.place = place, each
                        places.add(place)
                        self.mixed = self.mixed or len(places) > 1
                        yield each
                if self.stop():
                    return
            self.complete = not self.stop.stopped

    def _run(self, part: Part, after: Cursor | None) -> Iterator[Found | Looked]:
        late = self._late
        timed = self.matcher.in_time(part, late, after) if late else None
        if timed is not None:
            return timed
        return self._in_time(lambda low, high: self.matcher.run(part, low, high), after, late)

    @cached_property
    def _late(self) -> Sequence[Late]:
        return late_messages.ranges(self._tx)

    @cached_property
    def _only(self) -> Sequence[int] | None:
        """The only messages to look at, if they are known to be few."""
        return self.matcher.of_few_sessions() if self._given is None else self._given

    # -- order of time ---------------------------------------------------------------------

    def _in_time(
        self, produce: Produce, after: Cursor | None, late: Sequence[Late]
    ) -> Iterator[Found | Looked]:
        """Yield matches by their time, which is the order of their ids but for late messages."""
        low, high = 0, MAX_ID
        if after is not None:
            low, high = (
                (after.message_id + 1, high) if self._oldest_first else (low, after.message_id - 1)
            )
        if not late:
            yield from produce(low, high)
            return
        sign = 1 if self._oldest_first else -1
        waiting = sorted(late, key=lambda each: sign * self._begins(each), reverse=True)
        heap: list[tuple[float, int, Found, Iterator[Found | Looked]]] = []
        number = count()

        def take(stream: Iterator[Found | Looked]) -> Iterator[Looked]:
            for each in stream:
                if isinstance(each, Looked):
                    yield each
                    continue
                at = sign * self._moment(each)
                if after is None or at >= sign * after.moment:
                    heapq.heappush(heap, (at, next(number), each, stream))
                    return

        yield from take(self._between(produce, late, low, high))
        while heap or waiting:
            while waiting and (not heap or sign * self._begins(waiting[-1]) <= heap[0][0]):
                each = waiting.pop()
                yield from take(produce(each.first, each.last))
            if heap:
                _, _, found, stream = heapq.heappop(heap)
                yield found
                yield from take(stream)

    def _begins(self, late: Late) -> float:
        return late.oldest if self._oldest_first else late.newest

    def _moment(self, found: Found) -> float:
        return moment(
            self._tx.value("SELECT timestamp FROM messages WHERE id = ?", (found.message_id,))
        )

    def _between(
        self, produce: Produce, late: Sequence[Late], low: int, high: int
    ) -> Iterator[Found | Looked]:
        """Yield what lies between the late messages."""
        gaps: list[tuple[int, int]] = []
        for each in sorted(late, key=lambda each: each.first):
            if low <= each.first - 1:
                gaps.append((low, min(high, each.first - 1)))
            low = max(low, each.last + 1)
        gaps.append((low, high))
        for first, last in gaps if self._oldest_first else reversed(gaps):
            if first <= last:
                yield from produce(first, last)

    # -- counts ----------------------------------------------------------------------------

    def best(self, number: int, *, weighted: bool) -> Sequence[Found]:
        """Return the most relevant of the newest matches that an index can rank."""
        ranked: Sequence[Found] = ()
        if self._only is None:
            with self.stop.watching(self._tx):
                ranked = self.matcher.best(number, weighted=weighted)
        return ranked

    def count(self, up_to: int) -> tuple[int, bool] | None:
        """Count matches without reading them, and tell whether all are counted.

        None if only reading can tell.
        """
        counted = None
        if self._only is None:
            with self.stop.watching(self._tx):
                counted = self.matcher.count(up_to)
        if counted is None:
            return None
        number, complete = counted
        return min(number, up_to), complete and number <= up_to
