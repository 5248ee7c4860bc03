"""Whether a message matches a query tree: exactly, on its text, and roughly, in SQL.

The server leaves out what cannot match; what it lets through is tested here, because words and
letters of other scripts are only told apart the same way everywhere by one program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hermes_store.engines.postgres.lexemes import fold
from hermes_store.engines.postgres.transaction import split_words
from hermes_store.records.search import Strength
from hermes_store.search.field_conditions import Condition
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf

COLUMNS = ("content", "tool_name", "tool_calls")
_BEYOND_ASCII = " OR ".join(f"octet_length(m.{name}) > length(m.{name})" for name in COLUMNS)
_TOGETHER = " || ' ' || ".join(f"COALESCE(m.{name}, '')" for name in COLUMNS)
"""Words in a row may begin in one column and end in the next."""
ALL = Condition("TRUE", session=False)


@dataclass(slots=True)
class Texts:
    """The texts of a message, folded and split only if that is asked for."""

    columns: Sequence[str | None]
    fields: Mapping[Field, bool] = field(default_factory=dict)
    _folded: list[str] | None = None
    _words: Sequence[str] | None = None

    @property
    def folded(self) -> list[str]:
        """The texts without differences of case."""
        if self._folded is None:
            self._folded = [fold(text) for text in self.columns if text]
        return self._folded

    @property
    def words(self) -> Sequence[str]:
        """The words of all texts in a row, as the index has them."""
        if self._words is None:
            self._words = split_words()(" ".join(text or "" for text in self.columns))
        return self._words


class Tests:
    """Tests messages against one query tree."""

    def __init__(
        self, leaf: Callable[[Text], Leaf], condition_of: Callable[[Field], Condition]
    ) -> None:
        self._leaf = leaf
        self._condition_of = condition_of

    def matches(self, node: Node, strength: Strength, texts: Texts) -> bool:
        """Tell whether a message matches a tree at least that strongly."""
        match node:
            case Text():
                return self._text(self._leaf(node), strength, texts)
            case And():
                return all(self.matches(part, strength, texts) for part in node.parts)
            case Or():
                return any(self.matches(part, strength, texts) for part in node.parts)
            case Not():
                # "NOT java" keeps JavaScript: only whole words are excluded.
                return not self.matches(node.part, Strength.ROW, texts)
            case Field():
                return texts.fields[node]

    def _text(self, leaf: Leaf, strength: Strength, texts: Texts) -> bool:
        if leaf.kind is not Kind.WORDS or strength is Strength.PART:
            return _contains(leaf, texts)
        if not leaf.stands_in(texts.words):
            return False
        is_literal = strength is Strength.WHOLE and len(leaf.tokens) > 1
        return not is_literal or _contains(leaf, texts)

    # -- what the server can leave out -----------------------------------------------------

    def need(self, node: Node, strength: Strength) -> Condition:
        """Return a condition that every match meets, and few others."""
        match node:
            case Text():
                leaf = self._leaf(node)
                if leaf.kind is not Kind.WORDS or strength is Strength.PART:
                    return contains(leaf.node.value)
                if strength is Strength.WHOLE and len(leaf.tokens) > 1:
                    return contains(leaf.node.value)  # the same test as for a literal
                return _has_words(leaf)
            case And():
                return joined(" AND ", [self.need(part, strength) for part in node.parts])
            case Or():
                return joined(" OR ", [self.need(part, strength) for part in node.parts])
            case Not():
                return ALL
            case Field():
                condition = self._condition_of(node)
                sql = f"COALESCE({condition.sql}, FALSE)"
                return Condition(sql, condition.values, session=False)


def _contains(leaf: Leaf, texts: Texts) -> bool:
    return any(leaf.contained_in(text) for text in texts.folded)


def joined(word: str, conditions: Sequence[Condition]) -> Condition:
    """Return conditions joined by AND or OR."""
    if any(each is ALL for each in conditions):
        if word == " OR ":
            return ALL
        conditions = [each for each in conditions if each is not ALL] or [ALL]
    values = tuple(value for each in conditions for value in each.values)
    return Condition(f"({word.join(each.sql for each in conditions)})", values, session=False)


def contains(needle: str) -> Condition:
    """Return the condition that a message `m` contains a text, ignoring case."""
    if needle.lower() == needle.upper():
        test, value = "strpos(m.{0}, ?) > 0", needle
    elif needle.isascii():
        # Under the collation C, lower() is about ASCII letters only, whatever the server's locale.
        test, value = "strpos(lower(m.{0}), ?) > 0", needle.lower()
    else:
        test, value = "m.{0} ~ ?", "".join(map(_both_cases, needle))
    tests = " OR ".join(test.format(name) for name in COLUMNS)
    return Condition(f"({tests})", (value,) * len(COLUMNS), session=False)


def _both_cases(letter: str) -> str:
    low = letter.lower()
    forms = {letter, low, letter.upper(), letter.title()}
    if low in "σς":
        forms |= {"σ", "ς", "Σ"}
    alike = sorted(re.escape(form) for form in forms)
    return alike[0] if len(alike) == 1 else f"(?:{'|'.join(alike)})"


def _has_words(leaf: Leaf) -> Condition:
    """Return a condition that every message with some words in a row meets.

    Words match whatever their accents, so text beyond ASCII counts as well.
    """
    words = [token for token in leaf.tokens if token.isascii()]
    if len(words) < len(leaf.tokens):
        return Condition(f"({_BEYOND_ASCII})", (), session=False)
    if len(words) == 1:
        test, value = f"strpos(lower({_TOGETHER}), ?) > 0", words[0]
    else:
        # Not the edges of words: \m and \M depend on the locale.
        test, value = f"lower({_TOGETHER}) ~ ?", "[^a-z0-9]+".join(map(re.escape, words))
    return Condition(f"({_BEYOND_ASCII} OR {test})", (value,), session=False)


def fields_of(node: Node | None) -> Iterator[Field]:
    """Yield all fields of a tree."""
    match node:
        case Field():
            yield node
        case And() | Or():
            for part in node.parts:
                yield from fields_of(part)
        case Not():
            yield from fields_of(node.part)
        case _:
            return
