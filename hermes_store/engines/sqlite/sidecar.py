"""The companion: a small database beside the session database, for what is this program's own.

`state.db.companion` holds the trash, the marks that the session database has no column for, and
searches that were kept. None of that is ever written into the session database, which may belong
to another program. The file appears with the first thing that is kept in it; until then
everything reads as empty. A damaged one is moved aside, never overwritten.

This module owns the file. What is in it belongs to `trash`, `marks` and `searches`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from hermes_store import errors
from hermes_store.engines.base import Capabilities, FullText
from hermes_store.engines.sqlite.database import MAX_TRIES, TRY_SECONDS
from hermes_store.engines.sqlite.error_translation import translated
from hermes_store.engines.sqlite.file import create_file, guard_close
from hermes_store.engines.sqlite.transaction import Transaction

VERSION = 1
IDLE_READERS = 2

_PATIENCE = int(MAX_TRIES * TRY_SECONDS * 1_000)
_DAMAGE = (apsw.NotADBError, apsw.CorruptError)
_NO_CAPABILITIES = Capabilities(
    0, False, (), (), frozenset(), FullText.NONE, FullText.NONE, activity=False, rebuild_floor=None
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

log = logging.getLogger("hermes_store.engines.sqlite.sidecar")

Answer = TypeVar("Answer")


def path_for(database: Path) -> Path:
    """Return where the companion of a database lies."""
    return database.with_name(database.name + ".companion")


class Sidecar:
    """The companion of one session database. Safe to share between threads."""

    def __init__(self, database_path: Path, *, read_only: bool = False) -> None:
        self.path = path_for(database_path)
        self.read_only = read_only
        self._lock = threading.RLock()
        self._pool_lock = threading.Lock()
        self._writer: apsw.Connection | None = None
        self._idle: list[apsw.Connection] = []
        self._identity: tuple[int, int] | None = None
        self._warned = False
        self._closed = False

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        with self._lock:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        with self._pool_lock:
            idle, self._idle = self._idle, []
        for con in idle:
            con.close()
        if self._writer is not None and (self._closed or not self._writer.in_transaction):
            self._writer.close()
            self._writer = None

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Transaction | None]:
        """Give one consistent view of the file, or None while there is nothing in it."""
        with self._told(), self._view() as tx:
            yield tx

    @contextmanager
    def _view(self) -> Iterator[Transaction | None]:
        con = self._take()
        if con is None:
            yield None
            return
        try:
            con.execute("BEGIN")
            yield Transaction(con, _NO_CAPABILITIES)
        finally:
            if con.in_transaction:
                con.execute("ROLLBACK")
            self._give_back(con)

    def ask(self, question: Callable[[Transaction], Answer], nothing: Answer) -> Answer:
        """Return the answer to a question, `nothing` where there is no usable file.

        What cannot be read is said in the log, never raised: a list of sessions must not fail
        because of its companion.
        """
        try:
            with self._view() as tx:
                return nothing if tx is None else question(tx)
        except apsw.Error as error:
            if isinstance(error, _DAMAGE) and self._is_damaged():
                self._set_aside(error)
                return nothing
            self._warn("%s cannot be read (%s); marks and trash look empty.", self.path, error)
        return nothing

    def _take(self) -> apsw.Connection | None:
        if self._closed:
            raise errors.StoreError(f"The store beside {self.path} is closed.")
        self._notice_another_file()
        with self._pool_lock:
            if self._idle:
                return self._idle.pop()
        return self._open_reader()

    def _give_back(self, con: apsw.Connection) -> None:
        with self._pool_lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(con)
                return
        con.close()

    def _open_reader(self) -> apsw.Connection | None:
        try:
            if not self.path.stat().st_size:
                return None  # another process has just begun to make it
        except OSError:
            return None
        con = self._reader(str(self.path))
        try:
            found = con.execute("PRAGMA user_version").get
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            con.close()
            # A write-protected folder: without a log in it, nothing can change under our eyes.
            wal = self.path.with_name(self.path.name + "-wal")
            if wal.exists() and wal.stat().st_size:
                raise
            con = self._reader(f"file:{quote(str(self.path))}?immutable=1")
            found = con.execute("PRAGMA user_version").get
        except apsw.Error:
            con.close()
            raise
        if found == VERSION:
            return con
        con.close()
        if found:
            self._warn(
                "%s was written by a newer version (%s) and is left alone.", self.path, found
            )
        return None

    def _reader(self, name: str) -> apsw.Connection:
        con = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        con.set_busy_timeout(_PATIENCE)
        return con

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Run the block in one IMMEDIATE transaction; inside another one, join it."""
        self.require_writable()
        with self._lock, self._told():
            con = self._writable()
            if con.in_transaction:
                yield Transaction(con, _NO_CAPABILITIES)
                return
            con.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(con, _NO_CAPABILITIES)
                con.execute("COMMIT")
            except BaseException:
                if con.in_transaction:
                    con.execute("ROLLBACK")
                raise

    def require_writable(self) -> None:
        """Raise DatabaseReadOnly where nothing may be changed."""
        if self.read_only:
            raise errors.DatabaseReadOnly(
                f"The store beside {self.path} was opened read-only. Open it without read_only "
                "to change it."
            )

    def _writable(self) -> apsw.Connection:
        if self._closed:
            raise errors.StoreError(f"The store beside {self.path} is closed.")
        if self._writer is not None and self._writer.in_transaction:
            return self._writer
        self._notice_another_file()
        if self._writer is None:
            try:
                self._writer = self._open_writer()
            except _DAMAGE as error:
                self._set_aside(error)
                self._writer = self._open_writer()
        return self._writer

    def _open_writer(self) -> apsw.Connection:
        create_file(self.path)
        con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            con.set_busy_timeout(_PATIENCE)
            guard_close(con)
            con.execute("PRAGMA foreign_keys = ON")
            # Before the first table, or never: emptying the trash gives the space back.
            con.execute("PRAGMA auto_vacuum = INCREMENTAL")
            with suppress(apsw.BusyError, apsw.IOError, apsw.ProtocolError):
                con.execute("PRAGMA journal_mode = WAL")
            con.execute("PRAGMA synchronous = FULL")
            self._create_tables(con)
        except BaseException:
            con.close()
            raise
        self._identity = self._found_identity()
        return con

    def _create_tables(self, con: apsw.Connection) -> None:
        con.execute("BEGIN IMMEDIATE")
        try:
            found = con.execute("PRAGMA user_version").get
            if found == 0:
                for sql in _SCHEMA:
                    con.execute(sql)
                con.execute(f"PRAGMA user_version = {VERSION}")
            con.execute("COMMIT")
        except BaseException:
            if con.in_transaction:
                con.execute("ROLLBACK")
            raise
        if found > VERSION:
            raise errors.DatabaseReadOnly(
                f"{self.path} was written by a newer version of this program. Update it to use "
                "the trash and the marks in that file."
            )

    # -- files that are not what they were ---------------------------------------------------

    def _found_identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _notice_another_file(self) -> None:
        """Forget connections to a file that was moved away, by us or by another process."""
        found = self._found_identity()
        if found == self._identity:
            return
        with self._lock:
            self._let_go()
            self._identity = found

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences, and move the file aside where it is damaged."""
        try:
            with translated(self.path):
                yield
        except (errors.DatabaseCorrupt, errors.NotADatabase) as error:
            if not isinstance(error.__cause__, _DAMAGE) or not self._is_damaged():
                raise
            self._set_aside(error.__cause__)
            raise errors.DatabaseCorrupt(
                f"{self.path} was damaged and has been moved aside. The sessions are as they "
                "were; try again."
            ) from error

    def _is_damaged(self) -> bool:
        """Tell whether it is this file that is damaged; a block may read the other one too."""
        try:
            con = self._reader(str(self.path))
        except apsw.Error:
            return False
        try:
            return bool(con.execute("PRAGMA quick_check(1)").get != "ok")
        except _DAMAGE:
            return True
        except apsw.Error:
            return False
        finally:
            con.close()

    def _set_aside(self, error: BaseException) -> None:
        """Move a damaged file out of the way, so that nothing in it is lost."""
        with self._lock:
            self._let_go()
            if self.read_only:
                self._warn("%s is damaged (%s); marks and trash look empty.", self.path, error)
                return
            number = 1
            while (aside := self.path.with_name(f"{self.path.name}.broken-{number}")).exists():
                number += 1
            try:
                for ending in ("", "-wal", "-shm"):
                    part = self.path.with_name(self.path.name + ending)
                    if part.exists():
                        part.rename(aside.with_name(aside.name + ending))
            except OSError as trouble:
                self._warn("%s is damaged (%s) and cannot be moved: %s", self.path, error, trouble)
                return
            self._identity = None
        log.warning(
            "%s is damaged (%s). It was kept as %s; trash, marks and saved searches start anew.",
            self.path,
            error,
            aside.name,
        )

    def _warn(self, sentence: str, *details: object) -> None:
        if not self._warned:
            self._warned = True
            log.warning(sentence, *details)
