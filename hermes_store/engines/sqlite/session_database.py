"""The session database: readers that never lock, and one writer that queues fairly.

A `Database` is safe to share between threads. Each read sees one snapshot; each write is one
IMMEDIATE transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from hermes_store import errors
from hermes_store.engines.base import Capabilities, Progress, Synchronous
from hermes_store.engines.sqlite import migrations, session_activity_temp_view
from hermes_store.engines.sqlite.checkpoint import SIZE_LIMIT, Checkpointer
from hermes_store.engines.sqlite.durability import LogSync, configure
from hermes_store.engines.sqlite.file_capabilities import probe
from hermes_store.engines.sqlite.sqlite_file import SqliteFile, retried
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.engines.sqlite.writer_queue import WriterQueue

READER_CACHE_KIB = 250

log = logging.getLogger("hermes_store.database")
_warned_paths: set[Path] = set()


class Database:
    """One session database, opened for reading or for reading and writing."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        synchronous: Synchronous = "FULL",
        progress: Progress | None = None,
        vfs: str | None = None,
    ) -> None:
        self._file = SqliteFile(
            path,
            read_only=read_only,
            setup_reader=_setup_reader,
            setup_writer=_setup_writer,
            vfs=vfs,
        )
        self._probed: tuple[int, Capabilities] | None = None
        """The schema cookie of the database and the capabilities found for it."""
        self._provided: WeakKeyDictionary[apsw.Connection, int] = WeakKeyDictionary()
        self._queue = WriterQueue(self.path)
        self._log_sync: LogSync | None = None
        if self.path.is_dir():
            raise errors.NotADatabase(
                f"{path} is a folder. Give the path of the database file in it."
            )
        with self._file.errors():
            if read_only:
                con = self._file.open_reader()
                self._refuse_strangers(con)
                self._file.give_back(con)
            else:
                self._open_writer(synchronous, progress)

    @property
    def path(self) -> Path:
        """The absolute path, with every symbolic link resolved."""
        return self._file.path

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._file.read_only

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Provide a read-only snapshot for the length of the block."""
        with self._file.errors(), self._file.snapshot() as con:
            yield self._transaction(con)

    def _transaction(self, con: apsw.Connection) -> Transaction:
        """Return a transaction that has `session_activity`, as a table or a view."""
        cookie = con.execute("PRAGMA schema_version").get
        probed = self._probed
        if probed is None or probed[0] != cookie or probed[1].rebuild_floor is not None:
            self._probed = probed = (cookie, probe(con))
        caps = probed[1]
        if self._provided.get(con) != cookie:
            session_activity_temp_view.provide(con, caps)
            self._provided[con] = cookie
        return Transaction(con, caps)

    def _refuse_strangers(self, con: apsw.Connection) -> None:
        """Refuse a database of another kind, and an empty one if opened read-only."""
        found = probe(con)
        if not found.empty:
            return
        if found.tables:
            con.close()
            raise errors.NotADatabase(
                f"{self._file.given} is a database, but not a session database. Check the path."
            )
        if self.read_only:
            con.close()
            raise errors.DatabaseMissing(f"{self._file.given} is empty: it has no sessions yet.")

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Run the block in one IMMEDIATE transaction, or join the one in progress.

        The transaction is committed when the block ends and rolled back when it raises.
        """
        with self._file.lock, self._file.errors():
            con = self._file.writer()
            if con.in_transaction:
                yield self._transaction(con)
                return
            before = con.total_changes()
            with self._queue.turn():
                try:
                    with self._file.transaction(con):
                        yield self._transaction(con)
                except BaseException:
                    self._provided.pop(con, None)  # the view was rolled back too
                    raise
                self._checkpointer.run_if_due()
            if self._log_sync is not None and con.total_changes() != before:
                self._log_sync.wait()

    def _open_writer(self, synchronous: Synchronous, progress: Progress | None) -> None:
        try:
            con = self._file.writer()
            self._checkpointer = Checkpointer(con, self.path)
            self._refuse_strangers(con)
            foreign = probe(con).foreign
            if not foreign:
                self._use_log(con)
            self._log_sync = configure(con, self._file.log, full=synchronous == "FULL")
            if not foreign and not migrations.is_current(con):
                migrations.bring_up_to_date(self.write, self.path, progress)
        except BaseException:
            self._file.close()
            self._queue.close()
            raise

    def _use_log(self, con: apsw.Connection) -> None:
        """Switch to write-ahead logging; keep a rollback journal where that is not supported."""
        if con.execute("PRAGMA journal_mode").get == "wal":
            return
        try:
            mode = con.execute("PRAGMA journal_mode = WAL").get
        except (apsw.IOError, apsw.ProtocolError, apsw.CantOpenError):
            mode = "delete"
        except apsw.BusyError:
            return  # in use by another process; the next open tries again
        if mode != "wal" and self.path not in _warned_paths:
            _warned_paths.add(self.path)
            log.warning(
                "The file system of %s does not support write-ahead logging. The store works, "
                "but readers and writers wait for each other; move it to a local disk if you can.",
                self.path,
            )

    def run_outside_transaction(self, sql: str) -> None:
        """Run a statement that SQLite refuses inside a transaction, such as VACUUM."""
        with self._file.lock, self._file.errors(), self._queue.turn():
            retried(self._file.writer(), sql)
            self._checkpointer.run()

    def truncate_log(self) -> None:
        """Empty the write-ahead log, unless another connection needs it."""
        with (
            self._file.lock,
            self._file.errors(),
            self._queue.turn(),
            suppress(apsw.BusyError, apsw.LockedError),
        ):
            self._file.writer().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Close all connections. Further use raises; closing twice is fine."""
        with self._file.lock:
            if self._file.closed:
                return
            if not self.read_only:
                with suppress(apsw.Error):  # a checkpoint at the end is a courtesy
                    self._file.writer().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._file.close()
            self._queue.close()
            if self._log_sync is not None:
                self._log_sync.close()


def _setup_reader(con: apsw.Connection) -> None:
    con.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")


def _setup_writer(con: apsw.Connection) -> None:
    con.execute(f"PRAGMA journal_size_limit = {SIZE_LIMIT}")
