"""Small files for tests of the browser, all told at the moment of the still clock."""

from __future__ import annotations

from pathlib import Path

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.records.listing import Hidden, View
from hermes_store.store import Store
from tests.support import add, add_chain, raw
from tests.tui.running import NOW

HOUR = 3_600.0
THREE = ("one", "two", "three")
CHAIN = "20260902_070857_1828dc25"
"""A conversation of the sample with four segments."""
FAMILY = "20260828_201641_444e5426"
"""One with three segments and a sub-agent."""


def one(path: Path) -> None:
    """Make a file with a single conversation."""
    with SessionDB(path) as db:
        add(
            db, "only", "Is this the only one?", at=NOW - HOUR, ended=NOW - HOUR / 2, title="lonely"
        )


def several(path: Path, *names: str) -> None:
    """Make a file with conversations, the last one named being the newest, an hour apart."""
    with SessionDB(path) as db:
        for place, name in enumerate(reversed(names)):
            start = NOW - (place + 1) * HOUR
            add(db, name, f"about {name}", at=start, ended=start + 60, title=f"title of {name}")


def ids(path: Path) -> set[str]:
    """Return the sessions that are in a file."""
    with Store(path, read_only=True) as store:
        view = View(shown=frozenset(Hidden))
        return {entry for entry in store.lists.entries(view, now=NOW) if isinstance(entry, str)}


def with_live(path: Path, *, now: float = NOW) -> None:
    """Make a file with a session that somebody is talking in, and two that are done."""
    with SessionDB(path) as db:
        add(db, "older", "an old question", at=now - 9 * HOUR, ended=now - 8 * HOUR, title="older")
        add_chain(db, ["first", "second", "third"], at=now - 5 * HOUR)
        add(db, "living", "first words", "and more", at=now - 30, title="still talking")


def fill_trash(path: Path, *ids: str) -> None:
    """Delete sessions one after the other, as if ten minutes lay between them."""
    with Store(path) as store:
        for each in ids:
            store.trash.delete_conversation(each)
    with raw(path_for(path)) as con:
        con.execute("UPDATE trash_batches SET deleted_at = ? - 600 * (100 - id)", (NOW,))
