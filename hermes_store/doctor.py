"""Is the file well? Looks at a database without changing it, and mends a copy of a damaged one.

A look takes no lock. A repair reads whatever can still be read into a new file, so that the
damaged one stays as it is; it takes the damaged one's place only when nobody has it open.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import apsw

from hermes_store import errors, shelf
from hermes_store.companion import Companion
from hermes_store.database import fulltext, migrations, schema
from hermes_store.database.connection import Database
from hermes_store.database.probe import FullText
from hermes_store.database.transaction import Transaction
from hermes_store.gateway import reconcile
from hermes_store.gateway.reconcile import Compared, Difference
from hermes_store.gateway.transcripts import ENDING
from hermes_store.search.vocabulary import path_for

MAX_COMPLAINTS = 20
MAX_FAILURES = 2_000


class Health(Enum):
    """How bad a finding is."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    health: Health
    what: str
    explanation: str
    beside: bool = False
    """Whether it is about a file beside the database, which a repair leaves alone."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did."""

    repaired: Path
    """The mended file."""
    original: Path
    """Where the damaged file is now."""
    sessions: int
    messages: int
    lost_places: int
    in_place: bool
    """Whether the mended file took the damaged one's place."""


def examine(path: Path) -> list[Finding]:
    """Look at a database file from all sides."""
    findings: list[Finding] = []
    try:
        db = Database(path, read_only=True)
    except errors.DatabaseError as error:
        return [Finding(Health.BAD, "file", str(error))]
    try:
        for look in (_pages, _references, _schema, _indexes, _counters):
            findings += _looked_at(db, look)
        findings += _looked_at(db, _gateway(path))
    finally:
        db.close()
    findings += [*_log(path), *_holders(path), *_rights(path)]
    return findings


def _looked_at(db: Database, look: Callable[[Transaction], list[Finding]]) -> list[Finding]:
    try:
        with db.read() as tx:
            return look(tx)
    except errors.DatabaseError as error:
        return [Finding(Health.BAD, look.__name__.strip("_"), str(error))]


def _pages(tx: Transaction) -> list[Finding]:
    complaints = [str(row[0]) for row in tx.rows(f"PRAGMA integrity_check({MAX_COMPLAINTS})")]
    if complaints == ["ok"]:
        return [Finding(Health.GOOD, "pages", "Every page and index of the file is whole.")]
    said = "; ".join(complaints[:5])
    return [Finding(Health.BAD, "pages", f"The file is damaged: {said}. Try --repair.")]


def _references(tx: Transaction) -> list[Finding]:
    lost = tx.value(
        "SELECT COUNT(*) FROM messages m WHERE NOT EXISTS "
        "(SELECT 1 FROM sessions s WHERE s.id = m.session_id)"
    )
    if lost:
        text = f"{lost:,} messages belong to no session. --repair leaves them out of its copy."
        return [Finding(Health.NOTE, "references", text)]
    return [Finding(Health.GOOD, "references", "Every message belongs to a session.")]


def _schema(tx: Transaction) -> list[Finding]:
    caps = tx.caps
    if caps.foreign:
        text = f"Schema {caps.version}: a newer Hermes owns this file; it is used as it is."
        return [Finding(Health.GOOD, "schema", text)]
    if caps.version < schema.SCHEMA_VERSION:
        text = (
            f"Schema {caps.version} is older than {schema.SCHEMA_VERSION}; "
            "the first change brings it up to date."
        )
        return [Finding(Health.NOTE, "schema", text)]
    if not migrations.is_current(tx.connection):
        text = "Some derived tables are missing or were changed; the next change mends them."
        return [Finding(Health.NOTE, "schema", text)]
    return [Finding(Health.GOOD, "schema", f"Schema {caps.version}, complete.")]


def _indexes(tx: Transaction) -> list[Finding]:
    caps = tx.caps
    if caps.words is FullText.NONE:
        text = "There is no search index; searches read all messages."
        return [Finding(Health.NOTE, "index", text)]
    if caps.rebuild_floor is not None:
        text = "The search index is being rebuilt; the next change goes on with it."
        return [Finding(Health.NOTE, "index", text)]
    if caps.words is FullText.INLINE and not caps.foreign:
        text = "The search index keeps its own copies of all text; 'optimize' makes it smaller."
        return [Finding(Health.NOTE, "index", text)]
    indexed = tx.value(f"SELECT COUNT(*) FROM {fulltext.WORDS}_docsize")
    messages = tx.value("SELECT COUNT(*) FROM messages")
    if caps.words is FullText.EXTERNAL and indexed != messages:
        text = f"{indexed:,} of {messages:,} messages are indexed; 'optimize' rebuilds the index."
        return [Finding(Health.BAD, "index", text)]
    return [Finding(Health.GOOD, "index", f"{messages:,} messages are indexed.")]


def _counters(tx: Transaction) -> list[Finding]:
    wrong = tx.value(
        "SELECT COUNT(*) FROM sessions s WHERE COALESCE(s.message_count, 0) < "
        "(SELECT COUNT(*) FROM messages m WHERE m.session_id = s.id)"
    )
    if wrong:
        text = f"{wrong:,} sessions have more messages than they count; lists show too few."
        return [Finding(Health.NOTE, "counters", text)]
    return [Finding(Health.GOOD, "counters", "Sessions know how many messages they have.")]


_WORDS = {
    Difference.TORN: (Health.NOTE, "end in a line that was cut off"),
    Difference.BEHIND: (Health.NOTE, "lack messages that the database has"),
    Difference.AHEAD: (Health.BAD, "have messages that the database lacks"),
    Difference.APART: (Health.NOTE, "say something else than the database"),
    Difference.ORPHAN: (Health.NOTE, "belong to sessions that the database does not have"),
    Difference.FAULTY: (Health.NOTE, "have lines that cannot be read"),
}
_IMPORTABLE = (Difference.TORN, Difference.BEHIND, Difference.AHEAD, Difference.ORPHAN)


def _gateway(path: Path) -> Callable[[Transaction], list[Finding]]:
    """Return the look at the transcripts beside a database, and at sessions.json."""
    folder = path.parent / "sessions"

    def transcripts(tx: Transaction) -> list[Finding]:
        if not folder.is_dir():
            return []
        deleted = _in_trash(path)
        compared = [
            each
            for each in reconcile.compare_all(tx, folder)
            if each.path.name.removesuffix(ENDING) not in deleted
        ]
        return [*_compared(compared), *_routes(tx, folder)]

    return transcripts


def _in_trash(path: Path) -> set[str]:
    """Return the deleted sessions whose files wait with them."""
    nothing: set[str] = set()
    companion = Companion(path, read_only=True)
    try:
        return companion.ask(lambda side: {e.session_id for e in shelf.all_entries(side)}, nothing)
    finally:
        companion.close()


def _compared(compared: list[Compared]) -> Iterator[Finding]:
    for difference, (health, words) in _WORDS.items():
        found = [each for each in compared if each.difference is difference]
        if found:
            shown = ", ".join(each.path.name for each in found[:3]) + (" …" if found[3:] else "")
            mend = f" 'hermes sessions import {found[0].path}' mends the first."
            text = f"{len(found):,} transcripts {words}: {shown}."
            text += mend if difference in _IMPORTABLE else ""
            yield Finding(health, "transcripts", text, beside=True)
    if compared and all(each.difference is Difference.NONE for each in compared):
        text = f"{len(compared):,} transcripts say what the database says."
        yield Finding(Health.GOOD, "transcripts", text, beside=True)


def _routes(tx: Transaction, folder: Path) -> Iterator[Finding]:
    lost, whole = reconcile.lost_routes(tx, folder)
    if not whole:
        text = "sessions.json is damaged; the next message that a bot gets mends it."
        yield Finding(Health.NOTE, "routing", text, beside=True)
    if lost:
        text = (
            f"{lost:,} chats lead to sessions that are gone; their next message begins a new one."
        )
        yield Finding(Health.NOTE, "routing", text, beside=True)


def _log(path: Path) -> list[Finding]:
    log = path.with_name(path.name + "-wal")
    size = log.stat().st_size if log.exists() else 0
    words = path_for(path)
    listed = f" The vocabulary takes {words.stat().st_size:,} bytes." if words.is_file() else ""
    if size > 64_000_000:
        text = f"The write-ahead log has {size:,} bytes; some program keeps an old view open."
        return [Finding(Health.NOTE, "log", text)]
    return [Finding(Health.GOOD, "log", f"The write-ahead log has {size:,} bytes.{listed}")]


def holders(path: Path) -> list[tuple[int, str]]:
    """Return the other processes that have a file open: number and name. Linux only."""
    found = []
    target = os.path.realpath(path)
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            names = {os.readlink(link) for link in (entry / "fd").iterdir()}
            command = (entry / "comm").read_text().strip()
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
        if target in names:
            found.append((int(entry.name), command))
    return found


def _holders(path: Path) -> list[Finding]:
    if not Path("/proc/self/fd").exists():
        return [Finding(Health.GOOD, "holders", "Who has the file open cannot be told here.")]
    others = holders(path)
    if not others:
        return [Finding(Health.GOOD, "holders", "No other program has the file open.")]
    listed = ", ".join(f"{name} ({number})" for number, name in others)
    return [Finding(Health.GOOD, "holders", f"Also open in {listed}.")]


def _rights(path: Path) -> list[Finding]:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        text = f"Others may read your conversations; 'chmod 600 {path}' keeps them to you."
        return [Finding(Health.NOTE, "rights", text)]
    return []


# -- repair --------------------------------------------------------------------------------------


def repair(path: Path) -> Repair:
    """Read everything that can be read into a new file and put it in the place of the old one.

    The damaged file and its log are kept under another name. While another program has the
    file open nothing is moved; the mended copy then lies beside it.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    mended = path.with_name(f"{path.name}.repaired-{stamp}")
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    target = Database(mended, synchronous="NORMAL")
    try:
        lost = _salvage(source, target, "sessions") + _salvage(source, target, "messages")
        with target.read() as tx:
            sessions = int(tx.value("SELECT COUNT(*) FROM sessions"))
            messages = int(tx.value("SELECT COUNT(*) FROM messages"))
    finally:
        source.close()
        target.close()
    if holders(path):
        return Repair(mended, path, sessions, messages, lost, in_place=False)
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    for ending in ("", "-wal", "-shm"):
        old = path.with_name(path.name + ending)
        if old.exists():
            old.rename(kept.with_name(kept.name + ending))
    mended.with_name(mended.name + ".writers").unlink(missing_ok=True)
    for ending in ("", "-wal", "-shm"):
        new = mended.with_name(mended.name + ending)
        if new.exists():
            new.rename(path.with_name(path.name + ending))
    return Repair(path, kept, sessions, messages, lost, in_place=True)


def _salvage(source: apsw.Connection, target: Database, table: str) -> int:
    """Copy the readable rows of a table; return how many could not be read or kept."""
    names = [column.name for column in schema.COLUMNS[table]]
    present = {str(row[1]) for row in source.execute(f"PRAGMA table_info({table})")}
    selected = ", ".join(name if name in present else "NULL" for name in names)
    marks = ", ".join("?" * len(names))
    lost = 0
    with target.write() as tx:
        tx.connection.execute("PRAGMA defer_foreign_keys = ON")
        for row in _readable_rows(source, table, selected):
            if row is None or not _keep(tx, table, names, marks, row):
                lost += 1
        _drop_strays(tx)
    return lost


def _readable_rows(
    source: apsw.Connection, table: str, selected: str
) -> Iterator[tuple[object, ...] | None]:
    """Yield the rows of a table one by one, None for each place that cannot be read."""
    reached, failures = 0, 0
    while failures < MAX_FAILURES:
        try:
            for row in source.execute(
                f"SELECT rowid, {selected} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid",
                (reached,),
            ):
                reached, failures = int(row[0]), 0
                yield tuple(row[1:])
            return
        except apsw.Error:
            # Step over what cannot be read, in growing strides while nothing can.
            failures += 1
            reached += failures * failures
            yield None


def _keep(
    tx: Transaction, table: str, names: list[str], marks: str, row: tuple[object, ...]
) -> bool:
    try:
        return (
            tx.run(f"INSERT OR IGNORE INTO {table}({', '.join(names)}) VALUES ({marks})", row) > 0
        )
    except (apsw.ConstraintError, apsw.MismatchError):
        return False


def _drop_strays(tx: Transaction) -> None:
    """Let go of messages without a session and of parents that were lost."""
    tx.run("DELETE FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)")
    tx.run(
        "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IS NOT NULL "
        "AND parent_session_id NOT IN (SELECT id FROM sessions)"
    )
