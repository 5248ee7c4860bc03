"""Records of the user's marks (pins, tags, archive) and saved searches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """The marks of one conversation."""

    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagChange:
    """Tags that a conversation gains and loses."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def reversed(self) -> TagChange:
        """The change that takes this one back."""
        return TagChange(self.removed, self.added)


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search stored under a name."""

    name: str
    text: str
    saved_at: float
