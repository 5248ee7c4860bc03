"""A home folder with a few known sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge

MORNING = 1_790_000_000.0


@pytest.fixture
def full_home(tmp_path: Path) -> Path:
    """A home with a compression chain, a branch, a sub-agent and sessions of three sources."""
    home = tmp_path / "full"
    with SessionDB(home / "state.db") as db:
        _chain(db)
        db.store.sessions.start("20250303_101500_f00d", "telegram", started_at=MORNING + 50)
        db.append_message(
            "20250303_101500_f00d",
            "user",
            "What's the weather in Las Vegas?",
            timestamp=MORNING + 51,
        )
        db.store.sessions.start("20250302_080000_beef", "cron", started_at=MORNING + 10)
        db.append_message(
            "20250302_080000_beef",
            "assistant",
            "数据库备份完成 \x1b]0;pwned\x07",
            timestamp=MORNING + 11,
        )
        db.end_session("20250302_080000_beef", "cron_complete")
    return home


def _chain(db: SessionDB) -> None:
    first, second = "20250304_143022_aaaa", "20250305_091523_bbbb"
    db.store.sessions.start(first, "cli", model="opus", started_at=MORNING + 20)
    db.append_message(first, "user", "Can you check the test failures?", timestamp=MORNING + 21)
    calls = [{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}]
    db.append_message(first, "assistant", "", tool_calls=calls, timestamp=MORNING + 22)
    db.append_message(
        first, "tool", "2 failed in src/main.py", tool_name="terminal", timestamp=MORNING + 23
    )
    db.append_message(first, "assistant", "Two tests fail.", timestamp=MORNING + 24)
    db.set_session_title(first, "my project")
    with db._db.write() as tx:
        tx.run(
            "UPDATE sessions SET ended_at = ?, end_reason = 'compression' WHERE id = ?",
            (MORNING + 30, first),
        )
    db.store.sessions.start(
        second, "cli", parent_session_id=first, edge=Edge.COMPRESSION, started_at=MORNING + 100
    )
    db.append_message(second, "user", "Please fix them", timestamp=MORNING + 101)
    db.append_message(second, "assistant", "Fixed.\nBoth.\nAll.\nDone.", timestamp=MORNING + 102)
    db.set_session_title(second, "my project #2")
    db.update_token_counts(second, input_tokens=1200, output_tokens=300, estimated_cost_usd=0.5)
