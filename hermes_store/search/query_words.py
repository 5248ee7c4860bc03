"""A word or phrase of a query, taken apart: how an index can look for it, and the exact test.

A text leaf matches a message when its words stand there in a row, or when the message contains
it letter for letter, case aside. Where it begins or ends with a sign (`C#`, `50%`, `.env`) only
the latter counts. The tokenizer is FTS5's own, so both sides always agree on what a word is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize

# The list of words is kept without any query.
if TYPE_CHECKING:
    from hermes_store.search.query_tree import Text


class Kind(Enum):
    """How a leaf can be looked for."""

    WORDS = "words"
    """In the word index."""
    LITERAL = "literal"
    """Its words narrow it down, its signs must be checked on the text."""
    CJK = "cjk"
    """In the trigram index."""
    SIGNS = "signs"
    """It has no letter or digit that any index knows; only the text itself can tell."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text leaf with what an index and the exact test need to know."""

    node: Text
    kind: Kind
    tokens: tuple[str, ...]
    needle: str

    @property
    def prefix(self) -> bool:
        """Whether the last word may go on."""
        return self.node.prefix

    def contained_in(self, folded: str) -> bool:
        """Tell whether folded text contains the leaf letter for letter."""
        return self.needle in folded

    def stands_in(self, tokens: Sequence[str]) -> bool:
        """Tell whether the leaf's words follow each other in a list of words."""
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
    """Return text for comparing without regard to case.

    A sigma at the end of a word has a lower case of its own; it is the same letter all the same.
    """
    return text.lower().replace("ς", "σ")


def fold_in_place(text: str) -> str:
    """Return folded text of the same length, so that places in one are places in the other.

    A few letters become longer in lower case (İ); they stay as they are here.
    """
    folded = fold(text)
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := fold(char)) == 1 else char for char in text)


def analyse(node: Text, tokenize: Tokenize) -> Leaf:
    """Take a text leaf apart."""
    value = node.value.replace("\0", " ")
    tokens = tuple(tokenize(value))
    if CJK.search(value):
        kind = Kind.CJK
    elif not tokens:
        kind = Kind.SIGNS
    elif _is_wordlike(value, tokenize):
        kind = Kind.WORDS
    else:
        kind = Kind.LITERAL
    return Leaf(node, kind, tokens, fold(node.value))


def _is_wordlike(value: str, tokenize: Tokenize) -> bool:
    """Tell whether a value begins and ends with a letter or digit."""
    stripped = value.strip()
    return bool(stripped) and bool(tokenize(stripped[0])) and bool(tokenize(stripped[-1]))
