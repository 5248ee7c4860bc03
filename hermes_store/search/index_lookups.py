"""Which expressions to look up in the full-text indexes for a query tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import TRIGRAM
from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.records.search import Strength
from hermes_store.search.match_tests import banned, phrase, quote, searched
from hermes_store.search.query_tree import And, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf

MAX_WORDS = 400
"""The most words to look up for a part of one; beyond that, reading finds matches sooner."""
FEW_WORDS = 50
"""Up to this many words for one edge of a text are narrow enough without the other edge."""
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


@dataclass(frozen=True, slots=True)
class Lookup:
    """FTS5 expressions that find all matches, and perhaps more."""

    words: str | None = None
    trigram: str | None = None
    exact: bool = True
    """Whether everything that is found is a match."""
    head: int = 0
    """How many of the newest messages to read first."""


EMPTY = Lookup()
"""Nothing can match."""


class Lookups:
    """Finds look-ups for the trees of one query in one database."""

    def __init__(
        self,
        tx: SqliteTransaction,
        tokenize: Tokenize,
        leaf: Callable[[Text], Leaf],
        words: WordList | None,
    ) -> None:
        self._tx = tx
        self._tokenize = tokenize
        self._leaf = leaf
        self._words = words
        self._asked: dict[tuple[str, bool, bool], list[str]] = {}
        caps = tx.caps
        self.has_words = caps.words is not FullText.NONE and caps.holds_all_text
        """Whether the word index can be asked."""
        self.has_trigrams = caps.trigram is FullText.INLINE and caps.holds_all_text
        """Whether the trigram index has all messages."""

    @cached_property
    def covered(self) -> int:
        """The highest message id whose words are listed."""
        return self._words.covered(self._tx) if self._words is not None else 0

    @property
    def apart(self) -> list[int]:
        """The listed messages with text that the indexes do not hold."""
        return self._words.apart() if self._words is not None else []

    def whole(self, root: Node, strength: Strength) -> Lookup | None:
        """Return the look-up of whole words; None if reading is needed."""
        if isinstance(root, Text) and is_short_beginning(self._leaf(root)):
            return None  # many messages have one, and the newest are found sooner by reading
        return self._lookup(root, lambda leaf: self._whole_leaf(leaf, strength))

    def parts(self, root: Node) -> Lookup | None:
        """Return the look-up of text that may stand inside of words; None without one."""
        return self._lookup(root, self._grams_of if self.has_trigrams else self._words_with)

    def has_all_parts(self) -> bool:
        """Tell whether an index has all parts of words, without anything to be read."""
        if self.has_trigrams or not self.covered:
            return self.has_trigrams
        newest = self._tx.value("SELECT MAX(id) FROM messages") or 0
        return self.covered >= newest and not self.apart

    def _lookup(self, node: Node, of_leaf: Callable[[Leaf], Lookup | None]) -> Lookup | None:
        match node:
            case Text():
                return of_leaf(self._leaf(node))
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
        excluded = [banned(self._leaf, each) for each in nodes if isinstance(each, Not)]
        known = [each for each in excluded if each is not None]
        if known:
            joined = f"({joined}) NOT ({' OR '.join(known)})"
        exact = len(chosen) + len(known) == len(nodes) and all(found.exact for found in chosen)
        return Lookup(words=joined, exact=exact, head=head)

    def _whole_leaf(self, leaf: Leaf, strength: Strength) -> Lookup | None:
        if leaf.kind is Kind.SIGNS:
            return None
        if leaf.kind is Kind.CJK:
            return self._cjk(leaf)
        alone = len(leaf.tokens) == 1 or strength is Strength.ROW
        return Lookup(words=phrase(leaf), exact=leaf.kind is Kind.WORDS and alone)

    # -- parts of words in trigrams --------------------------------------------------------

    def _grams_of(self, leaf: Leaf) -> Lookup | None:
        needle = searched(leaf)
        if "\0" in needle:
            return None
        if len(needle) >= 3:
            # Content, tool name and tool calls are one text in the index, with blanks between.
            return Lookup(
                trigram=quote(needle), exact=needle.isalnum() and needle.isascii(), head=HEAD
            )
        return self._starting_grams(needle) if leaf.kind is Kind.CJK else None

    def _cjk(self, leaf: Leaf) -> Lookup | None:
        """Look up Chinese, Japanese or Korean in the trigram index, if it holds all of it."""
        if self.has_trigrams:
            return self._grams_of(leaf)
        if self._tx.caps.trigram is not FullText.EXTERNAL or not self._tx.caps.holds_all_text:
            return None
        needle = leaf.needle
        if _ESCAPED.search(needle):
            return None  # escaped in the index if the content is multimodal
        if len(needle) < 3:
            return self._starting_grams(needle)
        return Lookup(trigram=quote(needle), exact=" " not in needle)

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
        if not leaf.tokens or not self.covered:
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
        edges = [(first, not opens, True), (last, True, not closes)]
        for edge, starts, ends in sorted(edges, key=lambda each: -len(each[0])):
            found = self._listed(edge, starts=starts, ends=ends)
            groups += [found] if found is not None else []
            if found is not None and len(found) <= FEW_WORDS:
                break  # narrow enough
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
        asked = token, starts, ends
        if asked not in self._asked:
            self._asked[asked] = self._words.matching(
                token, MAX_WORDS + 1, starts=starts, ends=ends
            )
        found = self._asked[asked]
        return found if len(found) <= MAX_WORDS else None


def is_short_beginning(leaf: Leaf) -> bool:
    """Tell whether a leaf is the beginning of very many words."""
    short = leaf.kind is Kind.WORDS and len(leaf.tokens[-1]) < SHORTEST_BEGINNING
    return leaf.prefix and short and len(leaf.tokens) == 1


def _edges(leaf: Leaf) -> tuple[str, str]:
    return leaf.needle[0], leaf.needle[-1]


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
