"""The sidecar: a small database beside the session database, for this program's own data.

`state.db.companion` holds the trash, the marks that the session database has no column for, and
saved searches. None of that is ever written to the session database, which may belong to another
program. The file is created when there is something to store; until then everything reads as
empty. A damaged file is moved aside, never overwritten.

This module owns the file; its contents belong to the packages `trash` and `marks`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hermes_store import errors
from hermes_store.engines.base import Answer, Capabilities, FullText
from hermes_store.engines.sqlite.dialect import DIALECT
from hermes_store.engines.sqlite.files_seen import beside, real_path
from hermes_store.engines.sqlite.sqlite_file import SqliteFile
from hermes_store.engines.sqlite.transaction import SqliteTransaction

VERSION = 1

_DAMAGE = (apsw.NotADBError, apsw.CorruptError)
_NO_CAPABILITIES = Capabilities(
    0,
    False,
    (),
    (),
    frozenset(),
    FullText.NONE,
    FullText.NONE,
    activity=False,
    unindexed=None,
    dialect=DIALECT,
)

_SCHEMA = (
    "CREATE TABLE trash_batches (id INTEGER PRIMARY KEY AUTOINCREMENT, deleted_at REAL NOT NULL, "
    "reason TEXT NOT NULL, folder TEXT, busy_until REAL NOT NULL)",
    "CREATE TABLE trash_entries (id INTEGER PRIMARY KEY AUTOINCREMENT, "
    "batch_id INTEGER NOT NULL REFERENCES trash_batches(id) ON DELETE CASCADE, "
    "session_id TEXT NOT NULL, parent_id TEXT, title TEXT, name TEXT NOT NULL, "
    "source TEXT NOT NULL, started_at REAL NOT NULL, settled INTEGER NOT NULL DEFAULT 0, "
    "messages INTEGER NOT NULL, bytes INTEGER NOT NULL, fingerprint TEXT NOT NULL, "
    "header BLOB NOT NULL)",
    "CREATE INDEX trash_entries_batch ON trash_entries(batch_id)",
    "CREATE INDEX trash_entries_session ON trash_entries(session_id)",
    "CREATE INDEX trash_entries_unsettled ON trash_entries(id) WHERE settled = 0",
    "CREATE TABLE trash_chunks (entry_id INTEGER NOT NULL "
    "REFERENCES trash_entries(id) ON DELETE CASCADE, place INTEGER NOT NULL, data BLOB NOT NULL, "
    "PRIMARY KEY (entry_id, place))",
    "CREATE TABLE trash_children (entry_id INTEGER NOT NULL "
    "REFERENCES trash_entries(id) ON DELETE CASCADE, child_id TEXT NOT NULL, model_config, "
    "PRIMARY KEY (entry_id, child_id))",
    "CREATE TABLE marks (session_id TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, "
    "PRIMARY KEY (session_id, kind, value)) WITHOUT ROWID",
    "CREATE INDEX marks_kind ON marks(kind, value)",
    "CREATE TABLE saved_searches (name TEXT PRIMARY KEY, text TEXT NOT NULL, "
    "saved_at REAL NOT NULL)",
    "CREATE TABLE search_history (text TEXT PRIMARY KEY, used_at REAL NOT NULL)",
)

# Added later; earlier versions of this program do without.
_ADDITIONS = (
    "CREATE TABLE IF NOT EXISTS trash_parents (entry_id INTEGER PRIMARY KEY "
    "REFERENCES trash_entries(id) ON DELETE CASCADE, parent_id TEXT NOT NULL, model_config)",
    "CREATE TABLE IF NOT EXISTS saved_search_order (name TEXT PRIMARY KEY, place INTEGER NOT NULL)",
)

log = logging.getLogger("hermes_store.sidecar")


def path_for(database: Path) -> Path:
    """Return the path of a database's sidecar."""
    return beside(real_path(database), ".companion")


class _Unusable(Exception):
    """There is no file, or none that this version can read."""


class SqliteSidecar:
    """The sidecar of one session database. Safe to share between threads."""

    def __init__(self, database_path: Path, *, read_only: bool = False) -> None:
        self._file = SqliteFile(
            path_for(database_path),
            read_only=read_only,
            setup_reader=self._check_version,
            setup_writer=self._prepare,
        )
        self._warned = False

    @property
    def path(self) -> Path:
        """Where the file is, or would be created."""
        return self._file.path

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self.path.exists()

    @property
    def name(self) -> str:
        """What people call the place of this data."""
        return str(self.path)

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._file.read_only

    def require_writable(self) -> None:
        """Raise DatabaseReadOnly if the sidecar was opened read-only."""
        self._file.require_writable()

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        self._file.close()

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SqliteTransaction | None]:
        """Provide one snapshot of the file, or None if there is no usable file."""
        with self._told(), self._view() as tx:
            yield tx

    @contextmanager
    def _view(self) -> Iterator[SqliteTransaction | None]:
        try:
            con = self._file.take_reader()
        except (_Unusable, errors.DatabaseMissing):
            yield None
            return
        try:
            con.execute("BEGIN")
            yield SqliteTransaction(con, _NO_CAPABILITIES)
        finally:
            if con.in_transaction:
                con.execute("ROLLBACK")
            self._file.give_back(con)

    def ask(
        self,
        question: Callable[[SqliteTransaction], Answer],
        nothing: Answer,
        *,
        once: bool = False,
    ) -> Answer:
        """Return the answer to a question, or `nothing` if there is no usable file.

        Read errors are logged, never raised: a list of sessions must not fail because of its
        sidecar.
        """
        try:
            with self._view() as tx:
                return nothing if tx is None else question(tx)
        except apsw.Error as error:
            if isinstance(error, _DAMAGE) and self._is_damaged():
                self._set_aside(error)
                return nothing
            what = type(error).__name__
            self._warn("%s cannot be read (%s); marks and trash appear empty.", self.path, what)
        except errors.DatabaseUnreadable as error:
            self._warn("%s Marks and trash appear empty.", error)
        return nothing

    def _check_version(self, con: apsw.Connection) -> None:
        """Refuse a file that another process is still creating, or one of a newer version."""
        found = con.execute("PRAGMA user_version").get
        if found not in (0, VERSION):
            self._warn("%s was written by a newer version (%s) and is not used.", self.path, found)
        if found != VERSION:
            raise _Unusable

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[SqliteTransaction]:
        """Run the block in one IMMEDIATE transaction, or join the one in progress."""
        self.require_writable()
        with self._file.lock, self._told():
            con = self._writer()
            if con.in_transaction:
                yield SqliteTransaction(con, _NO_CAPABILITIES)
                return
            with self._file.transaction(con):
                yield SqliteTransaction(con, _NO_CAPABILITIES)

    def give_space_back(self) -> None:
        """Shrink the file after rows were deleted, and empty its log if nobody needs it."""
        with self._file.lock, self._told():
            con = self._writer()
            with self._file.transaction(con):
                con.execute("PRAGMA incremental_vacuum").fetchall()
            with suppress(apsw.BusyError, apsw.LockedError):
                con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _writer(self) -> apsw.Connection:
        try:
            return self._file.writer()
        except _DAMAGE as error:
            self._set_aside(error)
        except errors.DatabaseMissing:
            pass  # another process has moved it aside: a new one is created
        return self._file.writer()

    def _prepare(self, con: apsw.Connection) -> None:
        # Only possible before the first table; lets emptying the trash free disk space.
        con.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with suppress(apsw.BusyError, apsw.IOError, apsw.ProtocolError):
            con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA synchronous = FULL")
        con.execute("PRAGMA secure_delete = ON")
        with self._file.transaction(con):
            found = con.execute("PRAGMA user_version").get
            if found == 0:
                for sql in _SCHEMA:
                    con.execute(sql)
                con.execute(f"PRAGMA user_version = {VERSION}")
            for sql in _ADDITIONS if found <= VERSION else ():
                con.execute(sql)
        if found > VERSION:
            raise errors.DatabaseReadOnly(
                f"{self.path} was written by a newer version of this program. Update this one to "
                "use the trash and the marks in that file."
            )

    # -- replaced and damaged files ----------------------------------------------------------

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Translate SQLite's errors, and move the file aside if it is damaged."""
        try:
            with self._file.errors():
                yield
        except (errors.DatabaseCorrupt, errors.NotADatabase) as error:
            if not isinstance(error.__cause__, _DAMAGE) or not self._is_damaged():
                raise
            self._set_aside(error.__cause__)
            raise errors.DatabaseCorrupt(
                f"{self.path} was damaged and has been moved aside. Your sessions are not "
                "affected; try again."
            ) from error

    def _is_damaged(self) -> bool:
        """Return whether this file is damaged; a block may read the session database too."""
        try:
            con = self._file.take_reader()
        except _DAMAGE:
            return True
        except (apsw.Error, errors.DatabaseError, _Unusable):
            return False
        try:
            return bool(con.execute("PRAGMA quick_check(1)").get != "ok")
        except _DAMAGE:
            return True
        except apsw.Error:
            return False
        finally:
            self._file.discard(con)

    def _set_aside(self, error: BaseException) -> None:
        """Move a damaged file out of the way, so that nothing in it is lost."""
        what = type(error).__name__  # a log must not quote what people wrote
        with self._file.lock:
            self._file.forget_connections()
            if self.read_only:
                self._warn("%s is damaged (%s); marks and trash appear empty.", self.path, what)
                return
            number = 1
            while (aside := beside(self.path, f".broken-{number}")).exists():
                number += 1
            try:
                for ending in ("", "-wal", "-shm"):
                    part = beside(self.path, ending)
                    if part.exists():
                        part.rename(beside(aside, ending))
            except OSError as trouble:
                self._warn("%s is damaged (%s) and cannot be moved: %s", self.path, what, trouble)
                return
        log.warning(
            "%s is damaged (%s). It was moved to %s; trash, marks and saved searches start empty.",
            self.path,
            what,
            aside.name,
        )

    def _warn(self, sentence: str, *details: object) -> None:
        if not self._warned:
            self._warned = True
            log.warning(sentence, *details)
