"""Is the file well? Looks at a database without changing it, and mends a copy of a damaged one.

A look takes no lock. A repair reads whatever can still be read into a new file, so that the
damaged one stays as it is; it takes the damaged one's place only when nobody has it open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hermes_store import errors
from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite import fulltext, migrations, schema
from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.side_index import path_for
from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.gateway import transcript_repair
from hermes_store.gateway.transcript_files import ENDING
from hermes_store.gateway.transcript_repair import Compared, Difference
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.trash import sidecar_tables

MAX_COMPLAINTS = 20


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
            for each in transcript_repair.compare_all(tx, folder)
            if each.path.name.removesuffix(ENDING) not in deleted
        ]
        return [*_compared(compared), *_routes(tx, folder)]

    return transcripts


def _in_trash(path: Path) -> set[str]:
    """Return the deleted sessions whose files wait with them."""
    nothing: set[str] = set()
    companion = Sidecar(path, read_only=True)
    try:
        return companion.ask(
            lambda side: {e.session_id for e in sidecar_tables.all_entries(side)}, nothing
        )
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
    lost, whole = transcript_repair.lost_routes(tx, folder)
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
