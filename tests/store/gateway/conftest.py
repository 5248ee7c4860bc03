"""A home with a store, and a clock that tests turn by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.gateway import MessageSource, SessionRouter

NOON = 1_790_000_000.0
"""A moment at 14:13 UTC, so that the daily hour is far."""

ALICE = MessageSource(platform="telegram", chat_id="1", user_id="alice", user_name="Alice")
BOB = MessageSource(platform="discord", chat_type="group", chat_id="9:9", user_id="bob")


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(path: Path) -> Path:
    """Where sessions.json and the transcripts lie."""
    return path.parent / "sessions"


@pytest.fixture
def router(db: SessionDB, clock: Callable[[], float]) -> SessionRouter:
    return SessionRouter(db.store, clock=clock)


def forget_routes(db: SessionDB, folder: Path) -> None:
    """Delete what says which session a chat has, beside the sessions themselves."""
    if isinstance(db._db, SqliteDatabase):
        (folder / "sessions.json").unlink()
        return
    with db._db.write() as tx:
        assert tx.run("DELETE FROM routes") > 0


def live_sessions(db: SessionDB) -> list[str]:
    """Return the ids of all sessions that have not ended."""
    with db.store.database.read() as tx:
        return [row[0] for row in tx.rows("SELECT id FROM sessions WHERE ended_at IS NULL")]
