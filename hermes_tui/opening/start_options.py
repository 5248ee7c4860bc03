"""How the browser opens, and what it returns when it closes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_store.records.listing import View
from hermes_store.records.recap import Limits
from hermes_store.records.session import Session
from hermes_store.records.workspace import Place
from hermes_tui.opening.kept_state import Kept

if TYPE_CHECKING:
    from hermes_store.store import Store


READ_ONLY = "The browser was opened with --read-only; nothing can be changed."


@dataclass(frozen=True, slots=True)
class State:
    """Where the user was: enough to return to the same place."""

    query: str = ""
    session_id: str | None = None
    tab: str = "transcript"


@dataclass(frozen=True, slots=True)
class Choice:
    """The session to resume."""

    session_id: str | None
    """None for a new conversation."""
    state: State
    left: bool = False
    """Whether the user already chatted in it and left, so there is nothing to resume."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Everything the browser needs to open."""

    database: Path
    """The file; of a server, where files about it are kept."""
    clock: Callable[[], float]
    view: View = field(default_factory=View)
    limits: Limits = field(default_factory=Limits)
    read_only: bool = False
    print_id: bool = False
    state: State = field(default_factory=State)
    notice: str | None = None
    """A message to show at the start, such as why resuming failed."""
    sessions_dir: Path | None = None
    """The folder of session transcripts and snapshots."""
    demo: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    """The keys of config.yaml by action, already checked."""
    theme: str = "hermes-dark"
    open_chat: Callable[[str | None], Any] | None = None
    """Starts the built-in chat for a session; None where it is not available."""
    is_taken_over: Callable[[], bool] = lambda: False
    """Whether another program resumes sessions instead; called late because finding it is slow."""
    starts_elsewhere: Callable[[], bool] = lambda: False
    """Whether another program starts new conversations; called late, too."""
    find_session: Callable[[Store, str], Session] = lambda store, name: (
        store.sessions.find_to_resume(name)
    )
    """Finds the session that a user names: by id, title or number in the last list."""
    place: Place | None = None
    """The folder in which the browser is opened."""
    scoped: bool = True
    """Whether to show only the workspace of that folder at first."""
    here: str | None = None
    """The workspace of that folder, if any conversation took place there."""
    chat_first: bool = False
    """Whether to start in the chat, with the session of `state`."""
    address: str | None = None
    """The address of the server that has the sessions, if one has."""

    kept: Kept = field(default_factory=Kept)
    """What is remembered from earlier runs, as far as it still holds."""
    keeps: bool = True
    """Whether what is chosen inside is remembered."""
    chooser: bool = False
    """Whether choosing a session closes the browser and returns it."""

    def leaves_for(self, session_id: str | None) -> bool:
        """Return whether the browser ends for a session (None for a new one), or opens the chat."""
        if self.print_id or self.open_chat is None:
            return True
        return self.starts_elsewhere() if session_id is None else self.is_taken_over()

    def refuses_new(self) -> str | None:
        """Return why no new conversation can be started here, None if one can."""
        if self.print_id:
            return "A new conversation has no id to print yet."
        return READ_ONLY if self.read_only else None

    def choosing(self, query: str) -> Opening:
        """Return a copy for a browser that only chooses a session."""
        return replace(self, chat_first=False, notice=None, state=State(query=query), chooser=True)
