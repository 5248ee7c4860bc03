"""Migrates a database from schema 1 to 10 to version 11, and keeps its derived tables intact.

Each step is one transaction that also raises the version, so a killed process leaves the database
at one version or the next. Every step checks inside its transaction whether it is still needed,
because two processes may open the same old database at once. The long part, reindexing all
messages, runs in small transactions and continues where it stopped.

A database with a version above 11 belongs to a newer Hermes and is never migrated.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from hermes_store.engines.base import Progress
from hermes_store.engines.sqlite import fulltext, schema, session_activity_table
from hermes_store.engines.sqlite.file_capabilities import version
from hermes_store.engines.sqlite.schema_reader import columns as columns_of
from hermes_store.engines.sqlite.schema_reader import stored
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.records.stored_values import text

Write = Callable[[], AbstractContextManager[SqliteTransaction]]

RECORD = "hermes_sessions_migration_"
"""Prefix of the `state_meta` key that records an applied migration."""

log = logging.getLogger("hermes_store.migrations")


def is_current(con: apsw.Connection) -> bool:
    """Return, without taking a lock, whether a database needs no migration or repair."""
    return (
        version(con) == schema.SCHEMA_VERSION
        and fulltext.floor(con) is None
        and session_activity_table.is_intact(con)
        and _indexes_are_whole(con)
        and not any(_missing_columns(con, schema.SCHEMA_VERSION))
        and schema.TITLE_INDEX_NAME in stored(con, "index")
    )


def bring_up_to_date(write: Write, path: Path, progress: Progress | None) -> None:
    """Create, migrate or repair a database until it is a complete version 11."""
    with write() as tx:
        found = version(tx.connection)
        if found == 0:
            _create(tx.connection)
    if found == 0 or found > schema.SCHEMA_VERSION:
        return
    for migration in MIGRATIONS:
        if migration.version > found:
            with write() as tx:
                _run(tx.connection, migration)
    with write() as tx:
        _reconcile(tx.connection, path)
    finish_rebuild(write, progress)


def _create(con: apsw.Connection) -> None:
    for sql in (*schema.STATEMENTS, schema.TITLE_INDEX):
        con.execute(sql)
    for column in schema.PLACE_COLUMNS:
        con.execute(f'ALTER TABLE sessions ADD COLUMN "{column.name}" {column.declaration}')
    fulltext.create(con)
    session_activity_table.create(con)
    _set_version(con, schema.SCHEMA_VERSION)


def _set_version(con: apsw.Connection, number: int) -> None:
    con.execute("DELETE FROM schema_version")
    con.execute("INSERT INTO schema_version(version) VALUES (?)", (number,))


# -- one function for each version --------------------------------------------------------------


def add_finish_reason(con: apsw.Connection) -> None:
    """Messages record why an answer ended."""
    _add_columns(con, 2)


def add_titles(con: apsw.Connection) -> None:
    """Sessions have titles."""
    _add_columns(con, 3)


def make_titles_unique(con: apsw.Connection) -> None:
    """No two sessions share a title."""
    _number_duplicate_titles(con)
    con.execute(schema.TITLE_INDEX)


def add_billing(con: apsw.Connection) -> None:
    """Sessions count cached tokens and costs."""
    _add_columns(con, 5)


def add_reasoning(con: apsw.Connection) -> None:
    """Messages record the model's reasoning."""
    _add_columns(con, 6)


def add_reasoning_content(con: apsw.Connection) -> None:
    """Messages record the reasoning in its other form, too."""
    _add_columns(con, 7)


def add_api_calls(con: apsw.Connection) -> None:
    """Sessions count API requests."""
    _add_columns(con, 8)


def add_message_items(con: apsw.Connection) -> None:
    """Messages record the items of a Codex answer."""
    _add_columns(con, 9)


def note_trigrams(_con: apsw.Connection) -> None:
    """Version 10 added the trigram index; `index_everything` builds it in its final form."""


def index_everything(con: apsw.Connection) -> None:
    """Sessions can be handed off, and both indexes include tool names and tool calls."""
    _add_columns(con, 11)
    fulltext.start_rebuild(con)


@dataclass(frozen=True, slots=True)
class Migration:
    """A step that leads to a schema version."""

    version: int
    apply: Callable[[apsw.Connection], None]

    @property
    def name(self) -> str:
        """The name under which the step is recorded."""
        return self.apply.__name__


MIGRATIONS = (
    Migration(2, add_finish_reason),
    Migration(3, add_titles),
    Migration(4, make_titles_unique),
    Migration(5, add_billing),
    Migration(6, add_reasoning),
    Migration(7, add_reasoning_content),
    Migration(8, add_api_calls),
    Migration(9, add_message_items),
    Migration(10, note_trigrams),
    Migration(11, index_everything),
)


def _run(con: apsw.Connection, migration: Migration) -> None:
    """Apply and record a migration, unless another process has done so in the meantime."""
    for sql in schema.STATEMENTS:
        con.execute(sql)
    if version(con) >= migration.version:
        return
    migration.apply(con)
    con.execute(
        "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)",
        (f"{RECORD}{migration.name}", datetime.now(UTC).isoformat(timespec="seconds")),
    )
    _set_version(con, migration.version)


def _missing_columns(con: apsw.Connection, target: int) -> Iterator[tuple[str, schema.Column]]:
    """Yield the columns that versions up to `target` declare but the database lacks."""
    for table, columns in schema.COLUMNS.items():
        present = columns_of(con, table)
        for column in columns:
            if column.since <= target and column.name not in present:
                yield table, column


def _add_columns(con: apsw.Connection, target: int) -> None:
    for table, column in _missing_columns(con, target):
        con.execute(f"ALTER TABLE {table} ADD COLUMN {column.name} {column.declaration}")


def _number_duplicate_titles(con: apsw.Connection) -> None:
    """Number all but the newest session with a title, so that titles become unique."""
    taken = {
        text(title) for (title,) in con.execute("SELECT DISTINCT CAST(title AS BLOB) FROM sessions")
    }
    repeated = con.execute(
        "SELECT row, CAST(title AS BLOB) FROM (SELECT rowid AS row, id, title, started_at, "
        "row_number() OVER (PARTITION BY title ORDER BY started_at DESC, id DESC) AS place "
        "FROM sessions WHERE title IS NOT NULL) WHERE place > 1 ORDER BY started_at, id"
    ).fetchall()
    for row, title in repeated:
        number = 2
        while (candidate := f"{text(title)} ({number})") in taken:
            number += 1
        taken.add(candidate)
        con.execute("UPDATE sessions SET title = ? WHERE rowid = ?", (candidate, row))


def _reconcile(con: apsw.Connection, path: Path) -> None:
    """Repair what is missing or was replaced in a version 11 database."""
    if version(con) != schema.SCHEMA_VERSION:
        return
    for sql in schema.STATEMENTS:
        con.execute(sql)
    _add_columns(con, schema.SCHEMA_VERSION)
    if schema.TITLE_INDEX_NAME not in stored(con, "index"):
        _number_duplicate_titles(con)
        con.execute(schema.TITLE_INDEX)
    if not session_activity_table.is_intact(con):
        session_activity_table.create(con)
    if not _indexes_are_whole(con):
        log.warning("Another program changed the full-text index of %s; rebuilding it.", path)
        fulltext.start_rebuild(con)


def _indexes_are_whole(con: apsw.Connection) -> bool:
    """Return whether both indexes exist and, if they are this store's, are unchanged."""
    if not fulltext.TABLES.keys() <= stored(con, "table").keys():
        return False
    if fulltext.is_mixed(con):
        return False
    return not fulltext.is_external(con) or fulltext.is_intact(con)


def finish_rebuild(write: Write, progress: Progress | None) -> None:
    """Finish a reindexing that this or another process has started."""

    def transaction() -> Iterator[apsw.Connection]:
        with write() as tx:
            yield tx.connection

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress("Indexing messages", done, total)

    with write() as tx:
        pending = fulltext.floor(tx.connection) is not None
    if pending:
        fulltext.rebuild(transaction, report)
