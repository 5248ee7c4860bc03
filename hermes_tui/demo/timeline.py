"""Gives the demo's conversations their times, and turns their blocks into messages.

Ids come from the names of the files and from the time, so that they are always the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hermes_store.records.relation_to_parent import Edge
from hermes_tui.demo import tool_blocks
from hermes_tui.demo.conversation_file import SPEAKERS, Block, Part, Written, seconds

_TIME = re.compile(r"<(%[^<>\n]+)>")
_PICTURE = re.compile(r"^\[image: [^\]\n]+\]\n?", re.M)
_DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Session:
    """One session with everything that is stored of it, at its times."""

    id: str
    part: Part
    model: str
    start: float
    parent: Session | None
    said: list[dict[str, Any]] = field(default_factory=list)
    delegated: list[float] = field(default_factory=list)
    """When it started its sub-agents."""

    @property
    def end(self) -> float:
        """When the last thing was said."""
        return float(self.said[-1]["timestamp"])


def when(text: str, now: float) -> float:
    """Return a time that is so long ago, or at an hour of a day so long ago."""
    ago, _, hour = text.partition(" ")
    if not hour:
        return now - seconds(ago)
    day = datetime.fromtimestamp(now).date() - timedelta(seconds=seconds(ago))
    return datetime.combine(day, datetime.strptime(hour, "%H:%M").time()).timestamp()


def _pause(block: Block, before: Block | None) -> float:
    """Return the seconds before a block: people read and type, models think and write."""
    if block.later is not None:
        return block.later
    size = len(block.text.encode())
    if block.kind in ("you", "system"):
        read = len(before.text) / 25 if before is not None else 0.0
        return min(9.0 + read + size / 5, 300.0)
    if block.kind == "hermes":
        return min(2.0 + size / 140, 45.0)
    return min(1.5 + size / 300, 12.0)


def sessions(written: Written, now: float) -> Iterator[Session]:
    """Yield the sessions of a conversation, parents before children."""
    latest: Session | None = None
    agents = 0
    for place, part in enumerate(written.parts):
        if part.edge is Edge.AGENT and latest is not None:
            start = latest.delegated[agents] + 1
            agents += 1
        else:
            start = when(part.head["when"], now) - sum(_pauses(part))
        model = part.head.get("model") or (latest.model if latest else "")
        stamp = datetime.fromtimestamp(start).strftime("%Y%m%d_%H%M%S")
        session = Session(f"{stamp}_{_digits(written.name, place)}", part, model, start, latest)
        _say(session)
        # Branches and sub-agents hang on the same session as what follows them.
        if part.edge not in (Edge.AGENT, Edge.BRANCH):
            latest, agents = session, 0
        yield session


def _digits(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _pauses(part: Part) -> Iterator[float]:
    before: Block | None = None
    for block in part.blocks:
        yield _pause(block, before) + _taken(block)
        before = block


def _taken(block: Block) -> float:
    if block.kind in SPEAKERS:
        return 0.0
    return 1.0 if block.seconds is None else block.seconds


def _say(session: Session) -> None:
    """Write down the messages of a session."""
    moment = session.start
    before: Block | None = None
    thought: list[str] = []
    for number, block in enumerate(session.part.blocks):
        moment += _pause(block, before)
        before = block
        text = dated(block.text, moment)
        if block.kind == "thought":
            thought.append(text)
        elif block.kind in ("you", "system"):
            role = "user" if block.kind == "you" else "system"
            session.said.append({"role": role, "content": _content(text), "timestamp": moment})
        elif block.kind == "hermes":
            session.said.append(_answer(text, thought, moment))
        else:
            _use_tool(session, replace(block, text=text), number, thought, moment)
            moment += _taken(block)


def dated(text: str, moment: float) -> str:
    """Return a text with the time of its message filled in."""
    return _TIME.sub(lambda found: datetime.fromtimestamp(moment).strftime(found[1]), text)


def _content(text: str) -> Any:
    """Return a text, or its parts if a picture was sent with it."""
    plain, pictures = _PICTURE.subn("", text)
    if not pictures:
        return text
    return [{"type": "text", "text": plain}, {"type": "image_url", "image_url": {"url": _DOT}}]


def _answer(text: str, thought: list[str], moment: float) -> dict[str, Any]:
    answer = {
        "role": "assistant",
        "content": text,
        "timestamp": moment,
        "finish_reason": "stop",
        "token_count": len(text.encode()) // 4,
        "reasoning": "\n\n".join(thought) or None,
    }
    thought.clear()
    return answer


def _use_tool(
    session: Session, block: Block, number: int, thought: list[str], moment: float
) -> None:
    made = tool_blocks.call(block)
    call_id = f"call_{_digits(session.id, number)}"
    call = {
        "id": call_id,
        "type": "function",
        "function": {
            "name": block.kind,
            "arguments": json.dumps(made.arguments, ensure_ascii=False),
        },
    }
    asking = next((m for m in reversed(session.said) if m["role"] == "assistant"), None)
    if not block.joined or asking is None:
        asking = _answer("", thought, moment)
        session.said.append(asking)
    asking.setdefault("tool_calls", []).append(call)
    asking["finish_reason"] = "tool_calls"
    if block.kind == "delegate_task":
        session.delegated.append(moment)
    whole = made.result
    session.said.append(
        {
            "role": "tool",
            "content": whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False),
            "tool_name": block.kind,
            "tool_call_id": call_id,
            "timestamp": moment + _taken(block),
        }
    )
