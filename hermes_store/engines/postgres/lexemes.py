"""What the index holds of a message: its words, Chinese characters and pairs of them, its block.

A block is a range of ids. Asking for the words of the newest blocks only costs the same for common,
rare and absent words, whatever the planner thinks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from hermes_store.engines.postgres.transaction import split_words
from hermes_store.engines.sqlite.tokenizer import CJK

BLOCK_BITS = 10
"""1,024 messages are a block."""
LONGEST = 500
"""Characters; of a longer word, the index has the beginning. PostgreSQL's limit is 2,046 bytes."""
LONG = "#long"
"""What a message with such a word has, which is read in every search for a part of a word."""
MOST_BYTES = 900_000
"""PostgreSQL's limit is 1 MiB; a message with more words than that is read in every search."""
BIG = "#big"

_CJK_RUN = re.compile(f"(?:{CJK.pattern})+")


def fold(text: str) -> str:
    """Return text for comparison ignoring case; a final sigma counts as the same letter."""
    return text.lower().replace("ς", "σ")


def block_of(message_id: int) -> str:
    """Return the lexeme that all messages of a block have."""
    return f"#{message_id >> BLOCK_BITS}"


def words_of(text: str) -> set[str]:
    """Return the words of a text, long ones cut."""
    words = set(split_words()(text))
    long = {word for word in words if len(word) > LONGEST}
    if not long:
        return words
    return (words - long) | {word[:LONGEST] for word in long} | {LONG}


def grams_of(text: str) -> set[str]:
    """Return the Chinese, Japanese or Korean characters of a text, and all pairs of neighbors."""
    found: set[str] = set()
    for run in _CJK_RUN.findall(fold(text)):
        found.update(run)
        found.update(map("".join, pairwise(run)))
    return found


def of_message(message_id: int, words: set[str], grams: set[str]) -> list[str]:
    """Return the lexemes of a message."""
    found = words | grams
    if sum(len(word.encode()) + 1 for word in found) > MOST_BYTES:
        found = {BIG}
    return [*found, block_of(message_id)]


def quoted(lexeme: str) -> str:
    """Return a lexeme as it is written in a tsvector or a tsquery."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def vector(lexemes: Iterable[str]) -> str:
    """Return the text of a tsvector; the server refuses one that is too large."""
    return " ".join(map(quoted, lexemes))
