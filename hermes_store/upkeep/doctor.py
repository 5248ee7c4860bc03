"""Check a database without changing or locking it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hermes_store import errors
from hermes_store.engines.base import FullText
from hermes_store.engines.message_states import sent
from hermes_store.engines.sqlite import fulltext, migrations, schema, unknown_layout
from hermes_store.engines.sqlite.damage import find_damage, mended_declarations
from hermes_store.engines.sqlite.file_capabilities import UNREADABLE
from hermes_store.engines.sqlite.holders import holders
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.engines.sqlite.sidecar_database import SqliteSidecar
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list import path_for
from hermes_store.gateway import transcript_repair
from hermes_store.gateway.transcript_files import ENDING
from hermes_store.gateway.transcript_repair import Compared, Difference
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.trash import sidecar_tables
from hermes_store.upkeep import configured, odd_values


def examine(path: Path, home: Path | None = None) -> list[Finding]:
    """Run every check on a database and return the findings.

    With a `home`, say also what its config.yaml means for the database.
    """
    findings: list[Finding] = []
    try:
        db = SqliteDatabase(path, read_only=True)
    except errors.DatabaseError as error:
        return [Finding(Health.BAD, "file", str(error))]
    try:
        for look in (_pages, _references, _schema, _indexes, _counters, odd_values.examined):
            findings += _looked_at(db, look)
        findings += _looked_at(db, _gateway(path))
        if home is not None:
            findings += _looked_at(db, configured.examined(home))
    finally:
        db.close()
    findings += [*_log(path), *_holders(path), *_rights(path)]
    return findings


def _looked_at(
    db: SqliteDatabase, look: Callable[[SqliteTransaction], list[Finding]]
) -> list[Finding]:
    try:
        with db.read() as tx:
            return look(tx)
    except errors.DatabaseError as error:
        return [Finding(Health.BAD, look.__name__.strip("_"), str(error))]


def _pages(tx: SqliteTransaction) -> list[Finding]:
    found, wrong = find_damage(tx.connection), mended_declarations(tx.connection)
    findings = [
        Finding(Health.BAD, "pages", f"A column of {each} lost its name to damage. Try --repair.")
        for each in sorted(wrong)
    ]
    if found.found:
        said = "; ".join(found.complaints[:5])
        text = f"The database is damaged: {said}. Try --repair."
        findings.append(Finding(Health.BAD, "pages", text))
    if found.unchecked:
        names = ", ".join(sorted(found.unchecked))
        text = f"Not checked, because only another program can read all of it: {names}."
        findings.append(Finding(Health.NOTE, "pages", text))
    return findings or [Finding(Health.GOOD, "pages", "All pages and indexes are intact.")]


def _references(tx: SqliteTransaction) -> list[Finding]:
    lost = tx.value(
        "SELECT COUNT(*) FROM messages m WHERE NOT EXISTS "
        "(SELECT 1 FROM sessions s WHERE s.id = m.session_id)"
    )
    if lost:
        text = f"{lost:,} messages belong to no session; search finds them, lists do not."
        return [Finding(Health.NOTE, "references", text)]
    return [Finding(Health.GOOD, "references", "Every message belongs to a session.")]


def _schema(tx: SqliteTransaction) -> list[Finding]:
    caps = tx.caps
    if caps.missing:
        return [Finding(Health.NOTE, "schema", unknown_layout.sentence(caps.missing))]
    if caps.version == UNREADABLE:
        text = "The schema version is missing or unreadable; the schema is left unchanged."
        return [Finding(Health.NOTE, "schema", text)]
    if caps.foreign:
        text = f"Schema {caps.version}, from a newer Hermes; the schema is left unchanged."
        return [Finding(Health.GOOD, "schema", text)]
    if caps.version < schema.SCHEMA_VERSION:
        text = (
            f"Schema {caps.version} is older than {schema.SCHEMA_VERSION}; "
            "the next write upgrades it."
        )
        return [Finding(Health.NOTE, "schema", text)]
    if not migrations.is_current(tx.connection):
        text = "Some derived tables are missing or were changed; the next write repairs them."
        return [Finding(Health.NOTE, "schema", text)]
    return [Finding(Health.GOOD, "schema", f"Schema {caps.version}, complete.")]


def _indexes(tx: SqliteTransaction) -> list[Finding]:
    caps = tx.caps
    if caps.words is FullText.NONE:
        text = "There is no full-text index; searches read every message."
        return [Finding(Health.NOTE, "index", text)]
    if caps.unindexed is not None and not caps.foreign:
        text = "The full-text index is being rebuilt; the next write continues the rebuild."
        return [Finding(Health.NOTE, "index", text)]
    if caps.words is FullText.INLINE and not caps.foreign:
        text = "The full-text index stores a copy of all text; 'optimize' makes it smaller."
        return [Finding(Health.NOTE, "index", text)]
    indexed = tx.value(f"SELECT COUNT(*) FROM {fulltext.WORDS}_docsize")
    messages = tx.value("SELECT COUNT(*) FROM messages")
    if caps.words is FullText.EXTERNAL and indexed != messages:
        text = f"{indexed:,} of {messages:,} messages are indexed; 'optimize' rebuilds the index."
        return [Finding(Health.BAD, "index", text)]
    return [Finding(Health.GOOD, "index", f"{messages:,} messages are indexed.")]


def _counters(tx: SqliteTransaction) -> list[Finding]:
    wrong = tx.value(
        "SELECT COUNT(*) FROM sessions s WHERE COALESCE(s.message_count, 0) < "
        f"(SELECT COUNT(*) FROM messages m WHERE m.session_id = s.id AND {sent(tx.caps)})"
    )
    if wrong:
        text = f"Sessions with more messages than lists show, by a wrong counter: {wrong:,}."
        return [Finding(Health.NOTE, "counters", text)]
    return [Finding(Health.GOOD, "counters", "Message counters are consistent.")]


_WORDS = {
    Difference.TORN: (Health.NOTE, "end in a line that is cut off"),
    Difference.BEHIND: (Health.NOTE, "lack messages that are in the database"),
    Difference.AHEAD: (Health.BAD, "have messages that the database lacks"),
    Difference.APART: (Health.NOTE, "differ from the database"),
    Difference.ORPHAN: (Health.NOTE, "belong to sessions that are not in the database"),
    Difference.FAULTY: (Health.NOTE, "have unreadable lines"),
}
_IMPORTABLE = (Difference.TORN, Difference.BEHIND, Difference.AHEAD, Difference.ORPHAN)


def _gateway(path: Path) -> Callable[[SqliteTransaction], list[Finding]]:
    """Return the check of the transcripts beside a database and of sessions.json."""
    folder = path.parent / "sessions"

    def transcripts(tx: SqliteTransaction) -> list[Finding]:
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
    """Return the ids of sessions in the trash, whose files are still in place."""
    nothing: set[str] = set()
    companion = SqliteSidecar(path, read_only=True)
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
            mend = f" 'hermes sessions import {found[0].path}' repairs the first."
            text = f"Transcripts that {words}: {len(found):,} ({shown})."
            text += mend if difference in _IMPORTABLE else ""
            yield Finding(health, "transcripts", text, beside=True)
    if compared and all(each.difference is Difference.NONE for each in compared):
        text = f"Every transcript matches the database; checked: {len(compared):,}."
        yield Finding(Health.GOOD, "transcripts", text, beside=True)


def _routes(tx: SqliteTransaction, folder: Path) -> Iterator[Finding]:
    lost, whole = transcript_repair.lost_routes(tx, folder)
    if not whole:
        text = "sessions.json is damaged. The next message to a bot repairs it, or says what to do."
        yield Finding(Health.NOTE, "routing", text, beside=True)
    if lost:
        text = f"Chats whose session is missing: {lost:,}; the next message starts a new one."
        yield Finding(Health.NOTE, "routing", text, beside=True)


def _log(path: Path) -> list[Finding]:
    log = path.with_name(path.name + "-wal")
    size = log.stat().st_size if log.exists() else 0
    words = path_for(path)
    listed = f" The list of words takes {words.stat().st_size:,} bytes." if words.is_file() else ""
    if size > 64_000_000:
        text = f"The write-ahead log has {size:,} bytes; a program is holding an old snapshot open."
        return [Finding(Health.NOTE, "log", text)]
    return [Finding(Health.GOOD, "log", f"The write-ahead log has {size:,} bytes.{listed}")]


def _holders(path: Path) -> list[Finding]:
    if not Path("/proc/self/fd").exists():
        return [
            Finding(
                Health.GOOD,
                "holders",
                "Cannot tell which programs use this database.",
            )
        ]
    others = holders(path)
    if not others:
        return [Finding(Health.GOOD, "holders", "No other program has the database open.")]
    listed = ", ".join(f"{name} ({number})" for number, name in others)
    return [Finding(Health.GOOD, "holders", f"Also open in {listed}.")]


def _rights(path: Path) -> list[Finding]:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        text = f"Other users can read your conversations; 'chmod 600 {path}' makes them private."
        return [Finding(Health.NOTE, "rights", text)]
    return []
