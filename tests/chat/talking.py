"""Conversations with servers of this machine, and somebody who listens to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_store import SessionDB
from hermes_store.config.settings import Config
from hermes_tui.chat.provider import Delta, Provider
from hermes_tui.chat.turn_loop import Conversation
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import endpoint_at

START = 1_790_000_000.0


class Ears:
    """Hears a turn, and wants it stopped after some pieces."""

    def __init__(self, *, stop_after: int | None = None) -> None:
        self.text = ""
        self.pieces = 0
        self.questions: list[str] = []
        self.saved_in: list[str] = []
        self._stop_after = stop_after

    def piece(self, delta: Delta) -> None:
        """Take a piece of the answer."""
        self.text += delta.text
        self.pieces += 1

    def saved(self, session_id: str) -> None:
        """Note where something was written."""
        self.saved_in.append(session_id)

    def looking_up(self, question: str) -> None:
        """Note what is looked for."""
        self.questions.append(question)

    def stopped(self) -> bool:
        """Tell whether enough was heard."""
        return self._stop_after is not None and self.pieces >= self._stop_after


class Chat(Conversation):
    """A conversation with short words for what tests do all the time."""

    def tell(self, text: str, ears: Ears | None = None) -> Ears:
        """Say something and hear the answer."""
        ears = ears or Ears()
        self.turn = self.say(text, ears, ears.stopped)
        return ears

    @property
    def here(self) -> str:
        """The session, which there is."""
        assert self.session_id is not None
        return self.session_id

    def rows(self) -> list[dict[str, Any]]:
        """Return the messages of the session as they are stored."""
        return self.store.messages.as_dictionaries(self.here)

    def said(self) -> list[tuple[str, Any]]:
        """Return who said what in the session."""
        return [(row["role"], row["content"]) for row in self.rows()]


@contextmanager
def talk(
    path: Path,
    server: DemoServer,
    session_id: str | None = None,
    config: Config | None = None,
    **more: Any,
) -> Iterator[Chat]:
    """Talk to a server; a second passes whenever the clock is looked at."""
    seconds = itertools.count()
    chat = Chat(
        SessionDB(path).store,
        Provider(endpoint_at(server.base_url, **more)),
        config or Config(),
        session_id,
        clock=lambda: START + next(seconds),
    )
    try:
        yield chat
    finally:
        chat.close()


def asked_by_chat(server: DemoServer) -> list[Mapping[str, Any]]:
    """Return what was asked for an answer, without titles and summaries."""
    return [request for request in server.requests if request.get("stream")]


def is_valid(messages: list[Mapping[str, Any]]) -> bool:
    """Tell whether a server of the protocol takes these messages.

    Right after each message with tool calls come its answers, one for each call, and nowhere
    else is one; whatever else there is says something.
    """
    waiting: list[object] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return False
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if not waiting and not message.get("content"):
            return False
    return not waiting
