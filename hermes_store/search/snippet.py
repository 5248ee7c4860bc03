"""Excerpts: a stretch of a message around its first match, and where the matches are in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermes_store.search.query import And, Node, Or, Text
from hermes_store.search.terms import Kind, Leaf

WORDS = 40
"""Words in an excerpt, half of them before the match."""
MAX_CHARACTERS = 400
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """An excerpt with the places of its matches."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, start: str, end: str) -> str:
        """Return the text with every match between two marks."""
        pieces, place = [], 0
        for first, last in self.marks:
            pieces += [self.text[place:first], start, self.text[first:last], end]
            place = last
        return "".join([*pieces, self.text[place:]])


def wanted_texts(node: Node | None) -> tuple[Text, ...]:
    """Return the text leaves that a match contains: those that are not negated."""
    match node:
        case Text():
            return (node,)
        case And() | Or():
            return tuple(text for part in node.parts for text in wanted_texts(part))
        case _:
            return ()


class Highlighter:
    """Finds the matches of some leaves in texts."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        leaves = tuple(leaves)
        whole = [_whole_words(leaf) for leaf in leaves if leaf.kind is Kind.WORDS]
        parts = [re.escape(leaf.node.value) for leaf in leaves if leaf.node.value]
        # Whole words are what a reader looks for; parts are marked where there are none.
        self._patterns = tuple(
            re.compile("|".join(pattern), re.IGNORECASE)
            for pattern in (whole + _literals(leaves), parts)
            if pattern
        )

    def spans(self, text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """Return where matches begin and end between two places of a text."""
        stop = len(text) if end is None else end
        for pattern in self._patterns:
            found = [m.span() for m in pattern.finditer(text, start, stop) if m.end() > m.start()]
            if found:
                return found
        return []

    def first(self, text: str) -> int | None:
        """Return where the first match begins."""
        for pattern in self._patterns:
            found = pattern.search(text)
            if found is not None:
                return found.start()
        return None


def _literals(leaves: Sequence[Leaf]) -> list[str]:
    return [re.escape(leaf.node.value) for leaf in leaves if leaf.kind is not Kind.WORDS]


def _whole_words(leaf: Leaf) -> str:
    """Return a pattern for the leaf's words in a row, whatever stands between them."""
    parts = re.findall(r"[^\W_]+", leaf.node.value) or [leaf.node.value]
    joined = r"[\W_]+".join(re.escape(part) for part in parts)
    ending = r"[^\W_]*" if leaf.prefix else r"(?![^\W_])"
    return rf"(?<![^\W_]){joined}{ending}"


def excerpt(text: str, highlighter: Highlighter) -> Snippet:
    """Return the stretch of a text around its first match; all of it if it is short."""
    position = highlighter.first(text)
    start, end = _window(text, position or 0)
    cut_before, cut_after = start > 0, end < len(text)
    lead = "..." if cut_before else ""
    shown = lead + text[start:end] + ("..." if cut_after else "")
    shift = len(lead) - start
    marks = tuple(
        (first + shift, last + shift) for first, last in highlighter.spans(text, start, end)
    )
    return Snippet(shown, marks)


def _window(text: str, position: int) -> tuple[int, int]:
    """Return a stretch of about forty words with a position in its middle."""
    before = text[max(0, position - 4 * MAX_CHARACTERS) : position]
    offset = position - len(before)
    earlier = [match.start() + offset for match in _WORD.finditer(before)]
    later = []
    for match in _WORD.finditer(text, position):
        later.append(match.end())
        if len(later) > WORDS:
            break
    if len(earlier) + len(later) <= WORDS and len(earlier) < WORDS // 2:
        return 0, min(len(text), position + 4 * MAX_CHARACTERS)
    back = min(len(earlier), max(WORDS // 2 - 1, WORDS - len(later)))
    start = earlier[-back] if back else position
    if back == len(earlier) and offset == 0:
        start = 0
    ahead = later[: WORDS - back]
    end = ahead[-1] if ahead else position
    if len(later) <= WORDS - back:
        end = len(text)
    return max(start, position - MAX_CHARACTERS), min(end, position + MAX_CHARACTERS)
