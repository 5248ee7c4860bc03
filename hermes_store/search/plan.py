"""Plan the index look-ups for a query tree, given the capabilities of the database.

A cover is a set of look-ups that finds every match and perhaps more; if it may find more, the
exact test on the text follows. Look-ups come in tiers: whole words first, then parts of words.
The last resort is a scan, which reads messages newest first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import TRIGRAM
from hermes_store.engines.sqlite.side_word_index import SideIndex, may_be_unlisted
from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf, analyse
from hermes_store.search.snippets import wanted_texts

MAX_TERMS = 400
"""The most words a prefix or part may expand to; beyond that, a scan finds matches quickly."""
NATIVE_PREFIX = 3
"""The shortest prefix for which FTS5's own prefix search is fast enough."""
ALL_TEXT_SINCE = 11
"""The first schema version whose indexes include tool names and tool calls."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


@dataclass(frozen=True, slots=True)
class Cover:
    """Look-ups that together find every match of a query tree."""

    words: str | None = None
    trigram: str | None = None
    scan: bool = False
    exact: bool = True
    """Whether everything found is a match, so that no text needs to be read."""
    listed_words: bool = False
    """Whether the look-ups find only messages that the side index covers."""
    slow: bool = False
    """Whether the index must collect all matches before it returns the first."""


SCAN = Cover(scan=True, exact=False)


@dataclass(frozen=True, slots=True)
class Tier:
    """A cover, and whether parts of words match in it."""

    cover: Cover
    parts: bool


def quote(text: str) -> str:
    """Return text as an FTS5 string."""
    return '"' + text.replace('"', '""') + '"'


class Planner:
    """Plans the tiers for one query tree on one database."""

    def __init__(self, tx: Transaction, tokenize: Tokenize, index: SideIndex | None) -> None:
        self._tx = tx
        self._tokenize = tokenize
        self._index = index
        self._leaves: dict[Text, Leaf] = {}
        self._looked_up: dict[str, list[str] | None] = {}

    def leaf(self, node: Text) -> Leaf:
        """Return the analysis of a text leaf, cached."""
        if node not in self._leaves:
            self._leaves[node] = analyse(node, self._tokenize)
        return self._leaves[node]

    def first_tier(self, root: Node | None) -> Tier:
        """Return the tier of whole words; a scan covers everything and is the only tier."""
        if root is None:
            return Tier(Cover(scan=True), parts=True)
        whole = self._cover(root, parts=False)
        return Tier(whole, parts=whole.scan)

    def second_tier(self, root: Node | None, first: Tier) -> Tier | None:
        """Return the tier of parts of words; None if the first tier covers them."""
        if root is None or first.parts:
            return None
        partly = self._cover(root, parts=True)
        # The same look-ups form another tier if the test of their text now accepts parts of words.
        tested = not partly.exact and any(
            self.leaf(text).kind is Kind.WORDS for text in wanted_texts(root)
        )
        return Tier(partly, parts=True) if tested or partly != first.cover else None

    def _cover(self, node: Node, *, parts: bool) -> Cover:
        match node:
            case Text():
                return self._leaf_cover(self.leaf(node), parts=parts)
            case And():
                return self._both(node.parts, parts=parts)
            case Or():
                return _either([self._cover(part, parts=parts) for part in node.parts])
            case Not() | Field():
                return SCAN

    # -- combinations ----------------------------------------------------------------------

    def _both(self, nodes: Sequence[Node], *, parts: bool) -> Cover:
        wanted = [self._cover(n, parts=parts) for n in nodes if not isinstance(n, Not | Field)]
        unwanted = [node.part for node in nodes if isinstance(node, Not)]
        usable = [cover for cover in wanted if not cover.scan]
        exact = len(usable) == len(nodes) - len(unwanted)
        trigrams = [cover for cover in usable if cover.trigram and not cover.words]
        if trigrams:
            joined = _all("trigram", trigrams)
            alone = len(trigrams) == len(usable) and exact and not unwanted
            return replace(joined, exact=joined.exact and alone)
        lookups = [cover for cover in usable if cover.words and not cover.trigram]
        if not lookups:
            # Only alternatives across both indexes remain; any one of them covers all.
            return replace(usable[0], exact=False) if usable else SCAN
        joined = _all("words", lookups)
        exact = exact and joined.exact and len(lookups) == len(usable)
        return self._without(joined, unwanted, exact)

    def _without(self, cover: Cover, unwanted: Sequence[Node], exact: bool) -> Cover:
        """Exclude what must not match from a word look-up, as far as the index can tell."""
        banned: list[str] = []
        for node in unwanted:
            if isinstance(node, Text) and self.leaf(node).kind is Kind.WORDS:
                found = self._words(self.leaf(node))
                if found.words and found.exact and not found.listed_words:
                    banned.append(found.words)
                    continue
            exact = False
        if banned:
            cover = replace(cover, words=f"({cover.words}) NOT ({' OR '.join(banned)})")
        return replace(cover, exact=exact)

    # -- leaves ----------------------------------------------------------------------------

    def _leaf_cover(self, leaf: Leaf, *, parts: bool) -> Cover:
        caps = self._tx.caps
        if leaf.kind is Kind.SIGNS:
            return SCAN
        if leaf.kind is Kind.CJK:
            # An inline index ends at NUL, where multimodal content begins: scan for those too.
            return SCAN if parts and caps.trigram is FullText.INLINE else self._cjk(leaf)
        if caps.words is FullText.NONE or caps.version < ALL_TEXT_SINCE:
            return SCAN
        whole = self._words(leaf)
        return _either([whole, self._parts(leaf)]) if parts else whole

    def _words(self, leaf: Leaf) -> Cover:
        """Cover the leaf's words as a phrase."""
        phrase = quote(" ".join(leaf.tokens))
        exact = leaf.kind is Kind.WORDS
        if not leaf.prefix or leaf.kind is not Kind.WORDS:
            return Cover(words=phrase, exact=exact)
        listed = self._index is not None and not may_be_unlisted(leaf.tokens[0])
        if len(leaf.tokens) == 1 and self._index is not None and listed:
            found = self._index.starting_with(leaf.tokens[0], MAX_TERMS + 1)
            if found is not None and len(found) <= MAX_TERMS:
                return _any_of([leaf.tokens[0], *found], exact=True)
        if len(leaf.tokens[-1]) >= NATIVE_PREFIX:
            return Cover(words=f"{phrase} *", slow=True)
        return SCAN

    def _cjk(self, leaf: Leaf) -> Cover:
        """Cover text that contains Chinese, Japanese or Korean, by trigrams."""
        if self._tx.caps.trigram not in (FullText.EXTERNAL, FullText.INLINE):
            return SCAN
        needle = leaf.needle
        if self._tx.caps.version < ALL_TEXT_SINCE or _ESCAPED.search(needle):
            return SCAN  # escaped in the index if the content is multimodal
        if len(needle) >= 3:
            return Cover(trigram=quote(needle))
        if needle not in self._looked_up:
            self._looked_up[needle] = self._trigrams(needle)
        grams = self._looked_up[needle]
        if grams is None:
            return SCAN
        if not grams:
            return Cover(trigram=quote("\ufffe\ufffe\ufffe"))  # a noncharacter: no match
        return Cover(trigram=" OR ".join(quote(gram) for gram in grams))

    def _trigrams(self, start: str) -> list[str] | None:
        """Return the trigrams that start with one or two characters; None if too many.

        Every character of an indexed text starts a trigram, because the text ends in spaces.
        """
        con = self._tx.connection
        con.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.trigram_terms "
            f"USING fts5vocab('main', '{TRIGRAM}', 'row')"
        )
        rows = self._tx.rows(
            "SELECT term FROM temp.trigram_terms WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + "\U0010ffff", 4 * MAX_TERMS + 1),
        )
        found = [str(term) for (term,) in rows]
        return found if len(found) <= 4 * MAX_TERMS else None

    def _parts(self, leaf: Leaf) -> Cover:
        """Cover messages that contain the leaf literally, even inside words."""
        if self._index is None or self._tx.caps.words is FullText.COLUMNS:
            return SCAN
        opens, closes = self._edges(leaf)
        if len(leaf.tokens) == 1:
            return self._inside_word(leaf, opens, closes)
        return self._across_words(leaf, opens, closes)

    def _edges(self, leaf: Leaf) -> tuple[bool, bool]:
        """Tell whether the leaf may start and end in the middle of a word."""
        first, last = leaf.needle[0], leaf.needle[-1]
        # A combining accent alone is not a word, but words continue across it.
        opens, closes = (len(self._tokenize(f"x{edge}x")) == 1 for edge in (first, last))
        return opens, closes

    def _inside_word(self, leaf: Leaf, opens: bool, closes: bool) -> Cover:
        token = leaf.tokens[0]
        if len(token) < 3:
            return SCAN
        found = self._matching(token, opens, closes)
        if found is None:
            return SCAN
        # Indexed words have no diacritics; a needle with some must be checked on the text.
        exact = leaf.kind is Kind.WORDS and leaf.needle == token
        return _any_of([token, *found], exact=exact)

    def _across_words(self, leaf: Leaf, opens: bool, closes: bool) -> Cover:
        """Cover several words, of which the outer two may be parts of longer words."""
        first, *middle, last = leaf.tokens
        endings = self._matching(last, False, closes) if closes else [last]
        if endings is not None and (middle or len(last) >= 3):
            phrases = [" ".join([*middle, ending]) for ending in {last, *endings}]
            return _any_of(phrases, exact=False)
        if middle:
            return Cover(words=quote(" ".join(middle)), exact=False)
        beginnings = self._matching(first, opens, False) if len(first) >= 3 else None
        if beginnings is None:
            return SCAN
        return _any_of([first, *beginnings], exact=False)

    def _matching(self, token: str, opens: bool, closes: bool) -> list[str] | None:
        """Return the words that contain, start or end with a token; None if too many."""
        assert self._index is not None
        if not opens and not closes:
            return [token]
        if may_be_unlisted(token):
            return None
        if not opens:
            found = self._index.starting_with(token, MAX_TERMS + 1)
        else:
            if len(token) < 3:
                return None
            found = self._index.containing(token, MAX_TERMS + 1)
        if found is None or len(found) > MAX_TERMS:
            return None
        return found if closes else [term for term in found if term.endswith(token)]


def _any_of(phrases: Sequence[str], *, exact: bool) -> Cover:
    expression = " OR ".join(quote(phrase) for phrase in dict.fromkeys(phrases))
    return Cover(words=expression, exact=exact, listed_words=True)


def _either(covers: Sequence[Cover]) -> Cover:
    """Combine covers with OR."""
    if any(cover.scan for cover in covers):
        return SCAN
    words = [f"({cover.words})" for cover in covers if cover.words]
    trigrams = [f"({cover.trigram})" for cover in covers if cover.trigram]
    return Cover(
        words=" OR ".join(words) or None,
        trigram=" OR ".join(trigrams) or None,
        exact=all(cover.exact for cover in covers),
        listed_words=any(cover.listed_words for cover in covers),
        slow=any(cover.slow for cover in covers),
    )


def _all(table: str, covers: Sequence[Cover]) -> Cover:
    """Combine covers of the same index with AND."""
    expression = " AND ".join(f"({getattr(cover, table)})" for cover in covers)
    joined = Cover(
        exact=all(cover.exact for cover in covers),
        listed_words=any(cover.listed_words for cover in covers),
        slow=any(cover.slow for cover in covers),
    )
    if table == "words":
        return replace(joined, words=expression)
    return replace(joined, trigram=expression)
