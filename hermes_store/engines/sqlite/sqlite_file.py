"""One SQLite file: its real path, its connections, waiting for locks, and translated errors.

The session database, the sidecar, the side index and the watch all open their file here. The path
is resolved once, so that a symbolic link, or a relative path and a change of directory, never
separates a database from its log and the files beside it.
"""

from __future__ import annotations

import os
import random
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from hermes_store import errors
from hermes_store.engines.sqlite.error_translation import missing, translated

MAX_TRIES = 15
TRY_SECONDS = 1.2
"""How long one try waits; fifteen tries wait longer than the 15 times 1.15 s of Hermes Agent."""
QUICK_STEPS = 300
"""How often a writer polls the lock before it slows down: about 150 ms."""
IDLE_READERS = 2

Setup = Callable[[apsw.Connection], None]


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every symbolic link resolved."""
    return Path(os.path.realpath(Path(path).expanduser()))


def beside(path: Path, ending: str) -> Path:
    """Return the path of the file beside another one, named like it plus `ending`."""
    return path.with_name(path.name + ending)


def identity(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from another one of the same name; None if missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def busy_handler(budget: float) -> Callable[[int], bool]:
    """Return a busy handler that waits in short random steps, up to `budget` seconds.

    Programs that do not queue take the lock again at once, so that it is free only for a fraction
    of a millisecond. With longer steps, each of three writers of this store got a quarter as much
    done as each of two of Hermes Agent; with shorter steps, Hermes Agent would have to wait.
    """
    started = 0.0

    def handler(count: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if count == 0:
            started = now
        if now - started > budget:
            return False
        time.sleep(random.uniform(0.0002, 0.0008 if count < QUICK_STEPS else 0.010))
        return True

    return handler


def _nothing(_con: apsw.Connection) -> None:
    """The default setup."""


class SqliteFile:
    """One file, opened for reading or for reading and writing. Safe to share between threads.

    Reads use a pool of read-only connections; each block sees one snapshot. Writes go through a
    single connection. No connection unlinks a live write-ahead log when it closes.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        setup_reader: Setup = _nothing,
        setup_writer: Setup = _nothing,
        vfs: str | None = None,
    ) -> None:
        """`setup_reader` and `setup_writer` prepare each new connection."""
        self.path = real_path(path)
        self.given = path
        """The path as given, for messages."""
        self.read_only = read_only
        self.closed = False
        self.lock = threading.RLock()
        """Held while writing."""
        self._setup_reader = setup_reader
        self._setup_writer = setup_writer
        self._vfs = vfs
        self._pool_lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._immutable = False
        self._writer: apsw.Connection | None = None

    @property
    def log(self) -> Path:
        """The write-ahead log."""
        return beside(self.path, "-wal")

    def errors(self) -> AbstractContextManager[None]:
        """Raise the store's own exceptions for whatever SQLite raises inside the block."""
        return translated(self.given)

    def require_writable(self) -> None:
        """Raise DatabaseReadOnly if the file was opened read-only."""
        if self.read_only:
            raise errors.DatabaseReadOnly(
                f"{self.given} was opened read-only. Open it without read_only to change it."
            )

    def _require_open(self) -> None:
        if self.closed:
            raise errors.StoreError(f"The store on {self.given} is closed.")

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Provide a connection that sees one snapshot for the length of the block."""
        con = self.take_reader()
        try:
            con.execute("BEGIN")
            try:
                yield con
            finally:
                if con.in_transaction:
                    # Not ROLLBACK: search keeps temporary tables, and rolling them back makes
                    # SQLite read the whole schema again, which takes a millisecond.
                    con.execute("COMMIT")
        finally:
            self.give_back(con)

    def take_reader(self) -> apsw.Connection:
        """Return an idle reader or a new one; return it with `give_back`."""
        with self._pool_lock:
            self._require_open()
            if self._idle:
                return self._idle.pop()
        return self.open_reader()

    def give_back(self, con: apsw.Connection) -> None:
        """Return a reader to the pool."""
        with self._pool_lock:
            if not self.closed and len(self._idle) < IDLE_READERS:
                self._idle.append(con)
                return
        con.close()

    def open_reader(self) -> apsw.Connection:
        """Open a read-only connection, without a log if the folder does not allow one."""
        if not self._immutable:
            if not self.path.exists():
                raise missing(self.given)
            con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs)
            try:
                return self._prepared(con, self._setup_reader)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                self._refuse_unmerged()
                self._immutable = True
        con = apsw.Connection(
            f"file:{quote(str(self.path))}?immutable=1",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            vfs=self._vfs,
        )
        return self._prepared(con, self._setup_reader)

    def _refuse_unmerged(self) -> None:
        """Refuse a file in a write-protected folder if its log holds rows that the file lacks."""
        log = self.log
        if log.exists() and log.stat().st_size > 0:
            raise errors.DatabaseUnreadable(
                f"{self.given} has unmerged changes in {log.name} and its folder is "
                "write-protected. Copy both files to a folder you can write to, and open the copy."
            )

    @staticmethod
    def _prepared(con: apsw.Connection, setup: Setup) -> apsw.Connection:
        try:
            con.set_busy_handler(busy_handler(TRY_SECONDS * 4))
            setup(con)
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except BaseException:
            con.close()
            raise
        return con

    # -- writing ---------------------------------------------------------------------------

    def writer(self) -> apsw.Connection:
        """Return the connection for writing, opened on first use. Hold `lock`."""
        self._require_open()
        self.require_writable()
        if self._writer is None:
            self._writer = self._open_writer()
        return self._writer

    def _open_writer(self) -> apsw.Connection:
        create(self.path)
        con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
        guard_close(con)

        def setup(con: apsw.Connection) -> None:
            con.set_busy_handler(busy_handler(TRY_SECONDS))
            con.execute("PRAGMA foreign_keys = ON")
            self._setup_writer(con)

        return self._prepared(con, setup)

    @contextmanager
    def transaction(self, con: apsw.Connection) -> Iterator[None]:
        """Run the block in one IMMEDIATE transaction, committed at its end or rolled back."""
        retried(con, "BEGIN IMMEDIATE")
        try:
            yield
            # With a log this never waits; with a rollback journal, readers can delay it.
            retried(con, "COMMIT")
        except BaseException:
            if con.in_transaction:
                con.execute("ROLLBACK")
            raise

    # -- closing ---------------------------------------------------------------------------

    def forget_connections(self) -> None:
        """Close all connections not in use, because another file may have replaced this one."""
        with self._pool_lock:
            idle, self._idle = self._idle, []
        for con in idle:
            con.close()
        if self._writer is not None and (self.closed or not self._writer.in_transaction):
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Close all connections. Further use raises; closing twice is fine."""
        with self.lock:
            with self._pool_lock:
                self.closed = True
            self.forget_connections()


def retried(con: apsw.Connection, sql: str) -> None:
    """Run a statement, several times if the file is locked."""
    for left in reversed(range(MAX_TRIES)):
        try:
            con.execute(sql)
            return
        except (apsw.BusyError, apsw.LockedError):
            if not left:
                raise
            time.sleep(random.uniform(0.001, 0.020))


def create(path: Path) -> None:
    """Create a missing file that only its owner can read; SQLite copies the mode to its log."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
    except FileExistsError:
        if not path.parent.is_dir():
            raise errors.DatabaseUnreadable(
                f"{path.parent} is not a folder, so {path.name} cannot be created there."
            ) from None
    except OSError as error:
        raise errors.DatabaseUnreadable(
            f"{path} cannot be created: {error.strerror}. Check the permissions of its folder, "
            "or set HERMES_HOME to one you can write to."
        ) from error


def guard_close(con: apsw.Connection) -> None:
    """Make sure that closing this connection never unlinks a log that is still in use.

    SQLite removes the log when it believes it is the last user, which is wrong if another
    process has lost its locks on the file. Either guard prevents this; both cost nothing.
    """
    con.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    keep = array("i", [1])  # SQLite needs the address of an int; ctypes is slow to load
    con.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, keep.buffer_info()[0])
