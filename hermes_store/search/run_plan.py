"""Running a plan: read candidates, test them where needed, and make hits."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import apsw

from hermes_store.engines.sqlite.fulltext import TRIGRAM, WORDS, indexed_text
from hermes_store.engines.sqlite.side_word_index import TAIL_ROWS, SideIndex
from hermes_store.engines.sqlite.tokenizer import Tokenize, tokenizer
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.message_content import MARKER, decode, readable
from hermes_store.records.search import Diagnostic, Hit
from hermes_store.search import field_conditions
from hermes_store.search.cancellation import Stop
from hermes_store.search.candidates import SCAN_STEP, Found, Rows
from hermes_store.search.exact_match import Candidate, satisfies
from hermes_store.search.field_conditions import Condition, FieldProblem, MarkSource
from hermes_store.search.plan import Cover, Planner, Tier
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind
from hermes_store.search.snippets import Highlighter, excerpt, wanted_texts
from hermes_store.sessions.messages import findable

CATCH_UP_SECONDS = 0.25
MAX_ID = 2**62

READ_ALL = Tier(Cover(scan=True, exact=False), parts=True)


class Search:
    """One query on one snapshot of a database."""

    def __init__(
        self,
        tx: Transaction,
        root: Node | None,
        *,
        index: SideIndex | None = None,
        marks: MarkSource | None = None,
        extra: Sequence[Condition] = (),
        stop: Stop | None = None,
        oldest_first: bool = False,
        texts: bool = True,
        now: float | None = None,
    ) -> None:
        self._tx = tx
        self._marks = marks
        self.stop = stop or Stop()
        self._oldest_first = oldest_first
        self._tokenize: Tokenize = tokenizer(tx.connection)
        self.diagnostics: list[Diagnostic] = []
        self.complete = False
        self._now = time.time() if now is None else now
        self._newest: int = tx.value("SELECT MAX(id) FROM messages") or 0
        self._covered = self._usable_index(index)
        self._index = index if self._covered is not None else None
        self._planner = Planner(tx, self._tokenize, self._index)
        self._conditions: dict[Field, Condition] = {}
        conditions, self.root = self._hoist(self._understood(root))
        self._mixed = _fields_in(self.root)
        self.is_about_messages = any(not each.session for each in conditions)
        """Whether a condition concerns messages, which a title cannot meet."""
        self.rows = Rows(
            tx,
            [Condition(findable(tx), session=False), *extra, *conditions],
            [self._conditions[field] for field in self._mixed],
            oldest_first=oldest_first,
            texts=texts,
        )
        self.highlighter = Highlighter(self._planner.leaf(text) for text in wanted_texts(self.root))

    # -- conditions ------------------------------------------------------------------------

    def _understood(self, node: Node | None) -> Node | None:
        """Leave out fields with an invalid value, and add a diagnostic."""
        match node:
            case Field():
                try:
                    self._conditions[node] = field_conditions.condition(
                        self._tx, node, self._now, self._marks
                    )
                except FieldProblem as problem:
                    self.diagnostics.append(field_conditions.diagnose(node, problem))
                    return None
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
                return [replace(condition, sql=f"NOT COALESCE({condition.sql}, 0)")], None
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

    def _usable_index(self, index: SideIndex | None) -> int | None:
        """Return the id up to which the side index is complete, updating it if that is quick."""
        if index is None:
            return None
        covered = index.covered(self._tx)
        if covered is not None and self._newest - covered > TAIL_ROWS:
            deadline = time.monotonic() + CATCH_UP_SECONDS
            index.catch_up(self._tx, deadline=deadline, stopped=self.stop)
            covered = index.covered(self._tx)
        if covered is None or self._newest - covered > TAIL_ROWS:
            return None
        return covered

    # -- candidates ------------------------------------------------------------------------

    def found(self) -> Iterator[Found]:
        """Yield matches: whole words before parts of words, the newest first within each."""
        seen: set[int] = set()
        with self.stop.watching(self._tx.connection):
            for tier in self._tiers():
                for row in self._tier(tier):
                    if row.message_id not in seen:
                        seen.add(row.message_id)
                        yield row
                if self.stop():
                    return
            self.complete = not self.stop.stopped

    def _tiers(self) -> Iterator[Tier]:
        """Yield the tiers; the second is planned only if the first is not enough."""
        if self._few is not None:
            yield READ_ALL
            return
        yield self._first_tier
        if self._second_tier is not None:
            yield self._second_tier

    @cached_property
    def _first_tier(self) -> Tier:
        return self._planner.first_tier(self.root)

    @cached_property
    def _second_tier(self) -> Tier | None:
        return self._planner.second_tier(self.root, self._first_tier)

    def _tier(self, tier: Tier) -> Iterator[Found]:
        if self._few is not None:
            streams = [self._tested(self.rows.with_ids(self._few), tier)]
        else:
            streams = [
                rows if exact else self._tested(rows, tier) for rows, exact in self._streams(tier)
            ]
        sign = 1 if self._oldest_first else -1
        return heapq.merge(*streams, key=lambda row: sign * row.message_id)

    def _streams(self, tier: Tier) -> Iterator[tuple[Iterator[Found], bool]]:
        """Yield the streams of a tier, and whether each has only matches."""
        cover = tier.cover
        floor = self._tx.caps.rebuild_floor or 0
        overlong = self._overlong(tier) if cover.listed_words else []
        if cover.scan or overlong is None:
            yield self.rows.scan(0, MAX_ID, *self._cheap_test()), cover.scan and cover.exact
            return
        high = MAX_ID
        if cover.listed_words and self._covered is not None:
            # Words of newer messages may be missing from the side index.
            high = self._covered
            yield self.rows.since(high + 1), False
            yield self.rows.with_ids([i for i in overlong if i <= high]), False
        if cover.words and cover.slow and not self._oldest_first:
            yield self._newest_first(tier, floor, high), True
        elif cover.words:
            found = self.rows.lookup(WORDS, cover.words, floor, high, exact=cover.exact)
            yield found, cover.exact
        if cover.trigram:
            found = self.rows.lookup(TRIGRAM, cover.trigram, floor, MAX_ID, exact=cover.exact)
            yield found, cover.exact
        if floor:
            yield self.rows.scan(0, floor - 1, *self._cheap_test()), False

    def _newest_first(self, tier: Tier, low: int, high: int) -> Iterator[Found]:
        """Yield the matches of a slow look-up, scanning the newest messages before using the index.

        Where many words match, most results are found right there.
        """
        cover = tier.cover
        assert cover.words is not None
        edge = max(low, self._newest - SCAN_STEP)
        yield from self._tested(self.rows.scan(edge, high, *self._cheap_test()), tier)
        if self.stop():
            return
        older = self.rows.lookup(WORDS, cover.words, low, edge - 1, exact=cover.exact)
        yield from older if cover.exact else self._tested(older, tier)

    def _overlong(self, tier: Tier) -> list[int] | None:
        """Return the messages with words too long for the side index; all for the last tier."""
        assert self._index is not None
        return self._index.overlong(-1 if tier.parts else TAIL_ROWS)

    def _cheap_test(self) -> tuple[str, list[Any]]:
        """Return an SQL test that every match passes, so that most text never leaves SQLite."""
        parts = self.root.parts if isinstance(self.root, And) else (self.root,)
        text = indexed_text("m")
        tests: list[str] = ["1"]
        values: list[Any] = []
        for part in parts:
            if not isinstance(part, Text) or "\0" in part.value:
                continue
            if len(part.value) > field_conditions.MAX_PATTERN:
                continue
            leaf = self._planner.leaf(part)
            literal = leaf.kind is not Kind.WORDS or leaf.tokens == (part.value,)
            if literal and part.value.lower() == part.value.upper():
                tests.append(f"instr({text}, ?)")
                values.append(part.value)
            elif part.value.isascii() and (leaf.kind is not Kind.WORDS or len(leaf.tokens) == 1):
                # LIKE stops at NUL and respects diacritics; such text goes to the exact test.
                tests.append(
                    f"({text} LIKE ? ESCAPE '\\' OR length({text}) <> length(CAST({text} AS BLOB)))"
                )
                values.append(field_conditions.like(part.value.strip()))
        return " AND ".join(tests), values

    def _tested(self, rows: Iterator[Found], tier: Tier) -> Iterator[Found]:
        """Yield the rows whose text really matches."""
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

    @cached_property
    def _few(self) -> list[int] | None:
        return self.rows.of_few_sessions()

    # -- relevance -------------------------------------------------------------------------

    @property
    def connection(self) -> apsw.Connection:
        """The connection of the snapshot, for functions that FTS5 calls."""
        return self._tx.connection

    def single_lookup(self) -> tuple[str, str] | None:
        """Return index and expression if one look-up answers the first tier exactly."""
        if self.root is None or self._few is not None:
            return None
        cover = self._first_tier.cover
        if cover.scan or not cover.exact or self._tx.caps.rebuild_floor:
            return None
        if cover.listed_words and self._newest > (self._covered or 0):
            return None
        if cover.words and not cover.trigram:
            return WORDS, cover.words
        if cover.trigram and not cover.words:
            return TRIGRAM, cover.trigram
        return None

    def count(self, up_to: int) -> int | None:
        """Count the matches of the first tier without reading them, up to one beyond a limit.

        None if only reading the text could tell.
        """
        lookup = self.single_lookup()
        counted = None
        if lookup is not None:
            with self.stop.watching(self._tx.connection):
                counted = self.rows.count(*lookup, up_to)
        return counted

    @property
    def is_slow(self) -> bool:
        """Whether using the index, even for a count, means collecting all matches."""
        return self._few is None and self._first_tier.cover.slow

    @property
    def has_short_cjk(self) -> bool:
        """Whether Chinese, Japanese or Korean text of fewer than three characters is wanted."""
        leaves = (self._planner.leaf(text) for text in wanted_texts(self.root))
        return any(leaf.kind is Kind.CJK and len(leaf.needle) < 3 for leaf in leaves)

    @property
    def single_tier(self) -> bool:
        """Whether there are only whole words to find, no parts of words."""
        return self._second_tier is None

    def density(self, row: Found) -> float:
        """Return the density of matches in a text."""
        found = len(self.highlighter.spans(row.text))
        return found / (found + 1.2 + len(row.text) / 900)

    # -- hits ------------------------------------------------------------------------------

    def hit(self, row: Found) -> Hit:
        """Return a match as a hit with its excerpt."""
        if not row.read:
            (row,) = self.rows.with_ids([row.message_id])
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
            snippet=excerpt(shown, self.highlighter),
            tool_name=row.tool_name,
            model=row.model,
            session_started=row.session_started,
        )


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
    """Make the word that ends at a place of the query text a prefix, as while typing."""
    match node:
        case Text(quoted=False) if node.span.end == end:
            return replace(node, prefix=True)
        case And() | Or():
            parts = tuple(part for each in node.parts if (part := open_ended(each, end)))
            return replace(node, parts=parts)
        case _:
            return node
