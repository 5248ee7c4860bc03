"""Look at a home after the harm: open a copy of it as the next program would, and list it all."""

from __future__ import annotations

import logging
import shutil
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from hermes_store import SessionDB, StoreError
from hermes_store.errors import NotInTrash
from tests.campaign.ledger import Found
from tests.store import trash_views

_SAID = "SELECT session_id, role, content, tool_name, tool_calls FROM messages ORDER BY id"


def spoken(role: Any, content: Any, tool_name: Any = None, tool_calls: Any = None) -> str:
    """Return a message as one text to compare."""
    return " | ".join(
        "" if each is None else str(each) for each in (role, content, tool_name, tool_calls)
    )


def sentence(text: str) -> bool:
    """Tell whether an error message can be shown to a person."""
    return text.endswith(".") and "\n" not in text and "Traceback" not in text


def said_in(path: Path) -> dict[str, list[str]]:
    """Return the messages of every session of a database."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as con:
        con.set_busy_timeout(10_000)
        found: dict[str, list[str]] = {
            str(name): [] for (name,) in con.execute("SELECT id FROM sessions")
        }
        for session_id, *rest in con.execute(_SAID):
            found.setdefault(str(session_id), []).append(spoken(*rest))
    return found


def faults(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a file and its full-text indexes."""
    if not path.exists() or not path.stat().st_size:
        return []
    found: list[str] = []
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as con:
        con.set_busy_timeout(10_000)
        try:
            rows = [row[0] for row in con.execute("PRAGMA integrity_check(5)")]
            found += [f"{path.name}: {row}." for row in rows if row != "ok"]
            strays = con.execute("PRAGMA foreign_key_check").fetchall()
            found += [f"{path.name}: {len(strays)} rows point nowhere."] if strays else []
            indexes = con.execute(
                "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
            ).fetchall()
        except apsw.Error as error:
            return [f"{path.name}: {error}."]
        for (table,) in indexes:
            try:
                con.execute(f"INSERT INTO {table}({table}, rank) VALUES('integrity-check', 1)")
            except apsw.Error as error:
                found.append(f"{path.name}, {table}: {error}.")
    return found


def look(home: Path, *, damaged: bool = False) -> Found:
    """Return what a home holds; a `damaged` one may also refuse with a sentence."""
    copy = home.with_name(home.name + "-seen")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home, copy)
    path = copy / "state.db"
    found = Found()
    log = logging.getLogger("hermes_store")
    before = log.level
    log.setLevel(logging.ERROR)  # a damaged sidecar is expected here and said elsewhere
    try:
        with SessionDB(path) as db:
            if damaged:
                _browse(db)
            else:
                _see(db, path, found)
    except StoreError as error:
        text = str(error)
        if not damaged or not sentence(text):
            found.complaints.append(f"The home cannot be read: {type(error).__name__}: {text}")
    except Exception:
        found.complaints.append(f"A traceback: {traceback.format_exc()}")
    finally:
        log.setLevel(before)
    found.complaints += [] if damaged else faults(path) + faults(Path(f"{path}.companion"))
    shutil.rmtree(copy)
    return found


def _browse(db: SessionDB) -> None:
    """Read a damaged home the way a browser does."""
    for row in db.list_sessions_rich(limit=100):
        db.get_messages(row["id"])
    db.search_messages("says")
    db.store.upkeep.statistics()
    db.store.trash.list()


def _see(db: SessionDB, path: Path, found: Found) -> None:
    found.database = said_in(path)
    trash = trash_views.later(db)
    batches = trash.list()
    # Listing the trash settles what a crash left undecided.
    there = said_in(path)
    copies = Counter(each for batch in batches for each in batch.session_ids)
    found.complaints += [f"{name} is in the trash twice." for name in copies if copies[name] > 1]
    for batch in batches:
        try:
            report = trash.restore(batch.id)
        except NotInTrash:
            continue  # all of it came back with another batch
        for remark in report.skipped:
            if copies[remark.session_id] == 1:
                found.complaints.append(f"{remark.session_id} is not restored: {remark.text}")
    back = said_in(path)
    for name in copies:
        found.trash[name] = back.get(name, [])
    for name in copies.keys() & there.keys():
        # A deletion that was cut off half-way: the copy completes it.
        if len(there[name]) < len(back[name]):
            del found.database[name]
