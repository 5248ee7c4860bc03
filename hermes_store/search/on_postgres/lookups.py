"""Which lexemes to look up for a query tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hermes_store.engines.base import Transaction
from hermes_store.engines.postgres.lexemes import LONGEST, fold, grams_of, quoted
from hermes_store.engines.sqlite.tokenizer import CJK
from hermes_store.records.search import Strength
from hermes_store.search.query_tree import And, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf

MAX_WORDS = 400
"""The most words to look up for a part of one; beyond that, reading finds matches sooner."""
SHORTEST_BEGINNING = 3


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tsquery that finds all matches, and perhaps more."""

    query: str
    exact: bool
    """Whether everything that is found is a match."""


NOTHING = Lookup("", True)
"""Nothing can match."""


class WordParts:
    """Finds words in the list of all words, by a part of them."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._asked: dict[tuple[str, bool], list[str] | None] = {}

    def matching(self, part: str, *, ends: bool) -> list[str] | None:
        """Return the words that contain or end with a part; None if they are too many."""
        if (part, ends) not in self._asked:
            self._asked[part, ends] = self._found(part, ends)
        return self._asked[part, ends]

    def beginning(self, part: str) -> list[str] | None:
        """Return the words that begin with a part; None if they are too many."""
        rows = self._tx.rows(
            "SELECT word FROM vocabulary WHERE word >= ?1 AND word < ?2 LIMIT ?3",
            (part, f"{part}\U0010ffff", MAX_WORDS + 1),
        )
        found = [str(word) for (word,) in rows]
        return None if len(found) > MAX_WORDS else found

    def _found(self, part: str, ends: bool) -> list[str] | None:
        pieces = pieces_of(part, ends=ends)
        test = "right(word, length(?1)) = ?1" if ends else "strpos(word, ?1) > 0"
        # Without three letters, the list is read; as a rule, too many words have two.
        indexed = "pieces(word) @> CAST(?3 AS text[]) AND " if pieces else ""
        rows = self._tx.rows(
            f"SELECT word FROM vocabulary WHERE {indexed}{test} LIMIT ?2",
            (part, MAX_WORDS + 1, *([pieces] if pieces else [])),
        )
        found = [str(word) for (word,) in rows]
        return None if len(found) > MAX_WORDS else found


def pieces_of(part: str, *, ends: bool = False) -> list[str]:
    """Return each three letters in a row of a part, as the function `pieces` of the schema does."""
    bounded = f"{part}\n" if ends else part
    return [bounded[place : place + 3] for place in range(len(bounded) - 2)]


class Lookups:
    """Finds look-ups for the trees of one query."""

    def __init__(self, tx: Transaction, leaf: Callable[[Text], Leaf]) -> None:
        self._leaf = leaf
        self._split = tx.split
        self._parts = WordParts(tx)

    def of(self, node: Node, strength: Strength) -> Lookup | None:
        """Return the look-up of a tree; None if messages must be read."""
        match node:
            case Text():
                leaf = self._leaf(node)
                if strength is Strength.PART:
                    return self._part(leaf)
                return self._whole(leaf, strength)
            case And():
                return self._all(node, strength)
            case Or():
                found = [self.of(part, strength) for part in node.parts]
                known = [each for each in found if each is not None]
                if len(known) < len(found):
                    return None
                queries = [f"({each.query})" for each in known if each.query]
                return Lookup(" | ".join(queries), all(each.exact for each in known))
            case _:
                return None

    def _all(self, node: And, strength: Strength) -> Lookup | None:
        wanted = [part for part in node.parts if not isinstance(part, Not)]
        found = [self.of(part, strength) for part in wanted]
        known = [each for each in found if each is not None]
        if NOTHING in known:
            return NOTHING
        if not known:
            return None
        queries = [f"({each.query})" for each in known]
        exact = len(known) == len(wanted) and all(each.exact for each in known)
        for part in node.parts:
            if isinstance(part, Not):
                banned = self._banned(part)
                exact = exact and banned is not None
                queries += [f"!({banned})"] if banned is not None else []
        return Lookup(" & ".join(queries), exact)

    def _banned(self, node: Not) -> str | None:
        """Return what must not be there, if the index alone can tell."""
        if not isinstance(node.part, Text):
            return None
        found = self._whole(self._leaf(node.part), Strength.ROW)
        is_word = self._leaf(node.part).kind is Kind.WORDS
        return found.query if found is not None and found.exact and is_word else None

    def _whole(self, leaf: Leaf, strength: Strength) -> Lookup | None:
        if leaf.kind is Kind.SIGNS:
            return None
        if leaf.kind is Kind.CJK:
            return _characters(leaf)
        tokens = leaf.tokens
        short = leaf.prefix and len(tokens) == 1 and len(tokens[0]) < SHORTEST_BEGINNING
        if short:
            return None  # many messages have one, and the newest are found sooner by reading
        lexemes = [quoted(token[:LONGEST]) for token in tokens]
        if leaf.prefix:
            lexemes[-1] += ":*"
        cut = any(len(token) > LONGEST for token in tokens)
        exact = leaf.kind is Kind.WORDS and len(tokens) == 1 and not cut
        return Lookup(" & ".join(dict.fromkeys(lexemes)), exact)

    def _part(self, leaf: Leaf) -> Lookup | None:
        """Look up the words that contain a leaf, or its edges if it is more than one word."""
        if leaf.kind is Kind.CJK:
            return _characters(leaf)
        tokens = [token[:LONGEST] for token in leaf.tokens]
        if not tokens or any(len(token) >= LONGEST for token in tokens):
            return None
        # A combining accent alone is not a word, but words continue across it.
        opens, closes = (len(self._split(f"x{edge}x")) == 1 for edge in _edges(leaf))
        if len(tokens) == 1:
            found = self._words(tokens[0], starts=not opens, ends=not closes)
            if not found:
                return NOTHING if found == "" else None
            return Lookup(found, exact=leaf.kind is Kind.WORDS and leaf.needle == tokens[0])
        groups = [
            *map(quoted, tokens[1:-1]),
            self._words(tokens[0], starts=not opens, ends=True),
            self._words(tokens[-1], starts=True, ends=not closes),
        ]
        if "" in groups:
            return NOTHING
        queries = [f"({group})" for group in groups if group is not None]
        return Lookup(" & ".join(queries), exact=False) if queries else None

    def _words(self, part: str, *, starts: bool, ends: bool) -> str | None:
        """Return a tsquery for words with a part; "" if there are none, None if too many."""
        if starts and ends:
            return quoted(part)
        if starts and len(part) >= SHORTEST_BEGINNING:
            return f"{quoted(part)}:*"
        found = self._parts.beginning(part) if starts else self._parts.matching(part, ends=ends)
        return None if found is None else " | ".join(map(quoted, found))


def _edges(leaf: Leaf) -> tuple[str, str]:
    return leaf.needle[0], leaf.needle[-1]


def _characters(leaf: Leaf) -> Lookup | None:
    """Look up Chinese, Japanese or Korean characters, in pairs where there are two in a row."""
    needle = fold(leaf.node.value)
    grams = grams_of(needle)
    pairs = {gram for gram in grams if len(gram) == 2}
    alone = {gram for gram in grams if len(gram) == 1 and not any(gram in pair for pair in pairs)}
    chosen = sorted(pairs | alone)
    if not chosen:
        return None
    exact = len(needle) <= 2 and all(CJK.match(letter) for letter in needle)
    return Lookup(" & ".join(map(quoted, chosen)), exact)
