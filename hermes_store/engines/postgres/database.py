"""The session database on a PostgreSQL server.

A `PostgresDatabase` is safe to share between threads. Each read sees one snapshot. Whoever adds
messages shares a lock with all others who do; whoever changes anything else has it alone, so that
"look, then change" is as safe as in SQLite. Readers never wait.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from hermes_store import errors
from hermes_store.config import paths
from hermes_store.engines.base import (
    Answer,
    Capabilities,
    FullText,
    NewMessage,
    NoSuchRow,
    Sizes,
    add_message,
)
from hermes_store.engines.postgres import appending, migrations
from hermes_store.engines.postgres.address import Address
from hermes_store.engines.postgres.connections import (
    STATEMENT_SECONDS,
    Connection,
    Connections,
)
from hermes_store.engines.postgres.dialect import DIALECT
from hermes_store.engines.postgres.error_translation import (
    AGAIN,
    ROLLED_BACK,
    is_lost,
    translated,
)
from hermes_store.engines.postgres.indexing import BackgroundIndexing, channel_of
from hermes_store.engines.postgres.locks import Lock, key_of
from hermes_store.engines.postgres.receipts import Receipts
from hermes_store.engines.postgres.snapshots import Snapshots
from hermes_store.engines.postgres.transaction import PostgresTransaction
from hermes_store.engines.sqlite.schema import SCHEMA_VERSION
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.records.safe_text import clean

log = logging.getLogger("hermes_store.postgres")
_TRIES = 8


class _Lost(Exception):
    """The connection was lost before the change was made; it can be made again."""


class PostgresDatabase:
    """One schema of a database on a server, opened for reading or for reading and writing."""

    def __init__(
        self,
        given: str,
        *,
        read_only: bool = False,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self._address = Address.parse(given)
        self._read_only = read_only
        self._here = threading.local()
        self._caps: Capabilities | None = None
        self.indexing = BackgroundIndexing(self)
        self.connections = Connections(
            self._address, read_only=read_only, statement_seconds=statement_seconds
        )
        self._snapshots = Snapshots(self.connections, self._reading)
        self._receipts = Receipts(self.connections, self.schema, self.name)
        with translated(self.name), self.connections.alone() as con:
            self._prepare(con)
            self._caps = self._probe(con)
        self.connections.open()

    def _prepare(self, con: Connection) -> None:
        migrations.refuse_strangers(con, self.schema, self.name)
        if not self._read_only:
            migrations.bring_up_to_date(con, self.schema, self.name)
        elif not (steps := migrations.applied(con, self.schema)):
            raise errors.DatabaseMissing(
                f"There are no sessions in the schema {self.schema} of {self.name} yet. Check the "
                "address, or let its owner write there, as with 'hermes sessions push'."
            )
        elif not migrations.is_current(steps):
            raise errors.DatabaseMissing(
                f"The schema {self.schema} of {self.name} was made by an older version of this "
                "program. Let its owner open it for writing once, as with "
                "'hermes sessions postgres index'."
            )
        encoding = con.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            log.warning(
                "%s stores text as %s. What that cannot express is refused, and so are pictures "
                "and other structured content; a database with the encoding UTF8 takes everything.",
                self.name,
                clean(str(encoding)),
            )

    def _probe(self, con: Connection) -> Capabilities:
        tx = PostgresTransaction(con, None)  # type: ignore[arg-type]
        tables = con.execute(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = $1", (self.schema,)
        ).fetchall()
        hidden = ("origin", "origin_id", "origin_message_id", "origin_sum")
        return Capabilities(
            version=SCHEMA_VERSION,
            foreign=False,
            session_columns=tuple(n for n in tx.columns("sessions") if n not in hidden),
            message_columns=tuple(n for n in tx.columns("messages") if n not in hidden),
            tables=frozenset(str(name) for (name,) in tables),
            words=FullText.LEXEMES,
            trigram=FullText.LEXEMES,
            activity=True,
            unindexed=None,
            dialect=DIALECT,
            typed=True,
        )

    # -- what it is ------------------------------------------------------------------------

    @property
    def schema(self) -> str:
        """The schema of the profile."""
        return self._address.schema

    @property
    def folder(self) -> Path:
        """Where the files that belong to it are, such as transcripts: the home folder."""
        return paths.hermes_home()

    @property
    def path(self) -> Path:
        """There is no file."""
        raise errors.InvalidInput(f"{self.name} is on a server; there is no file.")

    @property
    def address(self) -> str:
        """What opens this database again; may hold a password, so it is never shown."""
        return self._address.given

    @property
    def name(self) -> str:
        """What people call it: the address without the password."""
        return self._address.name

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._read_only

    def capabilities(self) -> Capabilities:
        """Return what the schema can do."""
        assert self._caps is not None
        return self._caps

    def key_of(self, lock: Lock) -> tuple[int, int]:
        """Return the two numbers of a lock of this schema."""
        return key_of(lock, self.schema)

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        """Provide a read-only snapshot for the length of the block.

        Inside of a change, it is that of the change, and inside of another read, that one's.
        """
        joined = self._in_progress(Lock.CHANGE)
        if joined is not None:
            yield joined
            return
        with translated(self.name), self._snapshots.read() as tx:
            yield tx

    def ask_once(self, question: Callable[[PostgresTransaction], Answer]) -> Answer:
        """Answer a question of one statement, which needs neither a beginning nor an end."""
        joined = self._in_progress(Lock.CHANGE) or self._in_progress(Lock.SIDECAR)
        if joined is not None:
            return question(joined)
        answers: list[Answer] = []
        with translated(self.name), self._snapshots.current() as tx:
            if tx is not None:
                return question(tx)
            con = self.connections.take(lambda con: answers.append(question(self._reading(con))))
            self.connections.give_back(con)
        return answers[-1]

    def _reading(self, con: Connection) -> PostgresTransaction:
        return PostgresTransaction(con, self.capabilities(), row_limit=self._address.row_limit)

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def write(
        self, *, durable: bool = False, alone: bool = True, lock: Lock = Lock.CHANGE
    ) -> Iterator[PostgresTransaction]:
        """Run the block in one transaction, or join the one in progress.

        The transaction is committed when the block ends and rolled back when it raises. No other
        process changes anything meanwhile, unless it is not `alone`. Every commit is `durable`.
        """
        joined = self._in_progress(lock)
        if joined is not None:
            yield joined
            return
        if self._read_only:
            raise errors.DatabaseReadOnly(f"{self.name} was opened read-only. Nothing was changed.")
        with translated(self.name):
            try:
                with self._transaction(lock, alone=alone) as tx:
                    yield tx
            except _Lost as error:
                raise errors.ServerUnreachable(
                    f"The connection to {self.name} was lost. {ROLLED_BACK}; try again."
                ) from error.__cause__
        self._snapshots.forget()
        if lock is Lock.CHANGE:
            self.indexing.wake()

    def _in_progress(self, lock: Lock) -> PostgresTransaction | None:
        found: PostgresTransaction | None = getattr(self._here, lock.name, None)
        return found

    @contextmanager
    def _transaction(self, lock: Lock, *, alone: bool) -> Iterator[PostgresTransaction]:
        kind = "" if alone else "_shared"
        first, second = self.key_of(lock)
        key = uuid4()

        def begin(con: Connection) -> None:
            # All in one message to the server.
            con.execute(
                f"BEGIN; SELECT pg_advisory_xact_lock{kind}({first}, {second}); "
                f"INSERT INTO {quote(self.schema)}.changes(key) VALUES ('{key}')"
            )

        con = self.connections.take(begin)
        try:
            tx = PostgresTransaction(con, self.capabilities())
            setattr(self._here, lock.name, tx)
            try:
                yield tx
            except psycopg.Error as error:
                if is_lost(error):
                    raise _Lost from error
                raise
            finally:
                delattr(self._here, lock.name)
            self._commit(con, key, tell=alone)
        finally:
            self.connections.give_back(con)

    def _commit(self, con: Connection, key: UUID, *, tell: bool) -> None:
        """Commit; if the connection is lost meanwhile, ask the server what became of it.

        Whoever adds messages tells nobody: commits that do queue behind one lock of the server.
        Indexing tells of them a moment later.
        """
        try:
            con.execute(f"NOTIFY {channel_of(self.schema)}; COMMIT" if tell else "COMMIT")
            return
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            lost = error
        if self._receipts.of(key) is None:
            raise _Lost from lost

    def change(
        self, work: Callable[[PostgresTransaction], Answer], *, alone: bool = True
    ) -> Answer:
        """Run some work in a transaction, again if the server gave it up or went away.

        It is never done twice: the server knows whether a transaction was committed.
        """
        if self._in_progress(Lock.CHANGE) is not None or self._read_only:
            with self.write(alone=alone) as tx:
                return work(tx)

        def once() -> Answer:
            with self._transaction(Lock.CHANGE, alone=alone) as tx:
                return work(tx)

        return self._until_done(once)

    def append(self, message: Callable[[Capabilities], NewMessage]) -> int:
        """Add a message in a transaction of its own, and return its id.

        One statement does everything, so a writer waits for the server once. What it tells nobody
        of is told by indexing a moment later, as of all messages.
        """
        new = message(self.capabilities())
        if self._in_progress(Lock.CHANGE) is None and not self._read_only:
            return self._until_done(lambda: self._append(new))
        with self.write(alone=False) as tx:
            return add_message(tx, new)

    def _append(self, new: NewMessage) -> int:
        key = uuid4()
        statement = appending.statement(new, key, self.key_of(Lock.CHANGE))
        con = self.connections.take(lambda con: None)
        try:
            tx = PostgresTransaction(con, self.capabilities())
            return int(tx.value(statement.sql, statement.values))
        except NoSuchRow:
            raise errors.SessionNotFound(str(new.row["session_id"])) from None
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            lost = error
        finally:
            self.connections.give_back(con)
        made = self._receipts.of(key)
        if made is None or made[0] is None:
            raise _Lost from lost
        return made[0]

    def _until_done(self, attempt: Callable[[], Answer]) -> Answer:
        """Make a change, again if the server gave it up or went away."""
        for left in reversed(range(_TRIES)):
            try:
                with translated(self.name):
                    answer = attempt()
            except (_Lost, errors.DatabaseLocked) as error:
                again = isinstance(error, _Lost) or isinstance(error.__cause__, AGAIN)
                if not left or not again:
                    if isinstance(error, _Lost):
                        raise errors.ServerUnreachable(
                            f"The connection to {self.name} was lost. {ROLLED_BACK}; try again."
                        ) from error.__cause__
                    raise
                time.sleep(random.uniform(0, 0.05 * 2 ** (_TRIES - left)))
            else:
                self._snapshots.forget()
                self.indexing.wake()
                return answer
        raise AssertionError("unreachable")

    # -- upkeep ----------------------------------------------------------------------------

    def sizes(self) -> Sizes:
        """Return how much space the tables of the schema take, with their indexes."""
        with self.read() as tx:
            total = tx.value(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
                "JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE n.nspname = ? AND c.relkind = 'r'",
                (self.schema,),
            )
        return Sizes(int(total), 0, 0)

    def vacuum(self) -> None:
        """Let the server reuse the space of deleted rows."""
        if self._read_only:
            raise errors.DatabaseReadOnly(f"{self.name} was opened read-only. Nothing was changed.")
        with translated(self.name):
            con = self.connections.take(lambda con: con.execute("SET statement_timeout = 0"))
            refused: list[str] = []
            con.add_notice_handler(lambda each: refused.append(each.severity_nonlocalized or ""))
            try:
                for table in ("messages", "sessions", "session_activity", "message_words", "todo"):
                    con.execute(f"VACUUM (ANALYZE) {quote(self.schema)}.{table}")
            finally:
                con.close()
                self.connections.give_back(con)
        if "WARNING" in refused:  # it skipped a table
            raise errors.DatabaseReadOnly(
                f"Only the owner of the schema {self.schema} may run VACUUM there. The server does "
                "so by itself, too; nothing is lost without it."
            )

    def is_shared(self) -> bool:
        """Nobody waits for a vacuum of PostgreSQL."""
        return False

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        self.indexing.close()
        self.connections.close()
