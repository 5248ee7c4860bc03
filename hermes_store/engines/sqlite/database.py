"""Connections in two roles: readers that can never lock, and one writer that queues fairly.

A `Database` is safe to share between threads. Reads come from a pool of read-only connections,
each block seeing one snapshot. Writes go through a single connection in IMMEDIATE transactions.
The writer never unlinks a live write-ahead log when it closes, whoever else holds the file.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hermes_store import errors
from hermes_store.engines.base import Capabilities, Progress, Synchronous
from hermes_store.engines.sqlite import migrations
from hermes_store.engines.sqlite.capabilities import probe
from hermes_store.engines.sqlite.checkpoint import SIZE_LIMIT, Checkpointer
from hermes_store.engines.sqlite.durability import LogSync, configure
from hermes_store.engines.sqlite.error_translation import translated
from hermes_store.engines.sqlite.file import create_file, guard_close
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.engines.sqlite.writer_queue import WriterQueue

MAX_TRIES = 15
TRY_SECONDS = 1.2
"""How long one try waits; fifteen of them are more patient than 15 times 1.15 s, the wait that
Hermes programs are used to."""
QUICK_STEPS = 300
"""How often a writer looks whether the lock is free before it takes its time: about 150 ms."""
IDLE_READERS = 2
READER_CACHE_KIB = 250

log = logging.getLogger("hermes_store.connection")
_warned_paths: set[Path] = set()


def _wait_a_little(budget: float) -> Callable[[int], bool]:
    """Return a busy handler that waits in short random steps, up to `budget`.

    Programs that do not queue take the lock again at once, so that it is free for a fraction of
    a millisecond only; with longer steps each of three writers of this store got a quarter as
    much done as each of two of Hermes Agent, with shorter ones those would have to wait.
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


class Database:
    """One database file, opened for reading or for reading and writing."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        synchronous: Synchronous = "FULL",
        progress: Progress | None = None,
        vfs: str | None = None,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._vfs = vfs
        self._lock = threading.RLock()
        self._pool_lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        self._immutable = False
        self._caps: Capabilities | None = None
        self._cookie = -1
        self._writer: apsw.Connection | None = None
        self._queue = WriterQueue(path)
        self._log_sync: LogSync | None = None
        if path.is_dir():
            raise errors.NotADatabase(
                f"{path} is a folder. Give the path of the database file in it."
            )
        with translated(path):
            if read_only:
                con = self._open_reader()
                self._refuse_strangers(con)
                self._give_back(con)
            else:
                self._open_writer(synchronous, progress)

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Give a consistent, read-only view for the length of the block."""
        with translated(self.path):
            con = self._take()
            try:
                with self._snapshot(con):
                    yield Transaction(con, self._capabilities(con))
            finally:
                self._give_back(con)

    @staticmethod
    @contextmanager
    def _snapshot(con: apsw.Connection) -> Iterator[None]:
        con.execute("BEGIN")
        try:
            yield
        finally:
            if con.in_transaction:
                # Not ROLLBACK: search keeps a temporary table, and taking it back would make
                # SQLite read the whole schema again the next time, which takes a millisecond.
                con.execute("COMMIT")

    def _take(self) -> apsw.Connection:
        with self._pool_lock:
            if self._closed:
                raise errors.StoreError(f"The store on {self.path} is closed.")
            if self._idle:
                return self._idle.pop()
        return self._open_reader()

    def _give_back(self, con: apsw.Connection) -> None:
        with self._pool_lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(con)
                return
        con.close()

    def _open_reader(self) -> apsw.Connection:
        if self._immutable:
            return self._open_immutable()
        if not self.path.exists():
            raise errors.DatabaseMissing(
                f"There is no session database at {self.path} yet. It appears with the first "
                "conversation; --home or HERMES_HOME points elsewhere."
            )
        con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs)
        try:
            self._configure_reader(con)
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            con.close()
            return self._open_immutable()
        return con

    def _open_immutable(self) -> apsw.Connection:
        """Open a file whose folder lets us create neither log nor shared memory.

        That is safe only while there is no log with newer rows in it.
        """
        wal = self.path.with_name(self.path.name + "-wal")
        if wal.exists() and wal.stat().st_size > 0:
            raise errors.DatabaseUnreadable(
                f"{self.path} has unmerged changes in {wal.name} and its folder is "
                "write-protected. Copy both files to a folder of your own and open the copy."
            )
        from urllib.parse import quote

        self._immutable = True
        con = apsw.Connection(
            f"file:{quote(str(self.path))}?immutable=1",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            vfs=self._vfs,
        )
        self._configure_reader(con)
        return con

    @staticmethod
    def _configure_reader(con: apsw.Connection) -> None:
        con.set_busy_handler(_wait_a_little(TRY_SECONDS * 4))
        con.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")

    def _capabilities(self, con: apsw.Connection) -> Capabilities:
        """Return the probe's answers, anew if any process changed the schema."""
        cookie = con.execute("PRAGMA schema_version").get
        with self._pool_lock:
            if self._caps is not None and cookie == self._cookie and not self._rebuilding():
                return self._caps
        caps = probe(con)
        with self._pool_lock:
            self._caps, self._cookie = caps, cookie
        return caps

    def _rebuilding(self) -> bool:
        return self._caps is not None and self._caps.rebuild_floor is not None

    def _refuse_strangers(self, con: apsw.Connection) -> None:
        """Refuse a database of some other program, and an empty one that may not be filled."""
        found = probe(con)
        if not found.empty:
            return
        if found.tables:
            con.close()
            raise errors.NotADatabase(
                f"{self.path} is a database, but not one of sessions. Check the path."
            )
        if self.read_only:
            con.close()
            raise errors.DatabaseMissing(f"{self.path} is empty: there are no sessions in it yet.")

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Run the block in one IMMEDIATE transaction; inside another one, join it.

        The transaction is committed when the block ends and rolled back when it raises.
        """
        with self._lock, translated(self.path):
            con = self._writable()
            if con.in_transaction:
                yield Transaction(con, self._capabilities(con))
                return
            before = con.total_changes()
            with self._queue.turn():
                self._begin(con)
                try:
                    yield Transaction(con, self._capabilities(con))
                    self._commit(con)
                except BaseException:
                    if con.in_transaction:
                        con.execute("ROLLBACK")
                    raise
                self._checkpointer.run_if_due()
            if self._log_sync is not None and con.total_changes() != before:
                self._log_sync.wait()

    def _writable(self) -> apsw.Connection:
        if self._closed:
            raise errors.StoreError(f"The store on {self.path} is closed.")
        if self._writer is None:
            raise errors.DatabaseReadOnly(
                f"{self.path} was opened read-only. Open it without read_only to change it."
            )
        return self._writer

    @staticmethod
    def _begin(con: apsw.Connection) -> None:
        for left in reversed(range(MAX_TRIES)):
            try:
                con.execute("BEGIN IMMEDIATE")
                return
            except (apsw.BusyError, apsw.LockedError):
                if not left:
                    raise
                time.sleep(random.uniform(0.001, 0.020))

    @staticmethod
    def _commit(con: apsw.Connection) -> None:
        # With a log this never waits; with a rollback journal readers can hold it up.
        for left in reversed(range(MAX_TRIES)):
            try:
                con.execute("COMMIT")
                return
            except apsw.BusyError:
                if not left:
                    raise

    def _open_writer(self, synchronous: Synchronous, progress: Progress | None) -> None:
        create_file(self.path)
        con = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
        try:
            con.set_busy_handler(_wait_a_little(TRY_SECONDS))
            guard_close(con)
            con.execute("PRAGMA foreign_keys = ON")
            con.execute(f"PRAGMA journal_size_limit = {SIZE_LIMIT}")
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            self._checkpointer = Checkpointer(con, self.path)
            self._writer = con
            self._refuse_strangers(con)
            if not probe(con).foreign:
                self._use_log(con)
            self._log_sync = configure(con, self.path, full=synchronous == "FULL")
            if not probe(con).foreign and not migrations.is_current(con):
                migrations.bring_up_to_date(self.write, self.path, progress)
        except BaseException:
            self._writer = None
            con.close()
            self._queue.close()
            raise

    def _use_log(self, con: apsw.Connection) -> None:
        """Switch to write-ahead logging; stay with a rollback journal where it cannot work."""
        if con.execute("PRAGMA journal_mode").get == "wal":
            return
        try:
            mode = con.execute("PRAGMA journal_mode = WAL").get
        except (apsw.IOError, apsw.ProtocolError, apsw.CantOpenError):
            mode = "delete"
        except apsw.BusyError:
            return  # in use by somebody; the next open tries again
        if mode != "wal" and self.path not in _warned_paths:
            _warned_paths.add(self.path)
            log.warning(
                "The file system of %s does not support write-ahead logging. The store works, "
                "but readers and writers wait for each other; keep it on a local disk if you can.",
                self.path,
            )

    # -- the end ---------------------------------------------------------------------------

    def run_outside_transaction(self, sql: str) -> None:
        """Run a statement that SQLite refuses inside a transaction, such as VACUUM."""
        with self._lock, translated(self.path), self._queue.turn():
            con = self._writable()
            for left in reversed(range(MAX_TRIES)):
                try:
                    con.execute(sql)
                    break
                except (apsw.BusyError, apsw.LockedError):
                    if not left:
                        raise
            self._checkpointer.run()

    def truncate_log(self) -> None:
        """Empty the write-ahead log if nobody else needs it just now."""
        with self._lock, self._queue.turn(), suppress(apsw.BusyError, apsw.LockedError):
            self._writable().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Close all connections. Further use raises; closing twice is fine."""
        with self._lock, self._pool_lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
            for con in idle:
                con.close()
            if self._writer is not None:
                with suppress(apsw.Error):  # a checkpoint at the end is a courtesy
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                self._writer.close()
                self._writer = None
            self._queue.close()
            if self._log_sync is not None:
                self._log_sync.close()
