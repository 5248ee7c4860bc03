"""Analysis of a word or phrase in a query: how an index can find it, and the exact test.

A text leaf matches a message that has its words in a row, or that contains it literally, ignoring
case. If it starts or ends with punctuation (`C#`, `50%`, `.env`), only the latter counts. The
tokenizer is FTS5's own, so both sides always agree on what a word is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize

# The side index uses this module without any query.
if TYPE_CHECKING:
    from hermes_store.search.query_tree import Text


LONGEST_SIGN = 3
"""Letters; C# or 50% are looked for as they are, because too many messages have a "c" or "50"."""


class Kind(Enum):
    """How a leaf can be found."""

    WORDS = "words"
    """In the word index."""
    LITERAL = "literal"
    """Its words narrow it down, its punctuation must be checked on the text."""
    CJK = "cjk"
    """In the trigram index."""
    SIGNS = "signs"
    """Its words, if any, are too short to narrow it down; only the text itself can tell."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text leaf with what the index and the exact test need."""

    node: Text
    kind: Kind
    tokens: tuple[str, ...]
    needle: str

    @property
    def prefix(self) -> bool:
        """Whether the last word is a prefix."""
        return self.node.prefix

    def contained_in(self, folded: str) -> bool:
        """Tell whether folded text contains the leaf literally."""
        return self.needle in folded

    def stands_in(self, tokens: Sequence[str]) -> bool:
        """Tell whether the leaf's words occur in a row in a list of words."""
        wanted = self.tokens
        if not wanted:
            return False
        first, size = wanted[0], len(wanted)
        for place, token in enumerate(tokens):
            if size == 1:
                if token == first or (self.prefix and token.startswith(first)):
                    return True
            elif token == first and self._continues(tokens, place):
                return True
        return False

    def _continues(self, tokens: Sequence[str], place: int) -> bool:
        found = tuple(tokens[place : place + len(self.tokens)])
        if found == self.tokens:
            return True
        return (
            self.prefix
            and len(found) == len(self.tokens)
            and found[:-1] == self.tokens[:-1]
            and found[-1].startswith(self.tokens[-1])
        )


def fold(text: str) -> str:
    """Return text for comparison ignoring case.

    A final sigma has its own lower case form, but counts as the same letter.
    """
    return text.lower().replace("ς", "σ")


def fold_in_place(text: str) -> str:
    """Return folded text of the same length, so that positions in both are the same.

    The one letter that becomes longer in lower case (İ) is left unchanged.
    """
    return "İ".join(map(fold, text.split("İ")))


def analyse(node: Text, tokenize: Tokenize) -> Leaf:
    """Analyze a text leaf."""
    value = node.value.replace("\0", " ")
    tokens = tuple(tokenize(value))
    if CJK.search(value):
        kind = Kind.CJK
    elif not tokens:
        kind = Kind.SIGNS
    elif _is_wordlike(value, tokenize):
        kind = Kind.WORDS
    elif max(map(len, tokens)) < LONGEST_SIGN:
        kind = Kind.SIGNS
    else:
        kind = Kind.LITERAL
    return Leaf(node, kind, tokens, fold(node.value))


def _is_wordlike(value: str, tokenize: Tokenize) -> bool:
    """Tell whether a value starts and ends with a letter or digit."""
    stripped = value.strip()
    return bool(stripped) and bool(tokenize(stripped[0])) and bool(tokenize(stripped[-1]))
