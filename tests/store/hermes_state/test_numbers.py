"""The numbers of Hermes Agent's documentation are the defaults, as docs/compatibility.md lists."""

from __future__ import annotations

import inspect
import re

from hermes_store import Config, SessionDB, new_session_id
from hermes_store.engines.sqlite import schema
from hermes_store.hermes_state import session_search
from hermes_store.records.message_content import PREVIEW_LENGTH
from hermes_store.search import sessiondb_search
from hermes_store.search.recall import recall
from hermes_store.sessions import titles


def _default(method: str, parameter: str) -> object:
    return inspect.signature(getattr(SessionDB, method)).parameters[parameter].default


def test_ids_have_the_documented_form() -> None:
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", new_session_id())


def test_settings() -> None:
    config = Config()
    assert (config.sessions.auto_prune, config.sessions.vacuum_after_prune) == (False, True)
    assert (config.sessions.retention_days, config.sessions.min_interval_hours) == (90, 24)
    display = config.display
    assert (display.resume_display, display.resume_exchanges) == ("full", 10)
    assert (display.resume_max_user_chars, display.resume_max_assistant_chars) == (300, 200)
    assert display.resume_max_assistant_lines == 3
    gateway = config.gateway
    assert (gateway.group_sessions_per_user, gateway.thread_sessions_per_user) == (True, False)


def test_defaults_of_methods() -> None:
    assert _default("prune_sessions", "older_than_days") == 90
    assert _default("maybe_auto_prune_and_vacuum", "retention_days") == 90
    assert _default("maybe_auto_prune_and_vacuum", "min_interval_hours") == 24
    assert _default("list_sessions_rich", "limit") == 20
    assert _default("search_messages", "limit") == 20
    assert SessionDB.MAX_TITLE_LENGTH == titles.MAX_LENGTH == 100


def test_search_and_recall() -> None:
    assert (session_search.SESSIONS, session_search.MOST_SESSIONS) == (3, 5)
    assert (recall.SESSIONS, recall.CHARACTERS) == (3, 100_000)
    assert sessiondb_search.CONTEXT_LENGTH == 200
    assert (PREVIEW_LENGTH, schema.SCHEMA_VERSION) == (60, 11)
