"""The frozen records of remembering: what was found in earlier conversations.

Like `models`, they hold values and know neither a database nor a screen.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.search import Relaxation


@dataclass(frozen=True, slots=True)
class RecalledSession:
    """An earlier conversation that bears on a question."""

    session_id: str
    """The session with the best match; the newest one where only the title matches."""
    root_id: str
    """The first session of the conversation."""
    title: str | None
    source: str
    model: str | None
    started_at: float
    last_active: float
    messages: int
    """How many messages the whole conversation has."""
    matches: int
    """How many of them match."""
    window: str
    """What was said around the matches, one paragraph for each message."""
    focus: int = 0
    """Where in the window the first match is."""
    start_cut: bool = False
    """Whether the conversation goes further back than the window."""
    end_cut: bool = False
    """Whether the conversation goes on after the window."""
    summary: str | None = None
    trouble: str | None = None
    """Why there is no summary, as a sentence, where one was asked for."""

    def excerpt(self, characters: int) -> str:
        """Return so many characters of the window around its first match, cuts marked."""
        if len(self.window) <= characters:
            return self.window
        start = max(0, min(self.focus - characters // 3, len(self.window) - characters))
        end = start + characters
        lead, rest = "…" if start else "", "…" if end < len(self.window) else ""
        return f"{lead}{self.window[start:end].strip()}{rest}"


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found for a question, the most relevant conversation first."""

    question: str
    sessions: tuple[RecalledSession, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    """How the question was made wider because nothing matched it as it was."""
    summarised: bool = False
    """Whether a summariser was there to be asked."""
    partial: bool = False
    """Whether the search ran out of time before it had seen everything."""

    @property
    def widened(self) -> bool:
        """Whether nothing matched the question as it was."""
        return bool(self.relaxations)
