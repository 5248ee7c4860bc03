"""How a session relates to its parent, and the rule that decides it.

The rule is part of the domain: each engine stores its result for every session, and nothing else
decides it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    RESET = "reset"
    """It is the conversation that began when its parent's was reset."""

    @classmethod
    def _missing_(cls, value: object) -> Edge:
        """Read what no version of this program wrote as a root, so that it is listed."""
        return cls.ROOT


LISTED = (Edge.ROOT, Edge.BRANCH, Edge.RESET)
"""The edges of sessions that begin a conversation of their own."""
MARKERS = {
    Edge.BRANCH: "_branched_from",
    Edge.AGENT: "_delegate_from",
    Edge.RESET: "_reset_from",
}
"""Where `model_config` says how a session relates to its parent."""
RESET_REASONS = (
    "session_reset",
    "session_switch",
    "idle",
    "daily",
    "suspended",
    "resume_pending_expired",
)
"""How a session ends whose conversation is reset."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the rows of a database tell about children that carry no marker."""

    agents_marked: bool = False
    """Whether all sub-agents carry a marker, as since schema 16."""
    session_keys: bool = False
    """Whether there is a column for the key of a gateway's session."""


def rule(
    child: str,
    parent: str,
    json_text: Callable[[str, str], str],
    known: Known | None = None,
    same: str = "{0} IS {1}",
) -> str:
    """Return the SQL for how one row of `sessions` relates to the row of its parent.

    The result is the value of an Edge; '' for a root (or a missing parent). In damaged data, a
    session that is its own parent is a root, and so is the first of two that are each other's, or
    no list would show them. Newer versions mark their sub-agents; the mark '__orphaned__' is a
    guess that hides real conversations, so it is ignored. Where sub-agents are not marked, a child
    that started before its parent ended is one. A continuation may have inherited the marker of a
    reset from its parent. `json_text(column, key)` is the engine's SQL for reading text
    from JSON, `same` its SQL for comparing values that may be NULL.
    """
    known = known or Known()
    branched, delegated, reset = (
        json_text(f"{child}.model_config", MARKERS[each])
        for each in (Edge.BRANCH, Edge.AGENT, Edge.RESET)
    )
    inherited = json_text(f"{parent}.model_config", MARKERS[Edge.RESET])
    as_compressed = same.format(f"{parent}.end_reason", "'compression'")
    follows = f"{child}.started_at >= {parent}.ended_at"
    compressed = f"{parent}.end_reason = 'compression' AND {child}.source <> 'tool'"
    in_time = "" if known.agents_marked else f" AND {follows}"
    reasons = ", ".join(f"'{reason}'" for reason in RESET_REASONS)
    keyed = (
        f"WHEN {parent}.end_reason IN ({reasons}) AND {child}.session_key <> '' "
        f"AND {child}.session_key = {parent}.session_key THEN 'reset' "
        if known.session_keys
        else ""
    )
    return (
        f"CASE WHEN {delegated} <> '__orphaned__' THEN 'agent' "
        f"WHEN {child}.parent_session_id IS NULL OR {parent}.id IS NULL THEN '' "
        f"WHEN {parent}.parent_session_id = {child}.id AND {child}.id <= {parent}.id THEN '' "
        f"WHEN {branched} IS NOT NULL THEN 'branch' "
        f"WHEN {reset} IS NOT NULL AND NOT ({as_compressed} "
        f"AND {same.format(reset, inherited)}) THEN 'reset' {keyed}"
        f"WHEN {compressed}{in_time} THEN 'compression' "
        f"WHEN {follows} AND {parent}.end_reason = 'branched' THEN 'branch' ELSE 'agent' END"
    )
