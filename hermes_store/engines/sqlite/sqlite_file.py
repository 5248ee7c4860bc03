"""One SQLite file: its real path, its connections, waiting for locks, and translated errors.

The session database, the sidecar and the watch all open their file here. The path
is resolved once, so that a symbolic link, or a relative path and a change of directory, never
separates a database from its log and the files beside it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet, finalize

import apsw

from hermes_store import errors
from hermes_store.engines.sqlite import lock_waiting
from hermes_store.engines.sqlite.closing import empty_log, guard_close
from hermes_store.engines.sqlite.create_file import create
from hermes_store.engines.sqlite.error_translation import missing, translated
from hermes_store.engines.sqlite.files_seen import (
    FilesSeen,
    real_path,
    refuse_unfinished,
    replaced,
    unfinished,
)
from hermes_store.engines.sqlite.lasting_locks import LastingLocks
from hermes_store.engines.sqlite.lock_waiting import busy_handler, retried

IDLE_READERS = 2
CLOSING_SECONDS = 0.2
"""How long closing waits for others to let go of the log."""
RELEASE_SECONDS = 5.0
"""How long to wait for this process to let go of a file that was replaced."""

Setup = Callable[[apsw.Connection], None]


def _nothing(_con: apsw.Connection) -> None:
    """The default setup."""


class SqliteFile:
    """One file, opened for reading or for reading and writing. Safe to share between threads.

    Reads use a pool of read-only connections; each block sees one snapshot. Writes go through a
    single connection. No connection unlinks a live write-ahead log when it closes. If the file or
    its log is replaced, the connections are opened again before the next use.
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
        self.generation = 0
        """How often all connections were closed; after that, it may be another file."""
        self._setup_reader = setup_reader
        self._setup_writer = setup_writer
        self._vfs = vfs
        self._process = os.getpid()
        self._pool_lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._in_use = 0
        self._writer: apsw.Connection | None = None
        self._seen: FilesSeen | None = None
        """The files behind the open connections; None while there are none."""
        self._locks = LastingLocks()
        # A store that nobody closes must not make others believe that the file is in use.
        finalize(self, self._locks.abandon)
        with _all_files_lock:
            _all_files.add(self)

    @property
    def log(self) -> Path:
        """The write-ahead log."""
        return self.path.with_name(self.path.name + "-wal")

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
        """Return an idle reader or a new one; return it with `give_back` or `discard`."""
        deadline = time.monotonic() + RELEASE_SECONDS
        if self.is_replaced():
            self.renew()
        while True:
            try:
                return self._counted_reader()
            except errors.DatabaseReplaced:
                if time.monotonic() > deadline:
                    raise
            # Here this reader no longer counts, so no other thread waits for it.
            self.renew()

    def _counted_reader(self) -> apsw.Connection:
        with self._pool_lock:
            self._require_open()
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._open_reader()
        except BaseException:
            self._let_go(None)
            raise

    def give_back(self, con: apsw.Connection) -> None:
        """Return a reader to the pool."""
        with self._pool_lock:
            if not self.closed and len(self._idle) < IDLE_READERS:
                self._idle.append(con)
                self._in_use -= 1
                return
        self.discard(con)

    def discard(self, con: apsw.Connection) -> None:
        """Close a reader instead of returning it to the pool."""
        self._let_go(con)

    def _let_go(self, con: apsw.Connection | None) -> None:
        if con is not None:
            con.close()
        with self._pool_lock:
            self._in_use -= 1
            self._forget_if_unused()

    def _open_reader(self) -> apsw.Connection:
        """Open a read-only connection, without a log if the folder does not allow one."""
        if not self.path.exists():
            raise missing(self.given)

        patience = lock_waiting.TRY_SECONDS * 4
        try:
            return self._connected(self._connect_reader, self._setup_reader, patience)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            refuse_unfinished(self.path, self.given)
        con = self._connected(self._connect_as_is, self._setup_reader, patience)
        try:
            refuse_unfinished(self.path, self.given)  # it may have appeared in between
        except BaseException:
            con.close()
            raise
        return con

    def _connect_reader(self) -> apsw.Connection:
        return apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs)

    def _connect_as_is(self) -> apsw.Connection:
        uri = f"file:{quote(str(self.path))}?immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(uri, flags=flags, vfs=self._vfs)

    def _connected(
        self, connect: Callable[[], apsw.Connection], setup: Setup, patience: float
    ) -> apsw.Connection:
        """Open a connection and note which files it has opened."""
        if any(each.is_replaced() for each in self._same_path()):
            raise replaced(self.given)
        before = FilesSeen.at(self.path)
        self._locks.join(self.path)
        con = None
        try:
            con = connect()
            con.set_busy_handler(busy_handler(patience))
            setup(con)
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            now = FilesSeen.at(self.path)
            with self._pool_lock:
                if now.database != before.database or (self._seen not in (None, now)):
                    raise replaced(self.given)
                self._seen = now
            self._locks.hold(con, self.path)
        except BaseException:
            if con is not None:
                con.close()
            raise
        return con

    # -- writing ---------------------------------------------------------------------------

    def writer(self) -> apsw.Connection:
        """Return the connection for writing, opened on first use. Hold `lock`."""
        self._require_open()
        self.require_writable()
        if self._writer is not None and self._writer.in_transaction:
            return self._writer
        is_replaced = self.is_replaced()
        if is_replaced or self._writer is None:
            self.renew()
        if is_replaced and not self.path.exists():
            raise missing(self.given)
        if self._writer is None:
            try:
                self._writer = self._open_writer()
            except BaseException:
                with self._pool_lock:
                    self._forget_if_unused()
                raise
        return self._writer

    def _open_writer(self) -> apsw.Connection:
        create(self.path)

        def connect() -> apsw.Connection:
            con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
            guard_close(con)
            return con

        def setup(con: apsw.Connection) -> None:
            con.execute("PRAGMA foreign_keys = ON")
            self._setup_writer(con)

        return self._connected(connect, setup, lock_waiting.TRY_SECONDS)

    @contextmanager
    def transaction(self, con: apsw.Connection) -> Iterator[None]:
        """Run the block in one IMMEDIATE transaction, committed at its end or rolled back."""
        retried(con, "BEGIN IMMEDIATE")
        try:
            yield
            if self.is_replaced():
                raise replaced(self.given)
            # With a log this never waits; with a rollback journal, readers can delay it.
            retried(con, "COMMIT")
        except BaseException:
            if con.in_transaction:
                con.execute("ROLLBACK")
            raise
        if self.is_replaced():
            raise errors.ChangeUncertain(
                f"Another program replaced {self.given} or removed its log while a change was "
                "being written. The change may be lost: check before you repeat it."
            )

    # -- files that are replaced -------------------------------------------------------------

    def is_replaced(self) -> bool:
        """Tell whether other files than those that are open are at this path now."""
        seen = self._seen
        return seen is not None and FilesSeen.at(self.path) != seen

    def note_files(self, con: apsw.Connection) -> None:
        """Note the files again after this connection has begun to use a log."""
        with self._pool_lock:
            self._seen = FilesSeen.at(self.path)
        self._locks.hold(con, self.path)

    def renew(self) -> None:
        """Close the connections to files that were replaced, in the whole process.

        SQLite shares the index of a log between all connections of a process, so a new one must
        not be opened while an old one is left.
        """
        for each in self._same_path():
            each.refuse_old_log()
        deadline = time.monotonic() + RELEASE_SECONDS
        while any(
            [each.is_replaced() and not each.forget_connections() for each in self._same_path()]
        ):
            if time.monotonic() > deadline:
                raise replaced(self.given)
            time.sleep(0.01)

    def _same_path(self) -> list[SqliteFile]:
        with _all_files_lock:
            return [each for each in _all_files if each.path == self.path]

    def refuse_old_log(self) -> None:
        """Keep a new file from getting the log of one that was moved away.

        The log is merged into its own file if this process can do that.
        """
        seen, now = self._seen, FilesSeen.at(self.path)
        if seen is None or now.database == seen.database or now.log != seen.log or not now.log:
            return
        if self.lock.acquire(blocking=False):
            try:
                if self._writer is not None and not self._writer.in_transaction:
                    with suppress(apsw.Error):
                        self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                self.lock.release()
        if now.database is not None and unfinished(self.path) == self.log:
            raise errors.DatabaseReplaced(
                f"{self.given} was replaced, but {self.log.name} beside it belongs to the earlier "
                "file and would damage the new one. Close every program that uses it, move "
                f"{self.log.name} away, and open it again."
            )

    def forget_connections(self) -> bool:
        """Close all connections that are not in use; tell whether none is left."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            with self._pool_lock:
                idle, self._idle = self._idle, []
            for con in idle:
                con.close()
            if self._writer is not None and (self.closed or not self._writer.in_transaction):
                self._writer.close()
                self._writer = None
            with self._pool_lock:
                self._forget_if_unused()
                return self._seen is None
        finally:
            self.lock.release()

    def _forget_if_unused(self) -> None:
        if self._writer is None and not self._idle and not self._in_use:
            self._locks.release()
            self.generation += self._seen is not None
            self._seen = None

    # -- closing ---------------------------------------------------------------------------

    def close(self) -> None:
        """Close all connections. Further use raises; closing twice is fine.

        The log is left empty if nobody needs it: applied to another file, such as a backup copied
        to this path, it would damage that file.
        """
        with self.lock:
            with self._pool_lock:
                self.closed = True
            con = self._writer
            if con is not None and unfinished(self.path) and not self.is_replaced():
                con.set_busy_handler(busy_handler(CLOSING_SECONDS))
                empty_log(con, self.path)
            self.forget_connections()

    def close_at_exit(self) -> None:
        """Close what the program forgot to close, unless another thread or process is at work."""
        # A forked child must not touch the connections of its parent.
        if os.getpid() == self._process and self.lock.acquire(timeout=CLOSING_SECONDS):
            try:
                self.close()
            finally:
                self.lock.release()


_all_files: WeakSet[SqliteFile] = WeakSet()
_all_files_lock = threading.Lock()


@atexit.register
def _close_all() -> None:
    with _all_files_lock:
        left = list(_all_files)
    for file in left:
        file.close_at_exit()
