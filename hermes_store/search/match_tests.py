"""Conditions in SQL that a message matches a query tree, and conditions that narrow it down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hermes_store.records.search import Strength
from hermes_store.search.field_conditions import Condition
from hermes_store.search.literal_sql import contains, has_words
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.query_words import Kind, Leaf

ALL = Condition("TRUE", session=False)


class Tests:
    """Turns the trees of one query into conditions on a message `m`."""

    def __init__(
        self,
        leaf: Callable[[Text], Leaf],
        condition_of: Callable[[Field], Condition],
        *,
        accents: bool,
    ) -> None:
        """`accents` tells whether words that are not indexed match whatever their accents."""
        self.leaf = leaf
        self._condition_of = condition_of
        self._accents = accents

    def match(self, node: Node, strength: Strength, *, thoroughly: bool = False) -> Condition:
        """Return the condition that a message `m` matches; {words} is the index of its words."""
        match node:
            case Text():
                leaf = self.leaf(node)
                literal = contains(
                    searched(leaf), thoroughly=thoroughly or strength is not Strength.PART
                )
                if leaf.kind is not Kind.WORDS or strength is Strength.PART:
                    return literal
                if strength is Strength.WHOLE and len(leaf.tokens) > 1:
                    return both(_has_words(leaf), literal)
                return _has_words(leaf)
            case And() | Or():
                parts = [self.match(each, strength, thoroughly=thoroughly) for each in node.parts]
                joined = " AND " if isinstance(node, And) else " OR "
                sql = joined.join(part.sql for part in parts)
                values = tuple(value for part in parts for value in part.values)
                return Condition(f"({sql})", values, session=False)
            case Not():
                # As in FTS5, "NOT java" keeps JavaScript: only whole words are excluded.
                part = self.match(node.part, Strength.ROW, thoroughly=True)
                return replace(part, sql=f"NOT COALESCE({part.sql}, FALSE)")
            case Field():
                condition = self._condition_of(node)
                return replace(condition, sql=f"COALESCE({condition.sql}, FALSE)", session=False)

    def left_by_lookup(self, node: Node, strength: Strength) -> Condition:
        """Return what a look-up of words leaves to be tested."""
        match node:
            case Text():
                leaf = self.leaf(node)
                is_exact = len(leaf.tokens) == 1 or strength is Strength.ROW
                if leaf.kind is Kind.WORDS and is_exact:
                    return ALL
                return contains(searched(leaf)) if leaf.tokens else self.match(node, strength)
            case And():
                parts = [self.left_by_lookup(each, strength) for each in node.parts]
                return both(*parts)
            case Not() if banned(self.leaf, node) is not None:
                return ALL
            case _:
                return self.match(node, strength)

    def need(self, node: Node, strength: Strength) -> Condition | None:
        """Return what every match has, so that few messages are split into words.

        None if no test concerns words.
        """
        if "{words}" not in self.match(node, strength).sql:
            return None
        return self._necessary(node, strength)

    def _necessary(self, node: Node, strength: Strength) -> Condition:
        match node:
            case Text():
                leaf = self.leaf(node)
                if leaf.kind is not Kind.WORDS or strength is Strength.PART:
                    return contains(searched(leaf), thoroughly=False)
                return has_words(leaf.tokens, accents=self._accents)
            case And():
                return both(*(self._necessary(each, strength) for each in node.parts))
            case Or():
                parts = [self._necessary(each, strength) for each in node.parts]
                values = tuple(value for part in parts for value in part.values)
                return Condition(f"({' OR '.join(p.sql for p in parts)})", values, session=False)
            case _:
                return ALL


def banned(leaf_of: Callable[[Text], Leaf], node: Not) -> str | None:
    """Return the words that must not be there as an FTS5 expression, if the index can tell."""
    if isinstance(node.part, Text) and leaf_of(node.part).kind is Kind.WORDS:
        return phrase(leaf_of(node.part))
    return None


def quote(text: str) -> str:
    """Return text as an FTS5 string."""
    return '"' + text.replace('"', '""') + '"'


def searched(leaf: Leaf) -> str:
    """Return what a text must contain."""
    return leaf.node.value


def phrase(leaf: Leaf) -> str:
    """Return the words of a leaf as an FTS5 expression."""
    return quote(" ".join(leaf.tokens)) + (" *" if leaf.prefix else "")


def _has_words(leaf: Leaf) -> Condition:
    sql = "EXISTS (SELECT 1 FROM {words} WHERE {words} MATCH ? AND rowid = m.id)"
    return Condition(sql, (phrase(leaf),), session=False)


def both(*conditions: Condition) -> Condition:
    """Return the condition that all conditions are met."""
    values = tuple(value for each in conditions for value in each.values)
    return Condition(f"({' AND '.join(each.sql for each in conditions)})", values, session=False)
