"""Plans: which index finds the candidates of a query tree, and what must be tested on their text.

| layout | whole words | parts of words | what is left |
|---|---|---|---|
| inline (Hermes Agent up to schema 22) | word index | trigram index | fewer than three characters |
| columns (schema 23 and later) | word index | list of words | long output of tools |
| external (this store's own) | word index | list of words; trigram index for CJK | |
| none, or being rebuilt | | | those messages |

Matches come in three strengths: whole words, then text inside of words, then the same words in a
row with other signs between them. Each strength is planned only if the one before did not fill
the page. What no index can find is read, newest first, by a statement with the same test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.engines.sqlite.words_of_index import long_output
from hermes_store.records.search import Strength
from hermes_store.search.field_conditions import Condition
from hermes_store.search.index_lookups import HEAD, Lookup, Lookups, is_short_beginning
from hermes_store.search.match_tests import ALL, Tests, both
from hermes_store.search.query_tree import Field, Node, Text
from hermes_store.search.query_words import Kind, Leaf, analyse
from hermes_store.search.snippets import wanted_texts

_BEGINS_WITH_NUL = Condition("m.content < char(1)", session=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a search: look something up in an index, or read messages."""

    strength: Strength
    lookup: Lookup | None = None
    """None means to read messages."""
    test: Condition = ALL
    """What candidates must meet to be matches."""
    low: int = 0
    high: int | None = None
    """The first and last id; None for no end."""
    ids: tuple[int, ...] | None = None
    """The only messages to read, if not None."""
    left: Condition = ALL
    """Which messages to read, of those."""
    words: Condition | None = None
    """If the index does not hold these messages: what those have whose words may match."""


class Planner:
    """Plans the steps for one query tree on one database."""

    def __init__(
        self,
        tx: SqliteTransaction,
        root: Node | None,
        tokenize: Tokenize,
        words: WordList | None,
        condition_of: Callable[[Field], Condition],
        *,
        oldest_first: bool,
    ) -> None:
        self._tx = tx
        self._oldest_first = oldest_first
        self._root = root
        self._tokenize = tokenize
        self._leaves: dict[Text, Leaf] = {}
        # Half of what tools say would have to be split into words for the accents in it.
        self._ends_early = tx.caps.words is FullText.COLUMNS and tx.caps.unindexed is None
        self._tests = Tests(self.leaf, condition_of, accents=not self._ends_early)
        self._lookups = Lookups(tx, tokenize, self.leaf, words)

    def leaf(self, node: Text) -> Leaf:
        """Return the analysis of a text leaf, cached."""
        if node not in self._leaves:
            self._leaves[node] = analyse(node, self._tokenize)
        return self._leaves[node]

    # -- steps -----------------------------------------------------------------------------

    def steps(self, ids: Sequence[int] | None = None) -> Iterator[Step]:
        """Yield the steps, strongest matches first; with `ids`, only those messages are read."""
        root = self._root
        if root is None:
            yield Step(Strength.WHOLE, ids=None if ids is None else tuple(ids))
            return
        for strength in self._strengths(root):
            if ids is not None:
                test, need = self._tests.match(root, strength), self._tests.need(root, strength)
                found: Iterable[Step] = [Step(strength, test=test, ids=tuple(ids), words=need)]
            elif strength is Strength.PART:
                found = self._parts(root)
            else:
                found = self._whole(root, strength)
            for step in found:
                # Without words, there are no better matches than those that contain the text.
                yield step if self._is_wordy(root) else replace(step, strength=Strength.WHOLE)
        if ids is None and self._has_more_in_words(root):
            test, need = self._tests.match(root, Strength.ROW), self._tests.need(root, Strength.ROW)
            for step in self._left():
                yield replace(step, strength=strength, test=test, words=need)

    def _is_wordy(self, root: Node) -> bool:
        """Tell whether a tree has words, or nothing that a text could contain."""
        kinds = {self.leaf(text).kind for text in wanted_texts(root)}
        return not kinds or not kinds.isdisjoint((Kind.WORDS, Kind.LITERAL))

    def _has_more_in_words(self, root: Node) -> bool:
        """Tell whether words in text that is not indexed may match that do not contain it.

        Accents count there in the long output of tools; see `Tests`.
        """
        if self._must_read(root):
            return False
        if not self._ends_early:
            return self._is_wordy(root)
        leaves = [self.leaf(text) for text in wanted_texts(root)]
        return any(
            leaf.kind is Kind.WORDS and (len(leaf.tokens) > 1 or leaf.prefix) for leaf in leaves
        )

    def _strengths(self, root: Node) -> Iterator[Strength]:
        leaves = [self.leaf(text) for text in wanted_texts(root)]
        if self._is_wordy(root):
            yield Strength.WHOLE
        if leaves and not any(leaf.prefix for leaf in leaves):
            yield Strength.PART
        if any(leaf.kind is Kind.WORDS and len(leaf.tokens) > 1 for leaf in leaves):
            yield Strength.ROW

    def first_lookup(self) -> Lookup | None:
        """Return the look-up of the strongest matches, if an index has them all."""
        if self._root is None or self._left():
            return None
        # A beginning without a word in it, such as %*, has none.
        first = next(self._strengths(self._root), None)
        if first is None:
            return None
        if first is Strength.PART:
            return self._lookups.parts(self._root) if self._lookups.has_all_parts() else None
        return self._lookups.whole(self._root, first)

    def countable(self) -> tuple[list[Lookup], bool]:
        """Return exact look-ups to count with, and whether they find all matches together."""
        whole = self.first_lookup()
        if self._root is None or whole is None or not whole.exact:
            return [], False
        strengths = list(self._strengths(self._root))
        if len(strengths) == 1:
            return ([whole], True) if whole.head <= HEAD else ([], False)
        part = self._lookups.parts(self._root) if self._lookups.has_all_parts() else None
        if part is None or not part.exact or part.head > HEAD:
            return [whole] if whole.head <= HEAD else [], False
        return [whole, part], Strength.ROW not in strengths

    def _whole(self, root: Node, strength: Strength) -> Iterator[Step]:
        found = self._lookups.whole(root, strength)
        test = self._tests.match(root, strength)
        if self._must_read(root):
            split = bool(self._left() or wanted_texts(root))
            need = self._tests.need(root, strength) if split else None
            yield Step(strength, test=test, words=need)
        elif found is not None and self._lookups.has_words:
            if found.words and not found.trigram:
                test = self._tests.left_by_lookup(root, strength)
            yield Step(strength, found, ALL if found.exact else test)

    def _must_read(self, root: Node) -> bool:
        """Tell whether a tree has nothing to look up, such as a beginning of one letter."""
        alone = isinstance(root, Text) and is_short_beginning(self.leaf(root))
        return alone or not wanted_texts(root)

    def _left(self) -> list[Step]:
        """Return the readings of what the word index does not hold."""
        if not self._lookups.has_words:
            return [Step(Strength.WHOLE)]
        if self._tx.caps.unindexed is not None:
            low, high = self._tx.caps.unindexed
            return [Step(Strength.WHOLE, low=low, high=high)]
        if self._tx.caps.words is not FullText.COLUMNS:
            return []
        unlisted = Step(Strength.WHOLE, left=Condition(long_output("m"), session=False))
        if not self._lookups.covered:
            return [unlisted]
        listed = Step(Strength.WHOLE, ids=tuple(self._lookups.apart))
        return [replace(unlisted, low=self._lookups.covered + 1), listed]

    def _parts(self, root: Node) -> Iterator[Step]:
        """Yield the steps for text that may stand inside of words."""
        test = self._tests.match(root, Strength.PART)
        need = self._tests.need(root, Strength.PART) if self._left() else None
        read = Step(Strength.PART, test=test, words=need)
        found = self._lookups.parts(root)
        if found is None:
            yield read
            return
        checked = self._tests.match(root, Strength.PART, thoroughly=True)
        step = Step(Strength.PART, found, ALL if found.exact else checked)
        if found.head and not self._oldest_first:
            newest = self._tx.value("SELECT MAX(id) FROM messages") or 0
            yield replace(read, low=max(0, newest - found.head))
        if self._tx.caps.unindexed is not None:
            low, high = self._tx.caps.unindexed
            yield replace(read, low=low, high=high)
        if self._lookups.has_trigrams:
            yield step
            yield from self._behind_nul(replace(read, test=checked))
        elif found.trigram and not found.words:
            yield step
        else:
            new, old = (
                replace(read, low=self._lookups.covered + 1),
                replace(step, high=self._lookups.covered),
            )
            yield from (old, new) if self._oldest_first else (new, old)
            yield replace(read, ids=tuple(self._lookups.apart))

    def _behind_nul(self, read: Step) -> Iterator[Step]:
        """Yield the step for multimodal content, which begins with NUL.

        A trigram index made by Hermes Agent ends there. The word index goes on, and finds such
        content by its first word.
        """
        if self._lookups.covered:
            yield replace(read, ids=tuple(self._lookups.apart))
            yield replace(read, low=self._lookups.covered + 1, left=_BEGINS_WITH_NUL)
        else:
            yield replace(
                read,
                lookup=Lookup(words="^json", exact=False),
                test=both(_BEGINS_WITH_NUL, read.test),
            )
