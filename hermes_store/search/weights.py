"""How much a match counts: what people and models say more than tools, people more than jobs."""

from __future__ import annotations

WINDOW = 100
"""How many of the newest matches are ranked."""
TOOL, MACHINE = 0.4, 0.5
MACHINES = ("cron", "batch", "webhook", "tool", "subagent")
_SOURCES = ", ".join(f"'{name}'" for name in MACHINES)
WEIGHT_SQL = (
    f"CASE WHEN m.role IN ('user', 'assistant') THEN 1.0 ELSE {TOOL} END * "
    f"CASE WHEN s.source IN ({_SOURCES}) THEN {MACHINE} ELSE 1.0 END"
)
