"""The exact test of a message text against a query tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf, fold


class Candidate:
    """A message under test; folds and tokenizes its text lazily."""

    __slots__ = ("_folded", "_tokenize", "_tokens", "fields", "text")

    def __init__(self, text: str, fields: Mapping[Field, bool], tokenize: Tokenize) -> None:
        self.text = text
        self.fields = fields
        self._tokenize = tokenize
        self._folded: str | None = None
        self._tokens: Sequence[str] | None = None

    @property
    def folded(self) -> str:
        """The text folded for comparison."""
        if self._folded is None:
            self._folded = fold(self.text)
        return self._folded

    @property
    def tokens(self) -> Sequence[str]:
        """The words of the text, as FTS5 splits it."""
        if self._tokens is None:
            self._tokens = self._tokenize(self.text)
        return self._tokens


def satisfies(
    node: Node, candidate: Candidate, leaf_of: Callable[[Text], Leaf], *, parts: bool
) -> bool:
    """Tell whether a candidate matches a tree; with `parts`, parts of words match too."""
    match node:
        case Text():
            return _leaf_matches(leaf_of(node), candidate, parts=parts)
        case And():
            return all(satisfies(part, candidate, leaf_of, parts=parts) for part in node.parts)
        case Or():
            return any(satisfies(part, candidate, leaf_of, parts=parts) for part in node.parts)
        case Not():
            # As in FTS5, "NOT java" keeps JavaScript: only whole words are excluded.
            return not satisfies(node.part, candidate, leaf_of, parts=False)
        case Field():
            return candidate.fields[node]


def _leaf_matches(leaf: Leaf, candidate: Candidate, *, parts: bool) -> bool:
    contained = leaf.contained_in(candidate.folded)
    if leaf.kind is not Kind.WORDS:
        return contained
    if parts and contained:
        return True
    if not contained and leaf.tokens == (leaf.needle,) and candidate.folded.isascii():
        return False  # a plain word that is not in the text is not one of its words
    return leaf.stands_in(candidate.tokens)
