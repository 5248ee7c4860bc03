"""The frozen records of recall: what earlier conversations say about a question."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.search import Relaxation


@dataclass(frozen=True, slots=True)
class RecalledSession:
    """An earlier conversation that is relevant to a question."""

    session_id: str
    """The session with the best match; the newest one if only the title matches."""
    root_id: str
    """The first session of the conversation."""
    title: str | None
    source: str
    model: str | None
    started_at: float
    last_active: float
    messages: int
    """Number of messages in the whole conversation."""
    matches: int
    """How many of them match."""
    window: str
    """The messages around the matches, one paragraph each."""
    focus: int = 0
    """The position of the first match in the window."""
    start_cut: bool = False
    """Whether the conversation starts before the window."""
    end_cut: bool = False
    """Whether the conversation continues after the window."""
    summary: str | None = None
    trouble: str | None = None
    """Why the requested summary is missing, as a sentence."""

    def excerpt(self, characters: int) -> str:
        """Return an excerpt of this length around the first match, with cuts marked."""
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
    """How the question was widened because nothing matched it exactly."""
    summarised: bool = False
    """Whether a summarizer was available."""
    partial: bool = False
    """Whether the search ran out of time before it finished."""

    @property
    def widened(self) -> bool:
        """Whether nothing matched the question exactly."""
        return bool(self.relaxations)
