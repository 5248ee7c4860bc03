"""The typed query tree: what a search text means, before any file is asked.

Every node knows where in the text it came from, so that a search pane can point at it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.search import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Text:
    """A word or a quoted phrase to be found in a message."""

    value: str
    span: Span
    quoted: bool = False
    prefix: bool = False
    """Whether a star follows: the last word may go on."""


@dataclass(frozen=True, slots=True)
class Field:
    """A condition on a message or its session, such as source:telegram."""

    name: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """Everything that its part does not match."""

    part: Node
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    """What all parts match."""

    parts: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    """What any part matches."""

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
    """An order asked for with sort: ('newest', 'oldest' or 'relevance')."""
