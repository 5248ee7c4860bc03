"""Resuming a conversation, or starting one: in the chat, in the agent, or for whoever asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from textual.message import Message
from textual.screen import Screen

from hermes_tui.browse.panes import Panes
from hermes_tui.opening.start_options import Choice, Opening
from hermes_tui.store_access import Access, StoreChanged


@dataclass
class OpenChat(Message):
    """The chat should open, with None for a new conversation; `then` gets its result."""

    session_id: str | None
    then: Callable[[Choice | None], None]


class Resuming:
    """Leads from a browser to a conversation, and back."""

    def __init__(self, screen: Screen[Choice], access: Access, opening: Opening) -> None:
        self._screen, self._access, self._opening = screen, access, opening

    def resume(self, session_id: str | None, panes: Panes) -> None:
        """Resume a session, or start one; `panes` tell where to return to."""
        panes.search.remember()
        if self._opening.chooser:
            self._screen.dismiss(Choice(session_id, panes.state()))
        elif self._opening.leaves_for(session_id):
            self._screen.app.exit(Choice(session_id, panes.state()))
        else:
            self._screen.post_message(OpenChat(session_id, partial(self._back, panes)))

    def _back(self, panes: Panes, choice: Choice | None) -> None:
        self._access.watch(self._screen)  # a browser above the chat may have taken over watching
        panes.list.wanted = choice.state.session_id if choice is not None else None
        self._screen.post_message(StoreChanged())
