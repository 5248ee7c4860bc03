"""How a session relates to its parent, and the rule that tells.

The rule is part of the domain: every engine keeps its answer for each session, and nothing else
decides it again.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class Edge(Enum):
    """How a session hangs on its parent."""

    ROOT = ""
    COMPRESSION = "compression"
    """It continues a parent whose context was compressed."""
    BRANCH = "branch"
    """It was branched off a parent and goes its own way."""
    AGENT = "agent"
    """It was started by its parent as a sub-agent."""


def rule(child: str, parent: str, json_text: Callable[[str, str], str]) -> str:
    """Return the SQL that tells how one row of `sessions` relates to the row of its parent.

    '' for a root (or a parent that is gone), 'compression', 'branch' or 'agent'. A child that
    started before its parent ended was started by it: that is a sub-agent. Newer versions mark
    their sub-agents; the mark '__orphaned__' is a guess that hides real conversations, so it does
    not count. `json_text(column, key)` is the engine's way to read a text out of JSON.
    """
    branched = json_text(f"{child}.model_config", "_branched_from")
    delegated = json_text(f"{child}.model_config", "_delegate_from")
    follows = f"{child}.started_at >= {parent}.ended_at AND {parent}.end_reason"
    return (
        f"CASE WHEN {delegated} <> '__orphaned__' THEN 'agent' "
        f"WHEN {child}.parent_session_id IS NULL OR {parent}.id IS NULL THEN '' "
        f"WHEN {branched} IS NOT NULL THEN 'branch' "
        f"WHEN {follows} = 'compression' THEN 'compression' "
        f"WHEN {follows} = 'branched' THEN 'branch' ELSE 'agent' END"
    )
