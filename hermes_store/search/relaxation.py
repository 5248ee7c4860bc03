"""Relaxing a query that found nothing, in visible steps.

First punctuation is ignored, then other word forms match, then words with a typo, then the rarest
word is left out. Each step explains itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hermes_store.engines.sqlite.side_word_index import SideIndex
from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize
from hermes_store.records.search import Relaxation, Span
from hermes_store.search.plan import quote
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.snippets import wanted_texts

_ENDINGS = (
    "ations", "ation", "ments", "ment", "ingly", "ings", "ing", "edly", "ers", "er", "ies",
    "ied", "ed", "es", "s", "ly", "e", "y",
)  # fmt: skip
MIN_STEM = 3
MAX_ALTERNATIVES = 4
CANDIDATES = 2_000


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A wider query tree and the step that led to it."""

    root: Node
    step: Relaxation


def ladder(
    root: Node,
    tokenize: Tokenize,
    index: SideIndex | None,
    frequency: Callable[[str], int],
) -> Iterator[Relaxed]:
    """Yield ever wider trees. `frequency` returns how many messages have a word."""
    plain = without_signs(root, tokenize)
    if plain is not None:
        alone = Relaxation("signs", "No match with this punctuation; showing the words alone.")
        yield Relaxed(plain, alone)
        root = plain
    forms = _map_texts(root, _any_form)
    if forms is not None and forms != root:
        other = Relaxation("forms", "No exact match; showing other forms of the words.")
        yield Relaxed(forms, other)
    if index is not None:
        spelled = _spelled(root, index, frequency)
        if spelled is not None:
            yield spelled
            root = spelled.root
    yield from _fewer(root, frequency)


def without_signs(root: Node, tokenize: Tokenize) -> Node | None:
    """Return a tree that ignores punctuation around words; None if there is none to ignore."""
    plain = _map_texts(root, lambda text: _without_signs(text, tokenize))
    return None if plain == root else plain


def _map_texts(node: Node, change: Callable[[Text], Node | None]) -> Node | None:
    match node:
        case Text():
            return change(node)
        case And() | Or():
            parts = tuple(p for each in node.parts if (p := _map_texts(each, change)) is not None)
            return replace(node, parts=parts) if parts else None
        case _:
            return node


def _without_signs(text: Text, tokenize: Tokenize) -> Node | None:
    if CJK.search(text.value):
        return text
    tokens = tokenize(text.value)
    words = " ".join(tokens)
    if not words:
        return None
    folded = text.value.lower()
    return (
        text
        if folded[:1] == words[:1] and folded[-1:] == words[-1:]
        else replace(text, value=words)
    )


def _any_form(text: Text) -> Node:
    """Replace a word with its stem as a prefix."""
    value = text.value
    if text.quoted or not value.isascii() or not value.isalpha():
        return text
    for ending in _ENDINGS:
        stem = value[: -len(ending)]
        if value.lower().endswith(ending) and len(stem) >= MIN_STEM:
            return replace(text, value=stem, prefix=True)
    return replace(text, prefix=True) if len(value) >= MIN_STEM else text


def _spelled(root: Node, index: SideIndex, frequency: Callable[[str], int]) -> Relaxed | None:
    """Replace words that no message has with similar ones."""
    changed: list[str] = []

    def mend(text: Text) -> Node:
        word = text.value.lower()
        if text.quoted or len(word) < 4 or not word.isalnum() or frequency(word):
            return text
        near = _near(word, index)
        if not near:
            return text
        changed.append(f"'{near[0]}' for '{text.value}'")
        parts = tuple(replace(text, value=term) for term in near)
        return parts[0] if len(parts) == 1 else Or(parts, text.span)

    mended = _map_texts(root, mend)
    if mended is None or not changed:
        return None
    explanation = f"No exact match; showing {', '.join(changed)}."
    return Relaxed(mended, Relaxation("typos", explanation))


def _near(word: str, index: SideIndex) -> list[str]:
    allowed = 1 if len(word) < 8 else 2
    scored = sorted(
        (distance, term)
        for term in index.sharing_letters(word, CANDIDATES)
        if (distance := edit_distance(word, term, allowed)) <= allowed
    )
    return [term for _, term in scored[:MAX_ALTERNATIVES]]


def edit_distance(one: str, other: str, limit: int) -> int:
    """Return how many letters must be changed, added, dropped or swapped; limit + 1 if more."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    older: list[int] = []
    previous = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        current = [row]
        for column, right in enumerate(other, 1):
            cost = min(
                previous[column] + 1,
                current[-1] + 1,
                previous[column - 1] + (left != right),
            )
            swapped = row > 1 and column > 1 and left == other[column - 2] and one[row - 2] == right
            if swapped:
                cost = min(cost, older[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        older, previous = previous, current
    return min(previous[-1], limit + 1)


def _fewer(root: Node, frequency: Callable[[str], int]) -> Iterator[Relaxed]:
    """Leave out the rarest word repeatedly, down to one word."""
    if not isinstance(root, And):
        return
    parts = list(root.parts)
    words = [part for part in parts if not isinstance(part, Not | Field)]
    total = len(words)
    while len(words) > 1:
        rarest = min(words, key=lambda part: _part_frequency(part, frequency))
        words.remove(rarest)
        parts.remove(rarest)
        left = parts[0] if len(parts) == 1 else And(tuple(parts), Span(0, root.span.end))
        explanation = f"No match has all {total} words; showing {len(words)} of {total}."
        yield Relaxed(left, Relaxation("fewer words", explanation))


def _part_frequency(part: Node, frequency: Callable[[str], int]) -> int:
    return max((frequency(text.value) for text in wanted_texts(part)), default=0)


def expression(word: str) -> str:
    """Return the FTS5 expression for counting a word."""
    return quote(word.replace("\0", " "))
