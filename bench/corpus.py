"""The corpus of a benchmark: sample sessions as JSON lines, the same for both sides."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bench.sample_sessions import sample_sessions

NOW = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a corpus is."""

    name: str
    sessions: int
    exchanges: float
    browsed: int
    """How many sessions the browser is opened with."""
    chunks: int
    """How often a thousand messages are appended."""


SCALES = {
    "XS": Scale("XS", 200, 6.0, 2_000, 3),
    "S": Scale("S", 1_000, 22.6, 100_000, 7),
    "M": Scale("M", 10_000, 15.5, 100_000, 3),
}


def write(scale: Scale, path: Path) -> tuple[int, int, int]:
    """Write a corpus and return its sessions, messages and bytes of text."""
    sessions = messages = size = 0
    with path.open("w", encoding="utf-8") as file:
        for session in sample_sessions(scale.sessions, now=NOW, exchanges=scale.exchanges):
            sessions += 1
            messages += len(session.messages)
            for message in session.messages:
                for part in (message.get("content"), message.get("tool_calls")):
                    size += len(part.encode()) if isinstance(part, str) else len(json.dumps(part))
            line = {
                "id": session.id,
                "source": session.source,
                "started_at": session.started_at,
                "model": session.model,
                "parent_session_id": session.parent_id,
                "ended_at": session.ended_at,
                "end_reason": session.end_reason,
                "title": session.title,
                "messages": session.messages,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return sessions, messages, size
