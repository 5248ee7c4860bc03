"""The typed query tree of a search text, independent of any database.

Every node has its span in the text, so that a search pane can point at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hermes_store.records.search import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Text:
    """A word or a quoted phrase to find in a message."""

    value: str
    span: Span
    quoted: bool = False
    prefix: bool = False
    """Whether a star follows: the last word is a prefix."""


@dataclass(frozen=True, slots=True)
class Field:
    """A condition on a message or its session, such as source:telegram."""

    name: str
    value: str
    span: Span
    unfinished: bool = False
    """Whether the value is still being typed: it ends the text."""


@dataclass(frozen=True, slots=True)
class Not:
    """Matches what its part does not match."""

    part: Node
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    """Matches what all parts match."""

    parts: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    """Matches what any part matches."""

    parts: tuple[Node, ...]
    span: Span


Node = Text | Field | Not | And | Or


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search text. `root` is None when there is nothing to search for."""

    text: str
    root: Node | None
    diagnostics: tuple[Diagnostic, ...] = ()
    sort: str | None = None
    """The order given with sort: ('newest', 'oldest' or 'relevance')."""


def narrowed(query: Query, fields: Sequence[tuple[str, str]]) -> Query:
    """Return a query that also asks for fields; of several with one name, any is enough."""
    nowhere = Span(0, 0)
    by_name: dict[str, list[Field]] = {}
    for name, value in fields:
        by_name.setdefault(name, []).append(Field(name, value, nowhere))
    parts: list[Node] = [] if query.root is None else [query.root]
    parts += [Or(tuple(each), nowhere) if each[1:] else each[0] for each in by_name.values()]
    root = And(tuple(parts), nowhere) if parts[1:] else next(iter(parts), None)
    return replace(query, root=root)
