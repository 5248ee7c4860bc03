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

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import TRIGRAM
from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.engines.sqlite.word_list import INDEXED_OF_TOOLS, WordList
from hermes_store.records.search import Strength
from hermes_store.search.field_conditions import Condition
from hermes_store.search.literal_sql import contains, has_word
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf, analyse
from hermes_store.search.snippets import wanted_texts

MAX_WORDS = 400
"""The most words to look up for a part of one; beyond that, reading finds matches sooner."""
FEW_GRAMS = 24
"""Up to this many trigrams that start with one or two characters are looked up at once."""
MAX_GRAMS = 1_600
HEAD = 300
"""The newest messages are read before an index is asked for parts of words: what is common is
there, and finding it in an index would take longer."""
LONG_HEAD = 4_000
"""The same where the index has much to collect."""
SHORTEST_BEGINNING = 3
"""Letters; FTS5 collects all words with a beginning before it gives the first match."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
NOTHING = Condition("0", session=False)
ALL = Condition("1", session=False)


@dataclass(frozen=True, slots=True)
class Lookup:
    """FTS5 expressions that find all matches, and perhaps more."""

    words: str | None = None
    trigram: str | None = None
    exact: bool = True
    """Whether everything that is found is a match."""
    head: int = 0
    """How many of the newest messages to read first."""


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
    """Which messages to read."""
    words: Condition | None = None
    """If the index does not hold these messages: what those have whose words may match."""


EMPTY = Lookup()
"""Nothing can match."""


def quote(text: str) -> str:
    """Return text as an FTS5 string."""
    return '"' + text.replace('"', '""') + '"'


class Planner:
    """Plans the steps for one query tree on one database."""

    def __init__(
        self,
        tx: Transaction,
        root: Node | None,
        tokenize: Tokenize,
        words: WordList | None,
        condition_of: Callable[[Field], Condition],
    ) -> None:
        self._tx = tx
        self._root = root
        self._tokenize = tokenize
        self._words = words
        self._condition_of = condition_of
        self._leaves: dict[Text, Leaf] = {}
        caps = tx.caps
        self._has_words = caps.words is not FullText.NONE and caps.holds_all_text
        self._has_trigrams = caps.trigram is FullText.INLINE and caps.holds_all_text

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
                test, need = self.test(root, strength), self._need(root, strength)
                found: Iterable[Step] = [Step(strength, test=test, ids=tuple(ids), words=need)]
            elif strength is Strength.PART:
                found = self._parts(root)
            else:
                found = self._whole(root, strength)
            for step in found:
                # Without words, there are no better matches than those that contain the text.
                yield step if self._is_wordy(root) else replace(step, strength=Strength.WHOLE)
        left = self._left() if ids is None else None
        if left is not None and self._has_more_in_words(root):
            test, need = self.test(root, Strength.ROW), self._need(root, Strength.ROW)
            yield replace(left, strength=strength, test=test, words=need)

    def _is_wordy(self, root: Node) -> bool:
        """Tell whether a tree has words, or nothing that a text could contain."""
        kinds = {self.leaf(text).kind for text in wanted_texts(root)}
        return not kinds or not kinds.isdisjoint((Kind.WORDS, Kind.LITERAL))

    def _has_more_in_words(self, root: Node) -> bool:
        """Tell whether words in text that is not indexed may match that do not contain it.

        Accents count there in the long output of tools, or else half of it would have to be
        split into words.
        """
        if self._tx.caps.words is not FullText.COLUMNS:
            return self._is_wordy(root)
        leaves = [self.leaf(text) for text in wanted_texts(root)]
        return any(
            leaf.kind is Kind.WORDS and (len(leaf.tokens) > 1 or leaf.prefix) for leaf in leaves
        )

    def _strengths(self, root: Node) -> Iterator[Strength]:
        leaves = [self.leaf(text) for text in wanted_texts(root)]
        if self._is_wordy(root):
            yield Strength.WHOLE
        if any(not leaf.prefix or leaf.kind is not Kind.WORDS for leaf in leaves):
            yield Strength.PART
        if any(leaf.kind is Kind.WORDS and len(leaf.tokens) > 1 for leaf in leaves):
            yield Strength.ROW

    def first_lookup(self) -> Lookup | None:
        """Return the look-up of the strongest matches, if an index has them all."""
        if self._root is None or self._left() is not None:
            return None
        first = next(self._strengths(self._root))
        if first is Strength.PART:
            return self._part_lookup(self._root) if self._has_all_parts() else None
        return self._lookup(self._root, lambda leaf: self._whole_leaf(leaf, first))

    def countable(self) -> tuple[list[Lookup], bool]:
        """Return exact look-ups to count with, and whether they find all matches together."""
        whole = self.first_lookup()
        if self._root is None or whole is None or not whole.exact:
            return [], False
        strengths = list(self._strengths(self._root))
        if len(strengths) == 1:
            return ([whole], True) if whole.head <= HEAD else ([], False)
        part = self._part_lookup(self._root) if self._has_all_parts() else None
        if part is None or not part.exact or part.head > HEAD:
            return [whole] if whole.head <= HEAD else [], False
        return [whole, part], Strength.ROW not in strengths

    def _has_all_parts(self) -> bool:
        """Tell whether an index has all parts of words, without anything to be read."""
        if self._has_trigrams or self._words is None or not self._covered:
            return self._has_trigrams
        newest = self._tx.value("SELECT MAX(id) FROM messages") or 0
        return self._covered >= newest and not self._words.apart()

    def _whole(self, root: Node, strength: Strength) -> Iterator[Step]:
        found = self._lookup(root, lambda leaf: self._whole_leaf(leaf, strength))
        test = self.test(root, strength)
        if found is not None and self._has_words:
            left = self._untested(root, strength) if found.words and not found.trigram else test
            yield Step(strength, found, ALL if found.exact else left)
        elif self._has_words and self._left() is None and self._must_read(root):
            yield Step(strength, test=test, words=self._need(root, strength))

    def _must_read(self, root: Node) -> bool:
        """Tell whether a tree has nothing to look up, nor to find as a part of words."""
        return not wanted_texts(root) or self._is_short_beginning(root)

    def _is_short_beginning(self, root: Node) -> bool:
        leaves = (self.leaf(text) for text in wanted_texts(root))
        return any(leaf.prefix and leaf.kind is Kind.WORDS for leaf in leaves)

    def _left(self) -> Step | None:
        """Return the reading of what the word index does not hold; None if it holds all."""
        if not self._has_words:
            return Step(Strength.WHOLE)
        if self._tx.caps.unindexed is not None:
            low, high = self._tx.caps.unindexed
            return Step(Strength.WHOLE, low=low, high=high)
        if self._tx.caps.words is not FullText.COLUMNS:
            return None
        if self._covered:
            return Step(Strength.WHOLE, ids=tuple(self._apart), left=ALL)
        long = f"m.role = 'tool' AND octet_length(m.content) > {INDEXED_OF_TOOLS}"
        return Step(Strength.WHOLE, left=Condition(long, session=False))

    @cached_property
    def _covered(self) -> int:
        return self._words.covered(self._tx) if self._words is not None else 0

    @property
    def _apart(self) -> list[int]:
        """The messages that the list of words does not cover, new ones included."""
        assert self._words is not None
        new = self._tx.rows("SELECT id FROM messages WHERE id > ?", (self._covered,))
        return [*self._words.apart(), *(row[0] for row in new)]

    def _parts(self, root: Node) -> Iterator[Step]:
        """Yield the steps for text that may stand inside of words."""
        test = self.test(root, Strength.PART)
        split = self._left() is not None or self._is_short_beginning(root)
        need = self._need(root, Strength.PART) if split else None
        read = Step(Strength.PART, test=test, words=need)
        found = self._part_lookup(root)
        if found is None:
            yield read
            return
        checked = self.test(root, Strength.PART, thoroughly=True)
        step = Step(Strength.PART, found, ALL if found.exact else checked)
        if found.head:
            newest = self._tx.value("SELECT MAX(id) FROM messages") or 0
            yield replace(read, low=max(0, newest - found.head))
        if self._tx.caps.unindexed is not None:
            low, high = self._tx.caps.unindexed
            yield replace(read, low=low, high=high)
        if self._has_trigrams:
            yield step
            yield from self._behind_nul(replace(read, test=checked))
        elif found.trigram and not found.words:
            yield step
        else:
            yield replace(read, low=self._covered + 1)
            yield replace(step, high=self._covered)
            assert self._words is not None
            yield replace(read, test=checked, ids=tuple(self._words.apart()))

    def _behind_nul(self, read: Step) -> Iterator[Step]:
        """Yield the step for multimodal content, which begins with NUL.

        A trigram index made by Hermes Agent ends there. The word index goes on, and finds such
        content by its first word.
        """
        if self._covered:
            assert self._words is not None
            yield replace(read, ids=tuple(self._words.apart()))
            yield replace(read, low=self._covered + 1, left=_BEGINS_WITH_NUL)
        else:
            yield replace(read, lookup=Lookup(words="^json", exact=False), test=_both(
                _BEGINS_WITH_NUL, read.test))

    # -- tests -----------------------------------------------------------------------------

    def test(self, node: Node, strength: Strength, *, thoroughly: bool = False) -> Condition:
        """Return the condition that a message `m` matches; {words} is the index of its words."""
        match node:
            case Text():
                leaf = self.leaf(node)
                literal = contains(_searched(leaf), thoroughly=thoroughly or strength is not Strength.PART)
                if leaf.kind is not Kind.WORDS or (strength is Strength.PART and not leaf.prefix):
                    return literal
                if strength is Strength.WHOLE and len(leaf.tokens) > 1:
                    return _both(_has_words(leaf), literal)
                return _has_words(leaf)
            case And() | Or():
                parts = [self.test(each, strength, thoroughly=thoroughly) for each in node.parts]
                joined = " AND " if isinstance(node, And) else " OR "
                sql = joined.join(part.sql for part in parts)
                values = tuple(value for part in parts for value in part.values)
                return Condition(f"({sql})", values, session=False)
            case Not():
                # As in FTS5, "NOT java" keeps JavaScript: only whole words are excluded.
                part = self.test(node.part, Strength.ROW, thoroughly=True)
                return replace(part, sql=f"NOT COALESCE({part.sql}, 0)")
            case Field():
                condition = self._condition_of(node)
                return replace(condition, sql=f"COALESCE({condition.sql}, 0)", session=False)

    def _untested(self, node: Node, strength: Strength) -> Condition:
        """Return what a look-up of words leaves to be tested."""
        match node:
            case Text():
                leaf = self.leaf(node)
                is_exact = len(leaf.tokens) == 1 or strength is Strength.ROW
                if leaf.kind is Kind.WORDS and is_exact:
                    return ALL
                return contains(_searched(leaf)) if leaf.tokens else self.test(node, strength)
            case And():
                parts = [self._untested(each, strength) for each in node.parts]
                return _both(*parts)
            case Not() if self._banned(node) is not None:
                return ALL
            case _:
                return self.test(node, strength)

    def _need(self, node: Node, strength: Strength) -> Condition | None:
        """Return what every match has, so that few messages are split into words; None for no words.

        Only tests on words need messages to be split.
        """
        if "{words}" not in self.test(node, strength).sql:
            return None
        return self._necessary(node, strength)

    def _necessary(self, node: Node, strength: Strength) -> Condition:
        match node:
            case Text():
                leaf = self.leaf(node)
                if leaf.kind is not Kind.WORDS or (strength is Strength.PART and not leaf.prefix):
                    return contains(_searched(leaf), thoroughly=False)
                accents = self._tx.caps.words is not FullText.COLUMNS
                every = [has_word(token, accents=accents) for token in leaf.tokens]
                return _both(*every)
            case And():
                return _both(*(self._necessary(each, strength) for each in node.parts))
            case Or():
                parts = [self._necessary(each, strength) for each in node.parts]
                values = tuple(value for part in parts for value in part.values)
                return Condition(f"({' OR '.join(p.sql for p in parts)})", values, session=False)
            case _:
                return ALL

    # -- look-ups --------------------------------------------------------------------------

    def _lookup(self, node: Node, of_leaf: Callable[[Leaf], Lookup | None]) -> Lookup | None:
        match node:
            case Text():
                return of_leaf(self.leaf(node))
            case And():
                return self._all(node.parts, of_leaf)
            case Or():
                return _any([self._lookup(part, of_leaf) for part in node.parts])
            case _:
                return None

    def _all(
        self, nodes: Sequence[Node], of_leaf: Callable[[Leaf], Lookup | None]
    ) -> Lookup | None:
        """Look up what all parts have in common, in one index; the test does the rest."""
        wanted = [self._lookup(each, of_leaf) for each in nodes if not isinstance(each, Not)]
        usable = [found for found in wanted if found is not None]
        if EMPTY in usable:
            return EMPTY
        words = [found for found in usable if found.words and not found.trigram]
        grams = [found for found in usable if found.trigram and not found.words]
        chosen = words or grams or usable[:1]
        if not chosen:
            return None
        exact = len(chosen) == len(nodes) and all(found.exact for found in chosen)
        head = min(found.head for found in chosen)
        if not words:
            if not grams:
                return replace(chosen[0], exact=False)
            joined = " AND ".join(f"({found.trigram})" for found in chosen)
            return Lookup(trigram=joined, exact=exact, head=head)
        joined = " AND ".join(f"({found.words})" for found in chosen)
        banned = [self._banned(each) for each in nodes if isinstance(each, Not)]
        known = [each for each in banned if each is not None]
        if known:
            joined = f"({joined}) NOT ({' OR '.join(known)})"
        exact = len(chosen) + len(known) == len(nodes) and all(found.exact for found in chosen)
        return Lookup(words=joined, exact=exact, head=head)

    def _banned(self, node: Not) -> str | None:
        """Return the words that must not be there as an expression, if the index can tell."""
        if isinstance(node.part, Text) and self.leaf(node.part).kind is Kind.WORDS:
            return _phrase(self.leaf(node.part))
        return None

    def _whole_leaf(self, leaf: Leaf, strength: Strength) -> Lookup | None:
        if leaf.kind is Kind.SIGNS:
            return None
        if leaf.kind is Kind.CJK:
            return self._cjk(leaf)
        if leaf.prefix and len(leaf.tokens[-1]) < SHORTEST_BEGINNING:
            return None
        alone = len(leaf.tokens) == 1 or strength is Strength.ROW
        return Lookup(words=_phrase(leaf), exact=leaf.kind is Kind.WORDS and alone)

    def _part_lookup(self, root: Node) -> Lookup | None:
        if self._has_trigrams:
            return self._lookup(root, self._grams_of)
        return self._lookup(root, self._words_with)

    # -- parts of words in trigrams --------------------------------------------------------

    def _grams_of(self, leaf: Leaf) -> Lookup | None:
        needle = _searched(leaf)
        if "\0" in needle or (leaf.prefix and leaf.kind is Kind.WORDS):
            return None
        if len(needle) >= 3:
            # Content, tool name and tool calls are one text in the index, with blanks between.
            return Lookup(trigram=quote(needle), exact=needle.isalnum() and needle.isascii(), head=HEAD)
        return self._starting_grams(needle) if leaf.kind is Kind.CJK else None

    def _cjk(self, leaf: Leaf) -> Lookup | None:
        """Look up Chinese, Japanese or Korean in the trigram index, if it holds all of it."""
        if self._has_trigrams:
            return self._grams_of(leaf)
        if self._tx.caps.trigram is not FullText.EXTERNAL or not self._tx.caps.holds_all_text:
            return None
        needle = leaf.needle
        if _ESCAPED.search(needle):
            return None  # escaped in the index if the content is multimodal
        return Lookup(trigram=quote(needle)) if len(needle) >= 3 else self._starting_grams(needle)

    def _starting_grams(self, start: str) -> Lookup | None:
        """Look up the trigrams that start with one or two characters; None if too many.

        Every character of an indexed text starts a trigram, because the text ends in blanks.
        """
        con = self._tx.connection
        con.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.trigram_terms "
            f"USING fts5vocab('main', '{TRIGRAM}', 'row')"
        )
        rows = self._tx.rows(
            "SELECT term FROM temp.trigram_terms WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + "\U0010ffff", MAX_GRAMS + 1),
        )
        grams = [str(term) for (term,) in rows]
        if len(grams) > MAX_GRAMS:
            return None
        joined = " OR ".join(quote(gram) for gram in grams)
        return Lookup(trigram=joined or None, head=LONG_HEAD if len(grams) > FEW_GRAMS else 0)

    # -- parts of words in the list of words -----------------------------------------------

    def _words_with(self, leaf: Leaf) -> Lookup | None:
        """Look up the words that contain a leaf, or its edges if it is more than one word."""
        if leaf.kind is Kind.CJK and self._tx.caps.words is not FullText.COLUMNS:
            return self._cjk(leaf)
        if leaf.prefix and leaf.kind is Kind.WORDS:
            return self._whole_leaf(leaf, Strength.ROW)
        if not leaf.tokens or not self._covered:
            return None
        # A combining accent alone is not a word, but words continue across it.
        opens, closes = (len(self._tokenize(f"x{edge}x")) == 1 for edge in _edges(leaf))
        first, last = leaf.tokens[0], leaf.tokens[-1]
        if len(leaf.tokens) == 1:
            found = self._listed(first, starts=not opens, ends=not closes)
            exact = leaf.kind is Kind.WORDS and leaf.needle == first
            if found is None:
                return None
            return Lookup(words=_any_word(found), exact=exact) if found else EMPTY
        middle = leaf.tokens[1:-1]
        groups = [[" ".join(middle)]] if middle else []
        for edge, starts, ends in ((first, not opens, True), (last, True, not closes)):
            found = self._listed(edge, starts=starts, ends=ends)
            groups += [found] if found is not None else []
        if not all(groups):
            return EMPTY
        if not groups:
            return None
        joined = " AND ".join(f"({_any_word(group)})" for group in groups)
        return Lookup(words=joined, exact=False)

    def _listed(self, token: str, *, starts: bool, ends: bool) -> list[str] | None:
        """Return the words that contain, start or end with a token; None if too many."""
        assert self._words is not None
        if starts and ends:
            return [token]
        found = self._words.matching(token, MAX_WORDS + 1, starts=starts, ends=ends)
        return found if len(found) <= MAX_WORDS else None


_BEGINS_WITH_NUL = Condition("m.content < char(1)", session=False)


def _searched(leaf: Leaf) -> str:
    """Return what a text must contain."""
    return leaf.node.value


def _edges(leaf: Leaf) -> tuple[str, str]:
    return leaf.needle[0], leaf.needle[-1]


def _phrase(leaf: Leaf) -> str:
    return quote(" ".join(leaf.tokens)) + (" *" if leaf.prefix else "")


def _has_words(leaf: Leaf) -> Condition:
    sql = "EXISTS (SELECT 1 FROM {words} WHERE {words} MATCH ? AND rowid = m.id)"
    return Condition(sql, (_phrase(leaf),), session=False)


def _both(*conditions: Condition) -> Condition:
    values = tuple(value for each in conditions for value in each.values)
    return Condition(f"({' AND '.join(each.sql for each in conditions)})", values, session=False)


def _any_word(words: Sequence[str]) -> str:
    return " OR ".join(quote(word) for word in words)


def _any(found: Sequence[Lookup | None]) -> Lookup | None:
    """Combine look-ups with OR."""
    usable = [each for each in found if each is not None]
    if len(usable) < len(found):
        return None
    words = [f"({each.words})" for each in usable if each.words]
    grams = [f"({each.trigram})" for each in usable if each.trigram]
    return Lookup(
        words=" OR ".join(words) or None,
        trigram=" OR ".join(grams) or None,
        exact=all(each.exact for each in usable),
        head=max(each.head for each in usable),
    )
