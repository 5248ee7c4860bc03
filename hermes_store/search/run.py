"""Running a plan: candidates newest first, the exact test where it is needed, pages of hits."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from hermes_store.content import MARKER, decode, readable
from hermes_store.database.connection import Transaction
from hermes_store.database.fulltext import TRIGRAM, WORDS
from hermes_store.messages import findable
from hermes_store.search import fields
from hermes_store.search.fields import Condition, FieldProblem
from hermes_store.search.matching import Candidate, satisfies
from hermes_store.search.plan import Cover, Planner, Tier
from hermes_store.search.query import And, Diagnostic, Field, Node, Not, Or, Text
from hermes_store.search.results import Hit, Order
from hermes_store.search.snippet import Highlighter, excerpt, wanted_texts
from hermes_store.search.stopping import Stop
from hermes_store.search.terms import Tokenize, tokenizer
from hermes_store.search.vocabulary import TAIL_ROWS, Vocabulary

FEW_SESSIONS = 100
FEW_MESSAGES = 20_000
CATCH_UP_SECONDS = 0.25
MAX_ID = 2**62

_COLUMNS = (
    "m.id, m.session_id, m.role, m.timestamp, m.tool_name, s.source, s.model, s.started_at, "
    "m.content, m.tool_calls"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A message that matched, with its text for the excerpt."""

    flags: tuple[Any, ...]
    """The answers to the fields that are not conditions on all hits."""
    message_id: int
    session_id: str
    role: str
    timestamp: float
    tool_name: str | None
    source: str
    model: str | None
    session_started: float
    content: str | None
    tool_calls: str | None

    @property
    def text(self) -> str:
        """The text that is searched: content, tool name and tool calls."""
        return f"{self.content or ''} {self.tool_name or ''} {self.tool_calls or ''}"


class Search:
    """One query on one snapshot of a file."""

    def __init__(
        self,
        tx: Transaction,
        root: Node | None,
        *,
        vocabulary: Vocabulary | None = None,
        extra: Sequence[Condition] = (),
        stop: Stop | None = None,
        oldest_first: bool = False,
        now: float | None = None,
    ) -> None:
        self._tx = tx
        self.stop = stop or Stop()
        self._oldest_first = oldest_first
        self._tokenize: Tokenize = tokenizer(tx.connection)
        self.diagnostics: list[Diagnostic] = []
        self.scanned_back_to: float | None = None
        self.complete = False
        self._now = time.time() if now is None else now
        self._newest: int = tx.value("SELECT MAX(id) FROM messages") or 0
        self._covered = self._usable_vocabulary(vocabulary)
        self._vocabulary = vocabulary if self._covered is not None else None
        self._planner = Planner(tx, self._tokenize, self._vocabulary)
        conditions, self.root = self._hoist(root)
        self._conditions = [Condition(findable(tx), session=False), *extra, *conditions]
        self._mixed = _fields_in(self.root)
        self._mixed_conditions = [self._condition(field) for field in self._mixed]
        self._highlighter = Highlighter(
            self._planner.leaf(text) for text in wanted_texts(self.root)
        )

    # -- conditions ------------------------------------------------------------------------

    def _condition(self, field: Field) -> Condition:
        try:
            return fields.condition(self._tx, field, self._now)
        except FieldProblem as problem:
            self.diagnostics.append(fields.diagnose(field, problem))
            return Condition("1")

    def _hoist(self, root: Node | None) -> tuple[list[Condition], Node | None]:
        """Take the fields that all hits must satisfy out of the tree, as SQL conditions."""
        match root:
            case Field():
                return [self._condition(root)], None
            case Not(part=Field() as field):
                condition = self._condition(field)
                negated = f"NOT COALESCE({condition.sql}, 0)" if condition.sql != "1" else "1"
                return [replace(condition, sql=negated)], None
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

    def _usable_vocabulary(self, vocabulary: Vocabulary | None) -> int | None:
        """Return the id that the vocabulary covers, brought up to date if that is quick."""
        if vocabulary is None:
            return None
        covered = vocabulary.covered(self._tx)
        if covered is not None and self._newest - covered > TAIL_ROWS:
            deadline = time.monotonic() + CATCH_UP_SECONDS
            vocabulary.catch_up(self._tx, deadline=deadline)
            covered = vocabulary.covered(self._tx)
        if covered is None or self._newest - covered > TAIL_ROWS:
            return None
        return covered

    # -- candidates ------------------------------------------------------------------------

    def found(self) -> Iterator[Found]:
        """Yield matches: whole words before parts of words, newest first within each."""
        seen: set[int] = set()
        with self.stop.watching(self._tx.connection):
            few = self._few_messages()
            tiers = self._planner.tiers(self.root)
            for tier in tiers if few is None else tiers[-1:]:
                if few is not None:
                    tier = Tier(Cover(scan=True, exact=self.root is None), parts=True)
                for row in self._tier(tier, few):
                    if row.message_id not in seen:
                        seen.add(row.message_id)
                        yield row
                if self.stop():
                    return
            self.complete = not self.stop.stopped

    def _tier(self, tier: Tier, few: Sequence[int] | None) -> Iterator[Found]:
        if few is not None:
            streams = [self._tested(self._rows_of(few), tier)]
        else:
            streams = [
                rows if exact else self._tested(rows, tier)
                for rows, exact in self._streams(tier.cover)
            ]
        sign = 1 if self._oldest_first else -1
        return heapq.merge(*streams, key=lambda row: sign * row.message_id)

    def _streams(self, cover: Cover) -> Iterator[tuple[Iterator[Found], bool]]:
        """Yield the streams of a cover and whether each holds matches only."""
        floor = self._tx.caps.rebuild_floor or 0
        if cover.scan:
            yield self._scan(0, MAX_ID), cover.exact
            return
        high = MAX_ID
        if cover.vocabulary and self._covered is not None:
            # Words of newer messages may be missing from the vocabulary.
            high = self._covered
            yield self._quiet_scan(high + 1), False
            assert self._vocabulary is not None
            overlong = [i for i in self._vocabulary.overlong(TAIL_ROWS) if i <= high]
            yield self._rows_of(overlong), False
        if cover.words:
            yield self._lookup(WORDS, cover.words, floor, high), cover.exact
        if cover.trigram:
            yield self._lookup(TRIGRAM, cover.trigram, floor, MAX_ID), cover.exact
        if floor:
            yield self._scan(0, floor - 1), False

    def _lookup(self, table: str, expression: str, low: int, high: int) -> Iterator[Found]:
        return self._rows(
            f"{table} f CROSS JOIN messages m ON m.id = f.rowid",
            f"{table} MATCH ? AND f.rowid BETWEEN ? AND ?",
            (expression, low, high),
            "f.rowid",
        )

    def _quiet_scan(self, low: int) -> Iterator[Found]:
        return self._rows("messages m", "m.id >= ?", (low,), "m.id")

    def _scan(self, low: int, high: int) -> Iterator[Found]:
        """Read messages through, and remember how far back that went."""
        for row in self._rows("messages m", "m.id BETWEEN ? AND ?", (low, high), "m.id"):
            self.scanned_back_to = row.timestamp
            yield row

    def _rows_of(self, ids: Sequence[int]) -> Iterator[Found]:
        for message_id in sorted(ids, reverse=not self._oldest_first):
            yield from self._rows("messages m", "m.id = ?", (message_id,), "m.id")

    def _rows(
        self, origin: str, where: str, values: tuple[Any, ...], order: str
    ) -> Iterator[Found]:
        flags = "".join(f", {condition.sql}" for condition in self._mixed_conditions)
        flag_values = [value for each in self._mixed_conditions for value in each.values]
        conditions = [where, *(condition.sql for condition in self._conditions)]
        all_values = [*values, *(v for each in self._conditions for v in each.values)]
        direction = "ASC" if self._oldest_first else "DESC"
        rows = self._tx.rows(
            f"SELECT {_COLUMNS}{flags} FROM {origin} "
            "CROSS JOIN sessions s ON s.id = m.session_id "
            f"WHERE {' AND '.join(conditions)} ORDER BY {order} {direction}",
            (*flag_values, *all_values),
        )
        for row in rows:
            yield Found(row[10:], *row[:10])

    def _tested(self, rows: Iterator[Found], tier: Tier) -> Iterator[Found]:
        """Keep the rows whose text really matches."""
        for row in rows:
            if self.stop():
                return
            if self.root is None or self._matches(row, tier.parts):
                yield row

    def _matches(self, row: Found, parts: bool) -> bool:
        assert self.root is not None
        flags = dict(zip(self._mixed, (bool(flag) for flag in row.flags), strict=True))
        candidate = Candidate(row.text, flags, self._tokenize)
        return satisfies(self.root, candidate, self._planner.leaf, parts=parts)

    def _few_messages(self) -> list[int] | None:
        """Return the messages of the few sessions that conditions leave over; None if many.

        Looking through a handful of sessions beats walking all hits of a common word.
        """
        chosen = [each for each in self._conditions if each.session]
        if not chosen or (self.root is None and not chosen):
            return None
        where, values = self.session_conditions()
        rows = self._tx.rows(
            f"SELECT s.id, s.message_count FROM sessions s WHERE {where} LIMIT {FEW_SESSIONS + 1}",
            values,
        )
        sessions = list(rows)
        if len(sessions) > FEW_SESSIONS or sum(n or 0 for _, n in sessions) > FEW_MESSAGES:
            return None
        return [
            message_id
            for session_id, _ in sessions
            for (message_id,) in self._tx.rows(
                "SELECT id FROM messages WHERE session_id = ?", (session_id,)
            )
        ]

    # -- relevance -------------------------------------------------------------------------

    @property
    def connection(self) -> apsw.Connection:
        """The connection of the snapshot, for functions that FTS5 calls."""
        return self._tx.connection

    def single_lookup(self) -> tuple[str, str] | None:
        """Return index and expression where one look-up answers the first tier exactly."""
        if self.root is None or self._few_messages() is not None:
            return None
        cover = self._planner.tiers(self.root)[0].cover
        if cover.scan or not cover.exact or self._tx.caps.rebuild_floor:
            return None
        if cover.vocabulary and self._newest > (self._covered or 0):
            return None
        if cover.words and not cover.trigram:
            return WORDS, cover.words
        if cover.trigram and not cover.words:
            return TRIGRAM, cover.trigram
        return None

    def lookup_exceeds(self, table: str, expression: str, number: int) -> bool:
        """Tell whether an index has more than so many entries for an expression."""
        beyond = self._tx.one(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (expression, number),
        )
        return beyond is not None

    def count(self, up_to: int) -> int | None:
        """Count the matches of the first tier without reading them, one beyond a limit at most.

        None where only reading the texts could tell.
        """
        lookup = self.single_lookup()
        if lookup is None:
            return None
        table, expression = lookup
        conditions = " AND ".join(condition.sql for condition in self._conditions)
        values = [value for each in self._conditions for value in each.values]
        counted = None
        with self.stop.watching(self._tx.connection):
            counted = self._tx.value(
                f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} f CROSS JOIN messages m "
                "ON m.id = f.rowid CROSS JOIN sessions s ON s.id = m.session_id "
                f"WHERE {table} MATCH ? AND {conditions} LIMIT ?)",
                (expression, *values, up_to + 1),
            )
        return None if counted is None else int(counted)

    @property
    def single_tier(self) -> bool:
        """Whether whole words are all there is to find, without parts of words."""
        return len(self._planner.tiers(self.root)) == 1

    def session_conditions(self) -> tuple[str, list[Any]]:
        """Return the conditions that only look at sessions, as SQL with values."""
        chosen = [each for each in self._conditions if each.session]
        where = " AND ".join(condition.sql for condition in chosen) or "1"
        return where, [value for condition in chosen for value in condition.values]

    def scored(
        self, table: str, expression: str, score: str, *, window: int, limit: int
    ) -> Iterator[Found]:
        """Yield the best of the newest matches by an SQL score, the best first."""
        conditions = " AND ".join(condition.sql for condition in self._conditions)
        values = [value for each in self._conditions for value in each.values]
        ranked = self._tx.rows(
            f"SELECT id FROM (SELECT f.rowid AS id, {score} AS score "
            f"FROM {table} f CROSS JOIN messages m ON m.id = f.rowid "
            "CROSS JOIN sessions s ON s.id = m.session_id "
            f"WHERE {table} MATCH ? AND {conditions} ORDER BY f.rowid DESC LIMIT {window}) "
            "ORDER BY score DESC, id LIMIT ?",
            (expression, *values, limit),
        )
        for (message_id,) in list(ranked):
            yield from self._rows("messages m", "m.id = ?", (message_id,), "m.id")

    def density(self, row: Found) -> float:
        """Return how densely a text has the matches."""
        found = len(self._highlighter.spans(row.text))
        return found / (found + 1.2 + len(row.text) / 900)

    # -- hits ------------------------------------------------------------------------------

    def hit(self, row: Found) -> Hit:
        """Return a match as a hit with its excerpt."""
        content = row.content or ""
        if content.startswith(MARKER):
            content = readable(decode(content))
        shown = f"{content} {row.tool_name or ''} {row.tool_calls or ''}"
        return Hit(
            message_id=row.message_id,
            session_id=row.session_id,
            role=row.role,
            timestamp=row.timestamp,
            source=row.source,
            snippet=excerpt(shown, self._highlighter),
            tool_name=row.tool_name,
            model=row.model,
            session_started=row.session_started,
        )

    @property
    def order(self) -> Order:
        """The order in which matches come."""
        return Order.OLDEST if self._oldest_first else Order.NEWEST


def _fields_in(node: Node | None) -> tuple[Field, ...]:
    match node:
        case Field():
            return (node,)
        case Not():
            return _fields_in(node.part)
        case And() | Or():
            return tuple(field for part in node.parts for field in _fields_in(part))
        case _:
            return ()


def open_ended(node: Node | None, end: int) -> Node | None:
    """Let the word that ends at a place of the query text go on, as while it is being typed."""
    match node:
        case Text(quoted=False) if node.span.end == end:
            return replace(node, prefix=True)
        case And() | Or():
            parts = tuple(part for each in node.parts if (part := open_ended(each, end)))
            return replace(node, parts=parts)
        case _:
            return node


Cancelled = Callable[[], bool]
