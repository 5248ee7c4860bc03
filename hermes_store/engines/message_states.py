"""What a newer Hermes says about a message: sent to the model, summarised, taken back, hidden.

Compacting in place keeps the old rows with active = 0 and compacted = 1; /undo leaves active = 0
alone; rows from before that have NULL there. Which columns there are differs from file to file.
"""

from __future__ import annotations

from hermes_store.engines.base import Capabilities
from hermes_store.records.message import State

CROWD = 64
"""So many messages of one time are not compared with each other."""
ALL = "TRUE"
"""The SQL condition that is true for every message."""


def sent(caps: Capabilities, alias: str = "m") -> str:
    """Return the SQL condition for messages that a model is sent."""
    return f"COALESCE({alias}.active, 1) = 1" if caps.has_message("active") else ALL


def readable(caps: Capabilities, alias: str = "m") -> str:
    """Return the SQL condition for messages that a person reads, including summarised ones."""
    conditions = []
    if caps.has_message("active"):
        compacted = f" OR {alias}.compacted = 1" if caps.has_message("compacted") else ""
        conditions.append(f"({sent(caps, alias)}{compacted})")
    if caps.has_message("display_kind"):
        conditions.append(f"COALESCE({alias}.display_kind, '') <> 'hidden'")
    return " AND ".join(conditions) or ALL


def state(caps: Capabilities, alias: str = "m") -> str:
    """Return the SQL for the value of a message's State."""
    cases = ""
    if caps.has_message("display_kind"):
        cases += f"WHEN {alias}.display_kind = 'hidden' THEN '{State.HIDDEN.value}' "
    if caps.has_message("active"):
        cases += f"WHEN {sent(caps, alias)} THEN '{State.SENT.value}' "
        if caps.has_message("compacted"):
            cases += f"WHEN {alias}.compacted = 1 THEN '{State.SUMMARISED.value}' "
        cases += f"ELSE '{State.REWOUND.value}' "
    elif cases:
        cases += f"ELSE '{State.SENT.value}' "
    return f"CASE {cases}END" if cases else f"'{State.SENT.value}'"


def _later_copy(condition: str) -> str:
    """Return the SQL condition that compacting stored message `m` once more.

    A copy keeps its time, so an index finds it. Where very many messages have the same time, as
    after some imports, comparing each with all others would take minutes; copies count there.
    """
    crowd = (
        "SELECT 1 FROM messages x WHERE x.session_id = m.session_id "
        f"AND x.timestamp = m.timestamp LIMIT {CROWD}"
    )
    copied = (
        "EXISTS (SELECT 1 FROM messages o WHERE o.session_id = m.session_id "
        "AND o.timestamp = m.timestamp AND o.role = m.role AND o.id > m.id "
        f"AND o.content IS NOT DISTINCT FROM m.content "
        f"AND o.tool_calls IS NOT DISTINCT FROM m.tool_calls AND {condition})"
    )
    return (
        f"CASE WHEN (SELECT COUNT(*) FROM ({crowd}) crowd) < {CROWD} THEN {copied} ELSE FALSE END"
    )


def findable(caps: Capabilities) -> str:
    """Return the SQL condition for messages `m` that search finds: what is readable, but once."""
    if not caps.has_message("compacted"):
        return readable(caps)
    return (
        f"{readable(caps)} AND (COALESCE(m.compacted, 0) <> 1 "
        f"OR NOT {_later_copy(readable(caps, 'o'))})"
    )


def summarised_only(caps: Capabilities, session: str) -> str:
    """Return the SQL for the number of summarised messages that were not stored once more."""
    if not caps.has_message("compacted") or not caps.has_message("active"):
        return "0"
    return (
        f"(SELECT COUNT(*) FROM messages m WHERE m.session_id = {session} AND m.active = 0 "
        f"AND m.compacted = 1 AND {findable(caps)})"
    )
