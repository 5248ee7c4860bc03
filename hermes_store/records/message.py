"""A message of a session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

SUMMARY_MARK = "[Summary of the conversation so far]"
"""The beginning of a continuation's first message."""
SUMMARY_MARKS = (SUMMARY_MARK, "[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
"""How a summary begins; the last two are those of Hermes Agent."""


class State(Enum):
    """What has become of a message."""

    SENT = "sent"
    """It is part of the conversation that a model is sent."""
    SUMMARISED = "summarised"
    """A summary stands for it; people still read it."""
    REWOUND = "rewound"
    """It was taken back with /undo."""
    HIDDEN = "hidden"
    """Hermes Agent does not show it, though a model may be sent it."""

    @classmethod
    def _missing_(cls, value: object) -> State:
        return cls.SENT


DIVIDERS = {
    State.SENT: "from here on still sent to the model",
    State.SUMMARISED: "summarised, no longer sent to the model",
    State.REWOUND: "taken back with /undo",
    State.HIDDEN: "hidden by Hermes Agent",
}
"""What stands above the first message of a state."""


@dataclass(frozen=True, slots=True)
class Message:
    """One row of `messages`, decoded."""

    id: int
    session_id: str
    role: str
    timestamp: float
    content: Any = None
    """Text, or the parts of a multimodal message."""
    tool_name: str | None = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    token_count: int | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    state: State = State.SENT

    @property
    def text(self) -> str:
        """The content as text, with images, audio and files named in brackets."""
        from hermes_store.records.message_content import readable

        return readable(self.content)


def without_summary_mark(text: str) -> str | None:
    """Return a summary without the mark it begins with, None if a text is no summary."""
    if not text.startswith(SUMMARY_MARKS):
        return None
    return text.partition("]")[2].removeprefix(":").strip()
