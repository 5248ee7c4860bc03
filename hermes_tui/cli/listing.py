"""`hermes sessions list`: recent sessions as a plain table."""

from __future__ import annotations

import tempfile
import time
from datetime import datetime
from pathlib import Path

from hermes_store import SessionDB
from hermes_store.errors import DatabaseMissing
from hermes_store.sources import describe
from hermes_store.text import clean

DEMO_SESSIONS = 60
NOTHING = "No sessions found."


def relative_time(moment: float | None, now: float) -> str:
    """Return how long ago a moment was, in the words people use."""
    if not moment:
        return "?"
    ago = now - moment
    if ago < 60:
        return "just now"
    if ago < 3_600:
        return f"{int(ago // 60)}m ago"
    if ago < 86_400:
        return f"{int(ago // 3_600)}h ago"
    if ago < 2 * 86_400:
        return "yesterday"
    if ago < 7 * 86_400:
        return f"{int(ago // 86_400)}d ago"
    return f"{datetime.fromtimestamp(moment):%Y-%m-%d}"


def show(path: Path | None, source: str | None, limit: int) -> int:
    """Print the recent sessions of a database."""
    try:
        with SessionDB(path, read_only=True) as db:
            _print(db, source, limit)
    except DatabaseMissing:
        print(NOTHING)
    return 0


def show_demo(source: str | None, limit: int) -> int:
    """Print generated sample sessions from a database that is gone afterwards."""
    from hermes_store.sample.generate import create

    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as folder:
        path = Path(folder) / "state.db"
        create(path, DEMO_SESSIONS, now=time.time())
        return show(path, source, limit)


def _print(db: SessionDB, source: str | None, limit: int) -> None:
    hidden = () if source else ("tool",)
    rows = db.list_sessions_rich(
        source=source, exclude_sources=hidden, limit=limit, order_by_last_active=True
    )
    if not rows:
        print(NOTHING)
        return
    now = time.time()
    titled = any(row["title"] for row in rows)
    if titled:
        print(f"{'Title':<32} {'Preview':<40} {'Last Active':<13} ID")
    else:
        print(f"{'Preview':<50} {'Last Active':<13} {'Src':<6} ID")
    print("─" * (110 if titled else 95))
    for row in rows:
        preview, when = clean(row["preview"]), relative_time(row["last_active"], now)
        if titled:
            title = clean(row["title"] or "—")
            print(f"{title[:30]:<32} {preview[:38]:<40} {when:<13} {row['id']}")
        else:
            print(f"{preview[:48]:<50} {when:<13} {describe(row['source']).short:<6} {row['id']}")
