"""What a person left the browser with, and how it looked then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes_store.records.listing import View
from hermes_store.records.recap import Limits


@dataclass(frozen=True, slots=True)
class State:
    """Where a person was: enough to come back to the same place."""

    query: str = ""
    session_id: str | None = None
    tab: str = "recap"


@dataclass(frozen=True, slots=True)
class Choice:
    """The session to go on with."""

    session_id: str
    state: State
    left: bool = False
    """Whether the person talked in it and left, so that there is nothing to go on with."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open the browser."""

    database: Path
    clock: Callable[[], float]
    view: View = field(default_factory=View)
    limits: Limits = field(default_factory=Limits)
    read_only: bool = False
    print_id: bool = False
    state: State = field(default_factory=State)
    notice: str | None = None
    """Something to say at the start, such as why resuming did not work."""
    sessions_dir: Path | None = None
    """Where transcripts and snapshots of sessions lie."""
    demo: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    """Other keys for actions, checked already."""
    theme: str = "hermes-dark"
    open_chat: Callable[[str | None], Any] | None = None
    """What begins a built-in chat, given a session; None where there is none to begin."""
    is_taken_over: Callable[[], bool] = lambda: False
    """Whether another program goes on with sessions instead; asked when one is chosen, because
    looking for that program takes a while."""
    chat_first: bool = False
    """Whether to begin in the chat, with the session of `state`."""

    chooser: bool = False
    """Whether the browser was opened to choose a session, and is left with it."""

    def choosing(self, query: str) -> Opening:
        """Return the same for a browser that is opened to choose a session."""
        return replace(self, chat_first=False, notice=None, state=State(query=query), chooser=True)
