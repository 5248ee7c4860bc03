"""Matches in PostgreSQL: by the index of words, or by reading; see docs/postgres.md.

Each strength is one part of the search. What is not indexed yet is read; what is, is looked up in
ever larger ranges of ids, the newest first, so that a common word costs no more than a rare one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import islice
from typing import Any

from hermes_store.engines.message_states import findable
from hermes_store.engines.postgres.lexemes import BIG, LONG, quoted
from hermes_store.engines.postgres.schema import NOT_PLAIN
from hermes_store.engines.postgres.transaction import PostgresTransaction
from hermes_store.records import stored_values
from hermes_store.records.search import Cursor, Looked, Strength
from hermes_store.search import walk_messages
from hermes_store.search.field_conditions import Condition
from hermes_store.search.matcher import MAX_ID, Found, Part, Vocabulary
from hermes_store.search.on_postgres.by_id import ById
from hermes_store.search.on_postgres.by_time import ByTime
from hermes_store.search.on_postgres.lookups import Lookup, Lookups
from hermes_store.search.on_postgres.relevance import density, weight
from hermes_store.search.on_postgres.text_tests import COLUMNS, Tests, Texts, fields_of
from hermes_store.search.on_postgres.vocabulary import PostgresVocabulary
from hermes_store.search.query_tree import Field, Node, Text
from hermes_store.search.query_words import Kind, Leaf, analyse
from hermes_store.search.snippets import wanted_texts
from hermes_store.search.weights import WINDOW
from hermes_store.sessions.late_messages import Late

LONGEST_READ = 16_000
AT_ONCE = 2_000
"""Messages of a list to read in one statement."""

_SESSION = "JOIN sessions s ON s.id = m.session_id"


@dataclass(frozen=True, slots=True)
class Step:
    """The matches of one strength."""

    strength: Strength
    tested: Strength
    """The strength to test for; without words in a query, all matches count as the best."""
    lookup: Lookup | None = None
    """None means to read messages."""
    ids: tuple[int, ...] | None = None
    """The only messages to read, if not None."""


@dataclass(frozen=True, slots=True)
class _IndexState:
    """What the index does not hold, and how far it goes."""

    unindexed: tuple[int, ...]
    """New messages, and those with too many words."""
    with_long_words: tuple[int, ...]
    """The messages with words of which the index has only the beginning."""
    newest: int


class PostgresMatcher:
    """Finds the matches of one query tree on a server."""

    def __init__(
        self,
        tx: PostgresTransaction,
        root: Node | None,
        conditions: Sequence[Condition],
        condition_of: Callable[[Field], Condition],
        *,
        oldest_first: bool,
    ) -> None:
        self._tx = tx
        self._root = root
        self._conditions = [each for each in conditions if each.sql != "TRUE"]
        self._fields = [(node, condition_of(node)) for node in fields_of(root)]
        self._oldest_first = oldest_first
        self._direction = "ASC" if oldest_first else "DESC"
        self._leaves: dict[Text, Leaf] = {}
        self._tests = Tests(self.leaf, condition_of)
        self._lookups = Lookups(tx, self.leaf)
        tx.plan_once()

    @property
    def conditions(self) -> Sequence[Condition]:
        """What all matches meet."""
        return self._conditions

    def leaf(self, node: Text) -> Leaf:
        """Return the analysis of a text leaf, cached."""
        if node not in self._leaves:
            self._leaves[node] = analyse(node, self._tx.split)
        return self._leaves[node]

    # -- parts -----------------------------------------------------------------------------

    def parts(self, ids: Sequence[int] | None) -> Iterator[Step]:
        """Yield the parts of the search, strongest matches first; with `ids`, only of those."""
        only = None if ids is None else tuple(ids)
        root = self._root
        if root is None:
            yield Step(Strength.WHOLE, Strength.WHOLE, ids=only)
            return
        wordy = self._is_wordy(root)
        for strength in self._strengths(root):
            lookup = None if ids is not None else self._lookups.of(root, strength)
            yield Step(strength if wordy else Strength.WHOLE, strength, lookup, only)

    def _is_wordy(self, root: Node) -> bool:
        kinds = {self.leaf(text).kind for text in wanted_texts(root)}
        return not kinds or not kinds.isdisjoint((Kind.WORDS, Kind.LITERAL))

    def _strengths(self, root: Node) -> Iterator[Strength]:
        leaves = [self.leaf(text) for text in wanted_texts(root)]
        if self._is_wordy(root):
            yield Strength.WHOLE
        if leaves and not any(leaf.prefix for leaf in leaves):
            yield Strength.PART
        if any(leaf.kind is Kind.WORDS and len(leaf.tokens) > 1 for leaf in leaves):
            yield Strength.ROW

    def run(self, part: Part, low: int, high: int) -> Iterator[Found | Looked]:
        """Yield what a part finds between two ids, in one direction of ids."""
        assert isinstance(part, Step)
        if part.ids is not None:
            yield from self._listed(part, part.ids, low, high)
        elif part.lookup is None:
            yield from self._read(part, low, high)
        else:
            sign = 1 if self._oldest_first else -1
            streams = (
                self._listed(part, self._to_read(part), low, high),
                self._looked_up(part, part.lookup, low, high),
            )
            yield from merge(*streams, key=lambda found: sign * found.message_id)

    @cached_property
    def _index_state(self) -> _IndexState:
        rows = self._tx.all_rows(
            "SELECT 'todo', id FROM todo UNION ALL "
            "SELECT 'big', id FROM message_words WHERE tsv @@ CAST(?1 AS tsquery) UNION ALL "
            "SELECT 'long', id FROM message_words WHERE tsv @@ CAST(?2 AS tsquery) UNION ALL "
            "SELECT 'newest', MAX(id) FROM message_words",
            (quoted(BIG), quoted(LONG)),
        )
        found: dict[str, list[int]] = {"todo": [], "big": [], "long": [], "newest": []}
        for what, message_id in rows:
            found[what].append(message_id or 0)
        unindexed = (*found["todo"], *found["big"])
        return _IndexState(unindexed, tuple(found["long"]), found["newest"][0])

    def _to_read(self, part: Step) -> Sequence[int]:
        if part.tested is not Strength.PART:
            return self._index_state.unindexed
        return list({*self._index_state.unindexed, *self._index_state.with_long_words})

    # -- statements ------------------------------------------------------------------------

    def _where(self, *more: Condition) -> tuple[str, list[Any]]:
        chosen = [*more, *self._conditions]
        sql = " AND ".join(each.sql for each in chosen if each.sql != "TRUE") or "TRUE"
        return sql, [value for each in chosen for value in each.values]

    def _selected(self, *, exact: bool) -> tuple[str, list[Any]]:
        """Return what to select of a message, beside its id: its session, and what is tested."""
        if exact or self._root is None:
            return "m.session_id", []
        columns = ["m.session_id", *(f"m.{name}" for name in COLUMNS)]
        columns += [f"COALESCE({each.sql}, FALSE)" for _, each in self._fields]
        return ", ".join(columns), [value for _, each in self._fields for value in each.values]

    def _needed(self, part: Step) -> list[Condition]:
        return [] if self._root is None else [self._tests.need(self._root, part.tested)]

    def _found(
        self, part: Step, rows: Sequence[tuple[Any, ...]], *, exact: bool
    ) -> Iterator[Found]:
        width = len(COLUMNS)
        for message_id, session_id, *rest in rows:
            if not exact and self._root is not None:
                known = dict(zip((node for node, _ in self._fields), rest[width:], strict=True))
                texts = Texts(rest[:width], known)
                if not self._tests.matches(self._root, part.tested, texts):
                    continue
            yield Found(message_id, stored_values.text(session_id), part.strength)

    def _listed(self, part: Step, ids: Sequence[int], low: int, high: int) -> Iterator[Found]:
        """Yield the matches among some messages."""
        chosen = sorted(
            (each for each in ids if low <= each <= high), reverse=not self._oldest_first
        )
        for start in range(0, len(chosen), AT_ONCE):
            some = chosen[start : start + AT_ONCE]
            listed = Condition("m.id = ANY(CAST(? AS bigint[]))", (some,), session=False)
            yield from self._tested(part, listed)

    def _tested(self, part: Step, within: Condition) -> Iterator[Found]:
        selected, first = self._selected(exact=False)
        where, values = self._where(within, *self._needed(part))
        rows = self._tx.rows(
            f"SELECT m.id, {selected} FROM messages m {_SESSION} WHERE {where} "
            f"ORDER BY m.id {self._direction}",
            [*first, *values],
        )
        yield from self._found(part, list(rows), exact=False)

    # -- by time ---------------------------------------------------------------------------

    def in_time(
        self, part: Part, late: Sequence[Late], after: Cursor | None
    ) -> Iterator[Found | Looked] | None:
        """Yield what a part finds by time; None where messages are read by their ids."""
        assert isinstance(part, Step)
        if part.lookup is None and part.ids is None:
            return None
        return self._by_time(part, after)

    def _by_time(self, part: Step, after: Cursor | None) -> Iterator[Found]:
        sign = 1 if self._oldest_first else -1
        streams = [self._listed_in_time(part, after)]
        if part.lookup is not None and part.lookup.query:
            streams.append(self._looked_up_in_time(part, part.lookup, after))
        order = merge(*streams, key=lambda each: (sign * each[0], sign * each[1].message_id))
        yield from (found for _, found in order)

    @cached_property
    def _in_order_of_time(self) -> ByTime:
        newest = self._index_state.newest
        return ByTime(self._tx, newest=newest, oldest_first=self._oldest_first)

    def _listed_in_time(self, part: Step, after: Cursor | None) -> Iterator[tuple[float, Found]]:
        ids = self._to_read(part) if part.ids is None else part.ids
        found = {each.message_id: each for each in self._listed(part, ids, 0, MAX_ID)}
        if not found:
            return
        rows = self._tx.rows(
            "SELECT timestamp, id FROM messages WHERE id = ANY(CAST(? AS bigint[]))", ([*found],)
        )
        for moment, message_id in sorted(rows, reverse=not self._oldest_first):
            place = moment, message_id
            end = None if after is None else (after.moment, after.message_id)
            if end is None or (place > end if self._oldest_first else place < end):
                yield moment, found[message_id]

    def _looked_up_in_time(
        self, part: Step, lookup: Lookup, after: Cursor | None
    ) -> Iterator[tuple[float, Found]]:
        needed = [] if lookup.exact else self._needed(part)
        rows = self._in_order_of_time.rows(
            lookup.query, self._selected(exact=lookup.exact), self._where(*needed), after
        )
        for moment, *row in rows:
            for found in self._found(part, [tuple(row)], exact=lookup.exact):
                yield moment, found

    # -- through the index -----------------------------------------------------------------

    def _looked_up(self, part: Step, lookup: Lookup, low: int, high: int) -> Iterator[Found]:
        if not lookup.query:
            return
        needed = [] if lookup.exact else self._needed(part)
        order = ById(self._tx, newest=self._index_state.newest, oldest_first=self._oldest_first)
        for row in order.rows(
            lookup.query, self._selected(exact=lookup.exact), self._where(*needed), low, high
        ):
            yield from self._found(part, [row], exact=lookup.exact)

    # -- by reading ------------------------------------------------------------------------

    def _read(self, part: Step, low: int, high: int) -> Iterator[Found | Looked]:
        """Read messages between two ids in steps; yield matches, and after each step how far."""
        for begin, end, looked in walk_messages.steps(
            self._tx, low, high, oldest_first=self._oldest_first, longest=LONGEST_READ
        ):
            bounds = Condition("m.id BETWEEN ? AND ?", (begin, end), session=False)
            yield from self._tested(part, bounds)
            yield looked

    def of_few_sessions(self) -> Sequence[int] | None:
        """Return the messages of the sessions that meet the conditions; None if there are many."""
        return walk_messages.of_few_sessions(self._tx, self._conditions)

    # -- counts and ranks ------------------------------------------------------------------

    def count(self, up_to: int) -> tuple[int, bool] | None:
        """Count matches in the index; None if only reading can tell."""
        first = None if self._root is None else next(self.parts(None), None)
        if self._root is None or first is None or first.lookup is None or not first.lookup.exact:
            return None
        # Parts of words are not counted: looking for them takes longer than the search.
        complete = len(list(self._strengths(self._root))) == 1
        indexed = self._count_indexed(first.lookup.query, up_to) if first.lookup.query else 0
        unindexed = list(self._listed(first, self._index_state.unindexed, 0, MAX_ID))
        return indexed + len(unindexed), complete

    def _count_indexed(self, query: str, up_to: int) -> int:
        where, values = self._where()
        tested = f"SELECT 1 FROM messages m {_SESSION} WHERE m.id = k.id AND {where}"
        counted = f"EXISTS ({tested})"
        if all(each.sql == findable(self._tx.caps) for each in self._conditions):
            # Few messages are not plain, and an index has them.
            odd = f"SELECT 1 FROM messages m WHERE m.id = k.id AND {NOT_PLAIN}"
            counted = f"(NOT EXISTS ({odd}) OR {counted})"
        number = self._tx.value(
            "SELECT COUNT(*) FROM (SELECT 1 FROM (SELECT w.id FROM message_words w "
            f"WHERE w.tsv @@ CAST(? AS tsquery) OFFSET 0) k WHERE {counted} LIMIT ?) x",
            [query, *values, up_to + 1],
        )
        return int(number)

    def best(self, number: int, *, weighted: bool) -> Sequence[Found]:
        """Return the most relevant of the newest matches that the index finds."""
        step = next(self.parts(None), None)
        if self._root is None or step is None or step.lookup is None:
            return ()
        newest = PostgresMatcher(
            self._tx,
            self._root,
            self._conditions,
            dict(self._fields).__getitem__,
            oldest_first=False,
        )
        matches = (each for each in newest.run(step, 0, MAX_ID) if isinstance(each, Found))
        found = list(dict.fromkeys(islice(matches, WINDOW)))
        leaves = [self.leaf(text) for text in wanted_texts(self._root)]
        rows = self._tx.rows(
            "SELECT m.id, m.role, s.source, m.content, m.tool_name, m.tool_calls "
            f"FROM messages m {_SESSION} WHERE m.id = ANY(CAST(? AS bigint[]))",
            ([each.message_id for each in found],),
        )
        scores = {
            message_id: density(leaves, Texts(texts)) * (weight(role, source) if weighted else 1.0)
            for message_id, role, source, *texts in rows
        }
        found.sort(key=lambda each: (-scores.get(each.message_id, 0.0), each.message_id))
        return found[:number]

    def frequency(self, word: str, up_to: int) -> int:
        """Return how many messages have a word, up to a limit."""
        tokens = self._tx.split(word.replace("\0", " "))
        if not tokens:
            return 0
        indexed = self._tx.value(
            "SELECT COUNT(*) FROM (SELECT 1 FROM message_words "
            "WHERE tsv @@ CAST(? AS tsquery) LIMIT ?) x",
            (" & ".join(map(quoted, tokens)), up_to),
        )
        unindexed = sum(1 for words in self._words_unindexed if words.issuperset(tokens))
        return min(up_to, int(indexed) + unindexed)

    @cached_property
    def _words_unindexed(self) -> list[set[str]]:
        """The words of each message that is not indexed, of the newest."""
        newest = sorted(self._index_state.unindexed, reverse=True)[:AT_ONCE]
        if not newest:
            return []
        rows = self._tx.rows(
            "SELECT content, tool_name, tool_calls FROM messages "
            "WHERE id = ANY(CAST(? AS bigint[]))",
            (newest,),
        )
        return [set(Texts(texts).words) for texts in rows]

    def vocabulary(self) -> Vocabulary:
        """Return the words that messages have."""
        return PostgresVocabulary(self._tx, set().union(*self._words_unindexed))
