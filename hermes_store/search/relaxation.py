"""Relaxing a query that found nothing, in visible steps.

First punctuation is ignored, then other word forms match, then words with a typo, then words are
left out, the rarest first. Each step explains itself: it names every word that it replaced or left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize
from hermes_store.records.safe_text import shorten
from hermes_store.records.search import Relaxation, Span
from hermes_store.search.matcher import Vocabulary
from hermes_store.search.query_language import FIELDS
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.snippets import wanted_texts

_ENDINGS = (
    "ations", "ation", "ments", "ment", "ingly", "ings", "ing", "edly", "ers", "er", "ies",
    "ied", "ed", "es", "s", "ly", "e", "y",
)  # fmt: skip
MIN_STEM = 3
MIN_MISSPELLED = 4
MAX_ALTERNATIVES = 3
CANDIDATES = 2_000
COUNTED = 20
"""The most similar words to count the messages of."""
HARDLY_EVER = 5
"""A word in no more messages than this may be a typo that somebody made before."""
ONE_LEFT_OUT = 6
"""The most words to leave out one at a time, before leaving out several."""

Frequency = Callable[[str], int]
"""Returns how many messages have a word, perhaps only up to a limit."""
Corrections = dict[Text, str]
"""What is shown for each misspelled word, in words."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A wider query tree and the step that led to it."""

    root: Node
    step: Relaxation
    certain: bool = True
    """Whether wider trees may build on it; not if it replaced a word that some messages have."""


def ladder(
    root: Node,
    tokenize: Tokenize,
    index: Vocabulary | None,
    frequency: Frequency,
) -> Iterator[Relaxed]:
    """Yield ever wider trees. `frequency` returns how many messages have a word."""
    frequency = cache(frequency)
    typed = {text.span: text.value for text in wanted_texts(root)}
    plain = without_signs(root, tokenize)
    if plain is not None:
        alone = Relaxation("signs", "No match with this punctuation; showing the words alone.")
        yield Relaxed(plain, alone)
        root = plain
    forms = _map_texts(root, _any_form)
    if forms is not None and forms != root:
        other = Relaxation("forms", "No exact match; showing other forms of the words.")
        yield Relaxed(forms, other)
    corrected: Corrections = {}
    if index is not None:
        speller = _Speller(tokenize, index, frequency)
        known = _map_texts(root, speller.mended) or root
        corrected = dict(speller.corrected)
        if corrected:
            yield Relaxed(known, speller.step())
        speller.rarity = HARDLY_EVER
        guessed = _map_texts(known, speller.mended) or known
        if len(speller.corrected) > len(corrected):
            yield Relaxed(guessed, speller.step(), certain=False)
        root = known if corrected else root
    yield from _fewer(root, frequency, typed, corrected)


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
    words = " ".join(tokenize(text.value))
    if not words:
        return None
    is_plain = tokenize(text.value[0]) and tokenize(text.value[-1])
    return text if is_plain else replace(text, value=words)


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


def _enumerated(names: Iterable[str], word: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} {word} {last}" if others else last


def _quoted(value: str) -> str:
    return f"'{shorten(value, 40)}'"


# -- typos -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Speller:
    """Replaces words that are in hardly any message with similar ones that are in more."""

    tokenize: Tokenize
    index: Vocabulary
    frequency: Frequency
    rarity: int = 0
    """The number of messages that a word with a typo is in at most."""
    corrected: Corrections = field(default_factory=dict)
    _written: set[Text] = field(default_factory=set)

    def step(self) -> Relaxation:
        """Return the step that names all corrections so far."""
        shown = _enumerated(self.corrected.values())
        return Relaxation("typos", f"No exact match; showing {shown}.")

    def mended(self, text: Text) -> Node:
        """Return a word as it was probably meant, or the word itself.

        A word that no message has may be the beginning of one.
        """
        tokens = self.tokenize(text.value)
        if text.quoted or CJK.search(text.value) or not text.value.isalnum() or len(tokens) != 1:
            return text
        if text in self._written:
            return text
        (word,) = tokens
        seen = self.frequency(word)
        if len(word) < MIN_MISSPELLED or word.isdigit() or seen > self.rarity:
            return text
        near, longer = self._near(word)
        if any(word in term for term in near):
            near = []  # it is not misspelled, only incomplete
        if near:
            meant = _enumerated(map(_quoted, near), "or")
            self.corrected[text] = f"{meant} for {_quoted(text.value)}"
            # What some messages have, even as a part of a word, may be meant after all.
            parts = (*((text,) if seen or longer else ()), *_spelled_as(text, near))
        elif not seen:
            inside = [term for term in longer if not term.startswith(word)]
            parts = (replace(text, prefix=True), *_spelled_as(text, inside))
        else:
            return text
        self._written.update(parts)
        return parts[0] if len(parts) == 1 else Or(parts, text.span)

    def _near(self, word: str) -> tuple[list[str], list[str]]:
        """Return the most similar words, and those that have this one inside."""
        allowed = 1 if len(word) < 8 else 2
        similar: list[list[str]] = [[] for _ in range(allowed + 1)]
        terms = {*self.index.sharing_letters(word, CANDIDATES), *_swapped(word)} - {word}
        for term in sorted(terms, key=lambda term: (term[:1] != word[:1], term)):
            distance = edit_distance(word, term, allowed)
            # Another number is not a typo: 8081 is not 8080.
            if distance <= allowed and _digits(term) == _digits(word):
                similar[distance].append(term)
        longer = [term for term in terms if word in term and self.frequency(term)]
        for found in similar:
            near = [term for term in found[:COUNTED] if self.frequency(term) > self.frequency(word)]
            if near:
                near.sort(key=lambda term: -self.frequency(term))
                return near[:MAX_ALTERNATIVES], sorted(longer)[:MAX_ALTERNATIVES]
        return [], sorted(longer)[:MAX_ALTERNATIVES]


def _spelled_as(text: Text, terms: Iterable[str]) -> tuple[Text, ...]:
    return tuple(replace(text, value=term) for term in terms)


def _swapped(word: str) -> set[str]:
    """Return a word with any two neighboring letters swapped.

    Such a word need not share three letters in a row with the right one: "dokcer", "docker".
    """
    return {
        word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        for place in range(len(word) - 1)
    }


def _digits(word: str) -> str:
    return "".join(filter(str.isdigit, word))


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


# -- fewer words -------------------------------------------------------------------------------


def _fewer(
    root: Node, frequency: Frequency, typed: dict[Span, str], corrected: Corrections
) -> Iterator[Relaxed]:
    """Leave out each of the rarest words, then ever more of them, down to one word."""
    if not isinstance(root, And):
        return
    # What is in parentheses may have no words at all, only fields and signs.
    words = [
        part for part in root.parts if not isinstance(part, Not | Field) and wanted_texts(part)
    ]
    total = len(words)
    if total < 2:
        return
    rarest = sorted(words, key=lambda part: _part_frequency(part, frequency))
    choices = [[word] for word in rarest[:ONE_LEFT_OUT]]
    choices += [rarest[:number] for number in range(2, total)]
    for left_out in choices:
        gone = {id(part) for part in left_out}
        parts = tuple(part for part in root.parts if id(part) not in gone)
        left = parts[0] if len(parts) == 1 else And(parts, Span(0, root.span.end))
        spans = {text.span for text in wanted_texts(left)}
        shown = [change for text, change in corrected.items() if text.span in spans]
        missing = [_name(part, typed) for part in words if id(part) in gone]
        explanation = (
            f"No match has {'both' if total == 2 else f'all {total}'} words; "
            f"showing {_enumerated(shown) if shown else 'results'} without {_enumerated(missing)}."
        )
        yield Relaxed(left, Relaxation("fewer words", explanation))


def _name(part: Node, typed: dict[Span, str]) -> str:
    """Return a part of the query as the user typed it."""
    texts = wanted_texts(part)
    return _enumerated((_quoted(typed.get(text.span, text.value)) for text in texts), "or")


def _part_frequency(part: Node, frequency: Frequency) -> int:
    return max((frequency(text.value) for text in wanted_texts(part)), default=0)


_FIELD_START = re.compile(r"(?:^|(?<=\s))-?([a-z]{2,})$")


def without_field_start(text: str) -> str | None:
    """Return a text without the beginning of a field's name at its end; None if it has none.

    Somebody who types "docker sour" may be about to type "docker source:telegram".
    """
    found = _FIELD_START.search(text) if text.count('"') % 2 == 0 else None
    if found is None or not any(name.startswith(found[1]) for name in FIELDS):
        return None
    return text[: found.start()]
