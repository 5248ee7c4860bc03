"""A message of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SUMMARY_MARK = "[Summary of the conversation so far]"
"""The beginning of a continuation's first message."""


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

    @property
    def text(self) -> str:
        """The content as text, with images, audio and files named in brackets."""
        from hermes_store.records.message_content import readable

        return readable(self.content)
