"""How relevant a message is: by how often it has the words, and by who said it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hermes_store.search.on_postgres.text_tests import Texts
from hermes_store.search.query_words import Kind, Leaf, fold
from hermes_store.search.weights import MACHINE, MACHINES, TOOL


def weight(role: Any, source: Any) -> float:
    """Return how much what somebody said counts."""
    said = 1.0 if role in ("user", "assistant") else TOOL
    return said * (MACHINE if source in MACHINES else 1.0)


def density(leaves: Sequence[Leaf], texts: Texts) -> float:
    """Score a message by its number of occurrences, lower for long messages."""
    words = texts.words
    occurrences = sum(_occurrences(leaf, words, texts) for leaf in leaves)
    return occurrences / (occurrences + 1.2 + len(words) / 150)


def _occurrences(leaf: Leaf, words: Sequence[str], texts: Texts) -> int:
    if leaf.kind is Kind.CJK or not leaf.tokens:
        return sum(text.count(fold(leaf.node.value)) for text in texts.folded)
    size = len(leaf.tokens)
    places = (place for place, word in enumerate(words) if word.startswith(leaf.tokens[0]))
    return sum(leaf.stands_in(words[place : place + size]) for place in places)
