"""Whether the built-in chat resumes sessions, and how its conversations are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config.settings import Config
from hermes_tui.cli.common import hermes_agent

if TYPE_CHECKING:
    from hermes_tui.chat.turn_loop import Conversation

_DEMO_MODEL = "demo"


def uses_builtin(config: Config) -> bool:
    """Return whether sessions are resumed in the built-in chat."""
    wanted = config.resume
    if wanted.command or wanted.with_ == "agent":
        return False
    return wanted.with_ == "builtin" or hermes_agent.agent_command() is None


def conversation_maker(
    database: Path,
    config: Config,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.time,
    address: str | None = None,
) -> Callable[[str | None], Conversation]:
    """Return a function that starts a conversation; nothing is opened or loaded until then."""

    def make(session_id: str | None) -> Conversation:
        from hermes_store.store import Store
        from hermes_tui.chat.endpoint_settings import endpoint
        from hermes_tui.chat.endpoint_settings import environment as variables
        from hermes_tui.chat.provider import Provider
        from hermes_tui.chat.turn_loop import Conversation

        where = endpoint(config, environment or variables(database.parent))
        store = Store(address or database, synchronous=config.sessions.durability)
        return Conversation(store, Provider(where), config, session_id, clock=clock)

    return make


def demo_maker(
    database: Path, config: Config, model: str | None = None, address: str | None = None
) -> Callable[[str | None], Conversation]:
    """Return a function that starts a conversation with the demo's scripted model."""

    def make(session_id: str | None) -> Conversation:
        from hermes_store.store import Store
        from hermes_tui.chat.turn_loop import Conversation
        from hermes_tui.demo.scripted_model import ScriptedModel

        scripted = ScriptedModel(model or _DEMO_MODEL)
        return Conversation(
            Store(address or database), scripted, config, session_id, clock=time.time
        )

    return make
