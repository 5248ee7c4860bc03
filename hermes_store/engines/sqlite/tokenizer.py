"""Splits text into words exactly as the word index does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import apsw

Tokenize = Callable[[str], Sequence[str]]


# As in the trigram index: Jamo, radicals to ideographs with kana, Hangul, compatibility forms.
CJK = re.compile("[ᄀ-ᇿ⺀-鿿ꥠ-꥿가-퟿豈-﫿＀-￯\U00020000-\U0003fffd]")


def tokenizer(con: apsw.Connection) -> Tokenize:
    """Return a function that splits text into words exactly as the word index does."""
    split = con.fts5_tokenizer("unicode61", [])

    def tokenize(text: str) -> Sequence[str]:
        found: Sequence[str] = split(  # type: ignore[assignment]
            text.encode("utf-8", "replace"),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        )
        return found

    return tokenize
