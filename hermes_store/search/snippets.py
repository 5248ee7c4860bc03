"""Excerpts: the part of a message around its first match, with the spans of all matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from hermes_store.records.search import Snippet
from hermes_store.search.query_tree import And, Node, Or, Text
from hermes_store.search.query_words import Kind, Leaf, fold_in_place

WORDS = 40
"""The number of words in an excerpt, half of them before the match."""
MAX_CHARACTERS = 400
_WORD = re.compile(r"[^\W_]+")

Finder = Callable[[str], Iterator[tuple[int, int]]]


def wanted_texts(node: Node | None) -> tuple[Text, ...]:
    """Return the text leaves that a match can contain: those that are not negated."""
    match node:
        case Text():
            return (node,)
        case And() | Or():
            return tuple(text for part in node.parts for text in wanted_texts(part))
        case _:
            return ()


class Highlighter:
    """Finds the matches of some leaves in a text: whole words, or else parts of words."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        leaves = tuple(leaf for leaf in leaves if leaf.node.value)
        self._whole = tuple(_finder(leaf) for leaf in leaves)
        self._parts = tuple(_literal(leaf.needle) for leaf in leaves)

    def spans(self, text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """Return the spans of matches between two places of a text, without overlaps."""
        stretch = fold_in_place(text[start:end])
        for finders in (self._whole, self._parts):
            found = sorted(span for finder in finders for span in finder(stretch))
            if found:
                return [(first + start, last + start) for first, last in _apart(found)]
        return []

    def first(self, text: str) -> int | None:
        """Return the start of the first match."""
        folded = fold_in_place(text)
        for finders in (self._whole, self._parts):
            starts = [span[0] for finder in finders if (span := next(finder(folded), None))]
            if starts:
                return min(starts)
        return None


def _apart(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sorted spans without those that overlap an earlier one."""
    reached = -1
    for first, last in spans:
        if first >= reached:
            reached = last
            yield first, last


def _finder(leaf: Leaf) -> Finder:
    """Return a finder for a leaf's whole words, or for the leaf itself if it is not a word."""
    if leaf.kind is not Kind.WORDS:
        return _literal(leaf.needle)
    words = _WORD.findall(leaf.needle)
    if len(words) == 1 and words[0] == leaf.needle:
        return _single_word(leaf.needle, leaf.prefix)
    joined = r"[\W_]+".join(re.escape(word) for word in words)
    ending = r"[^\W_]*" if leaf.prefix else r"(?![^\W_])"
    pattern = re.compile(rf"(?<![^\W_]){joined}{ending}")
    return lambda folded: (match.span() for match in pattern.finditer(folded))


def _literal(needle: str) -> Finder:
    def find(folded: str) -> Iterator[tuple[int, int]]:
        place = folded.find(needle)
        while place >= 0:
            yield place, place + len(needle)
            place = folded.find(needle, place + len(needle))

    return find


def _single_word(word: str, prefix: bool) -> Finder:
    """Return a finder for one word; much faster than a pattern, and most queries are words."""

    def find(folded: str) -> Iterator[tuple[int, int]]:
        for first, last in _literal(word)(folded):
            if first and folded[first - 1].isalnum():
                continue
            while prefix and last < len(folded) and folded[last].isalnum():
                last += 1
            if last == len(folded) or not folded[last].isalnum():
                yield first, last

    return find


def excerpt(text: str, highlighter: Highlighter) -> Snippet:
    """Return the part of a text around its first match, all of it if it is short."""
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
    """Return a span of about forty words with a position in its middle."""
    before = text[max(0, position - MAX_CHARACTERS) : position]
    offset = position - len(before)
    earlier = [match.start() + offset for match in _WORD.finditer(before)]
    needed = WORDS + 1 - min(len(earlier), WORDS // 2 - 1)
    later = [match.end() for match in islice(_WORD.finditer(text, position), needed)]
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
