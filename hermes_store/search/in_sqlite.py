"""Matches in SQLite, by its full-text indexes; `plan` says how, `candidates` has the statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import apsw

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import TRIGRAM, WORDS
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.engines.sqlite.words_of_index import WordsOfIndex
from hermes_store.records.search import Cursor, Looked
from hermes_store.search.candidates import Rows
from hermes_store.search.field_conditions import Condition
from hermes_store.search.matcher import Found, Part, Vocabulary
from hermes_store.search.plan import Planner, Step
from hermes_store.search.query_tree import Field, Node, Text
from hermes_store.search.query_words import Leaf
from hermes_store.search.walk_messages import of_few_sessions
from hermes_store.search.weights import WEIGHT_SQL, WINDOW
from hermes_store.sessions.late_messages import Late


def _density(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
    """Score a message by its number of occurrences, lower for long messages."""
    occurrences = api.inst_count
    return occurrences / (occurrences + 1.2 + api.column_size(-1) / 150)


class SqliteMatcher:
    """Finds the matches of one query tree in an SQLite file."""

    def __init__(
        self,
        tx: SqliteTransaction,
        root: Node | None,
        conditions: Sequence[Condition],
        condition_of: Callable[[Field], Condition],
        words: WordList | None,
        *,
        oldest_first: bool,
    ) -> None:
        self._tx = tx
        self._words = words
        self._rows = Rows(tx, conditions, oldest_first=oldest_first)
        self._planner = Planner(tx, root, tx.split, words, condition_of, oldest_first=oldest_first)

    @property
    def conditions(self) -> Sequence[Condition]:
        """What all matches meet."""
        return self._rows.conditions

    def leaf(self, node: Text) -> Leaf:
        """Return the analysis of a text leaf."""
        return self._planner.leaf(node)

    def of_few_sessions(self) -> Sequence[int] | None:
        """Return the messages of the sessions that meet the conditions; None if there are many."""
        return of_few_sessions(self._tx, self._rows.conditions)

    def parts(self, ids: Sequence[int] | None) -> Iterator[Step]:
        """Yield the parts of the search, strongest matches first; with `ids`, only of those."""
        return self._planner.steps(ids)

    def run(self, part: Part, low: int, high: int) -> Iterator[Found | Looked]:
        """Yield what a part finds between two ids, in one direction of ids."""
        assert isinstance(part, Step)
        if part.lookup is None:
            return self._rows.read(part, low, high)
        return self._rows.look_up(part, low, high)

    def in_time(self, part: Part, late: Sequence[Late], after: Cursor | None) -> None:
        """Nothing: looking into many ranges of ids costs little here."""
        return None

    def count(self, up_to: int) -> tuple[int, bool] | None:
        """Count matches in the indexes; None if only reading can tell."""
        lookups, complete = self._planner.countable()
        return (self._rows.count(lookups, up_to), complete) if lookups else None

    def best(self, number: int, *, weighted: bool) -> Sequence[Found]:
        """Return the most relevant of the newest matches, if one look-up finds the strongest."""
        step = next(self._planner.steps(), None)
        if step is None or step.lookup is None:
            return ()
        if step.lookup.words and not step.lookup.trigram:
            table, expression = WORDS, step.lookup.words
        elif step.lookup.trigram and not step.lookup.words:
            table, expression = TRIGRAM, step.lookup.trigram
        else:
            return ()
        self._tx.connection.register_fts5_function("hermes_density", _density)
        score = f"hermes_density({table})" + (f" * {WEIGHT_SQL}" if weighted else "")
        return self._rows.scored(table, expression, step.test, score, window=WINDOW, limit=number)

    def frequency(self, word: str, up_to: int) -> int:
        """Return how many messages have a word, up to a limit."""
        if self._tx.caps.words is FullText.NONE:
            return 0
        expression = '"' + word.replace("\0", " ").replace('"', '""') + '"'
        try:
            counted = self._tx.value(
                f"SELECT COUNT(*) FROM (SELECT 1 FROM {WORDS} WHERE {WORDS} MATCH ? LIMIT {up_to})",
                (expression,),
            )
        except apsw.SQLError:
            return 0  # the word has nothing that can be indexed
        return int(counted)

    def vocabulary(self) -> Vocabulary:
        """Return the list of words; without one, the words of the index."""
        listed = self._words is not None and self._words.covered(self._tx) > 0
        return self._words if self._words is not None and listed else WordsOfIndex(self._tx)
