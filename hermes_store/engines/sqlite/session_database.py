"""The session database: readers that never lock, and one writer.

A `SqliteDatabase` is safe to share between threads. Each read sees one snapshot; each write is one
IMMEDIATE transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from hermes_store import errors
from hermes_store.engines.base import (
    Answer,
    Capabilities,
    NewMessage,
    Progress,
    Sizes,
    Synchronous,
    add_message,
)
from hermes_store.engines.sqlite import (
    migrations,
    session_activity_temp_view,
    unknown_layout,
)
from hermes_store.engines.sqlite.checkpoint import SIZE_LIMIT, Checkpointer
from hermes_store.engines.sqlite.cjk_stand_in import StandIn
from hermes_store.engines.sqlite.damage import mended_declarations
from hermes_store.engines.sqlite.file_capabilities import probe
from hermes_store.engines.sqlite.holders import holders
from hermes_store.engines.sqlite.lock_waiting import retried
from hermes_store.engines.sqlite.sqlite_file import SqliteFile
from hermes_store.engines.sqlite.transaction import SqliteTransaction

READER_CACHE_KIB = 250

log = logging.getLogger("hermes_store.database")
_warned_paths: set[Path] = set()


class SqliteDatabase:
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
        if synchronous not in ("FULL", "NORMAL"):
            raise errors.InvalidInput(f"synchronous is {synchronous!r}. Use 'FULL' or 'NORMAL'.")
        self._file = SqliteFile(
            path,
            read_only=read_only,
            setup_reader=_setup_reader,
            setup_writer=self._setup_writer,
            vfs=vfs,
        )
        self._synchronous = synchronous
        self._progress = progress
        self._probed: tuple[tuple[int, int], Capabilities] | None = None
        """Generation and schema cookie of the database, and the capabilities found for it."""
        self._provided: WeakKeyDictionary[apsw.Connection, int] = WeakKeyDictionary()
        self._ready: apsw.Connection | None = None
        """The connection for which the database was brought up to date."""
        if self.path.is_dir():
            raise errors.NotADatabase(
                f"{path} is a folder. Give the path of the database file in it."
            )
        try:
            with self._file.errors():
                if read_only:
                    self._check_reader()
                else:
                    with self._file.lock:
                        self._writer()
        except BaseException:
            self._file.close()
            raise

    def _check_reader(self) -> None:
        con = self._file.take_reader()
        try:
            self._refuse_strangers(con)
        finally:
            self._file.give_back(con)

    @property
    def path(self) -> Path:
        """The absolute path, with every symbolic link resolved."""
        return self._file.path

    @property
    def folder(self) -> Path:
        """Where the files that belong to it are, such as transcripts."""
        return self.path.parent

    @property
    def address(self) -> str:
        """What opens this database again."""
        return str(self.path)

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self.path)

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._file.read_only

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SqliteTransaction]:
        """Provide a read-only snapshot for the length of the block."""
        with self._file.errors(), self._file.snapshot() as con:
            yield self._transaction(con)

    def _transaction(self, con: apsw.Connection) -> SqliteTransaction:
        """Return a transaction that has `session_activity`, as a table or a view."""
        cookie = con.execute("PRAGMA schema_version").get
        known = (self._file.generation, cookie)
        probed = self._probed
        if probed is None or probed[0] != known or probed[1].unindexed is not None:
            self._probed = probed = (known, probe(con))
        caps = probed[1]
        if self._provided.get(con) != cookie:
            session_activity_temp_view.provide(con, caps)
            self._provided[con] = cookie
        return SqliteTransaction(con, caps)

    def _refuse_strangers(self, con: apsw.Connection) -> None:
        """Refuse a database of another kind, and an empty one if opened read-only."""
        found = probe(con)
        if not found.empty:
            return
        if found.tables:
            raise errors.NotADatabase(
                f"{self._file.given} is a database, but not a session database. Check the path."
            )
        if self.read_only:
            raise errors.DatabaseMissing(f"{self._file.given} is empty: it has no sessions yet.")

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(self, *, durable: bool = False, alone: bool = True) -> Iterator[SqliteTransaction]:
        """Run the block in one IMMEDIATE transaction, or join the one in progress.

        The transaction is committed when the block ends and rolled back when it raises. A
        `durable` one is on disk when the block has ended, even with `synchronous="NORMAL"`; so is
        everything that it could see. SQLite has one writer at a time, `alone` or not.
        """
        with self._file.lock, self._file.errors():
            con = self._writer()
            if con.in_transaction:
                yield self._transaction(con)
                return
            with self._flushed(con) if durable else nullcontext():
                try:
                    with self._file.transaction(con):
                        self._stand_in.missed = False
                        tx = self._transaction(con)
                        if tx.caps.missing:
                            raise errors.DatabaseReadOnly(unknown_layout.sentence(tx.caps.missing))
                        yield tx
                        self._stand_in.note(con)
                except BaseException:
                    self._provided.pop(con, None)  # the view was rolled back too
                    raise
            self._checkpointer.run_if_due()

    def append(self, message: Callable[[Capabilities], NewMessage]) -> int:
        """Add a message in a transaction of its own, and return its id."""
        with self.write(alone=False) as tx:
            return add_message(tx, message(tx.caps))

    def change(self, work: Callable[[SqliteTransaction], Answer], *, alone: bool = True) -> Answer:
        """Run some work in a transaction; waiting for locks is all it takes here."""
        with self.write(alone=alone) as tx:
            return work(tx)

    @contextmanager
    def _flushed(self, con: apsw.Connection) -> Iterator[None]:
        con.execute("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            con.execute(f"PRAGMA synchronous = {self._synchronous}")

    def _writer(self) -> apsw.Connection:
        """Return the connection for writing; bring a database just opened up to date."""
        con = self._file.writer()
        if con is not self._ready and not con.in_transaction:
            self._ready = con
            try:
                self._bring_up_to_date(con)
            except BaseException:
                self._ready = None
                raise
        return con

    def _bring_up_to_date(self, con: apsw.Connection) -> None:
        self._refuse_strangers(con)
        if probe(con).foreign:
            return
        self._use_log(con)
        if not migrations.is_current(con):
            self._refuse_misnamed_columns(con)
            migrations.bring_up_to_date(self.write, self.path, self._progress)

    def _refuse_misnamed_columns(self, con: apsw.Connection) -> None:
        """Refuse to add an empty column beside one whose name was damaged."""
        damaged = mended_declarations(con)
        if damaged:
            raise errors.DatabaseCorrupt(
                f"{self._file.given} is damaged: a column of {' and '.join(sorted(damaged))} lost "
                "its name. Run 'hermes sessions doctor --repair', which keeps a copy of the "
                "damaged file."
            )

    def _setup_writer(self, con: apsw.Connection) -> None:
        con.execute(f"PRAGMA journal_size_limit = {SIZE_LIMIT}")
        con.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._checkpointer = Checkpointer(con, self.path)
        self._stand_in = StandIn(con)

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
        finally:
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # opens the log
            self._file.note_files(con)
        if mode != "wal" and self.path not in _warned_paths:
            _warned_paths.add(self.path)
            log.warning(
                "The file system of %s does not support write-ahead logging. The store works, "
                "but readers and writers wait for each other; move it to a local disk if you can.",
                self.path,
            )

    def sizes(self) -> Sizes:
        """Return how much space the file and its log take."""
        with self.read() as tx:
            page = int(tx.value("PRAGMA page_size"))
            pages = int(tx.value("PRAGMA page_count"))
            free = int(tx.value("PRAGMA freelist_count"))
        log_file = self.path.with_name(self.path.name + "-wal")
        in_log = log_file.stat().st_size if log_file.exists() else 0
        return Sizes(pages * page, in_log, free * page)

    def vacuum(self) -> None:
        """Rewrite the file without its free pages."""
        self.run_outside_transaction("VACUUM")

    def is_shared(self) -> bool:
        """Tell whether other processes have the file open."""
        return bool(holders(self.path))

    def run_outside_transaction(self, sql: str) -> None:
        """Run a statement that SQLite refuses inside a transaction, such as VACUUM."""
        with self._file.lock, self._file.errors():
            retried(self._writer(), sql)
            self._checkpointer.run()

    def truncate_log(self) -> bool:
        """Empty the write-ahead log; return False if another connection needs it."""
        with self._file.lock, self._file.errors():
            self._writer()
            return self._checkpointer.empty()

    def close(self) -> None:
        """Close all connections. Further use raises; closing twice is fine."""
        self._file.close()


def _setup_reader(con: apsw.Connection) -> None:
    con.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
