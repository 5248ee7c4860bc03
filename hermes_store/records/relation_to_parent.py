"""How a session relates to its parent, and the rule that decides it.

The rule is part of the domain: each engine stores its result for every session, and nothing else
decides it again.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class Edge(Enum):
    """How a session relates to its parent."""

    ROOT = ""
    COMPRESSION = "compression"
    """It continues a parent whose context was compressed."""
    BRANCH = "branch"
    """It is a copy of its parent, continued separately."""
    AGENT = "agent"
    """Its parent started it as a sub-agent."""

    @classmethod
    def _missing_(cls, value: object) -> Edge:
        """Read what no version of this program wrote as a root, so that it is listed."""
        return cls.ROOT


def rule(child: str, parent: str, json_text: Callable[[str, str], str]) -> str:
    """Return the SQL for how one row of `sessions` relates to the row of its parent.

    The result is '' for a root (or a missing parent), 'compression', 'branch' or 'agent'. In
    damaged data, a session that is its own parent is a root, and so is the first of two that are
    each other's, or no list would show them. A child that started before its parent ended is a
    sub-agent. Newer versions mark their sub-agents; the mark '__orphaned__' is a guess that hides
    real conversations, so it is ignored.
    `json_text(column, key)` is the engine's SQL for reading text from JSON.
    """
    branched = json_text(f"{child}.model_config", "_branched_from")
    delegated = json_text(f"{child}.model_config", "_delegate_from")
    follows = f"{child}.started_at >= {parent}.ended_at AND {parent}.end_reason"
    return (
        f"CASE WHEN {delegated} <> '__orphaned__' THEN 'agent' "
        f"WHEN {child}.parent_session_id IS NULL OR {parent}.id IS NULL THEN '' "
        f"WHEN {parent}.parent_session_id = {child}.id AND {child}.id <= {parent}.id THEN '' "
        f"WHEN {branched} IS NOT NULL THEN 'branch' "
        f"WHEN {follows} = 'compression' THEN 'compression' "
        f"WHEN {follows} = 'branched' THEN 'branch' ELSE 'agent' END"
    )
