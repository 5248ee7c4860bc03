"""Connections to one server: opened when needed, kept in a pool, replaced when they are lost."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolTimeout

from hermes_store.engines.postgres.address import Address
from hermes_store.engines.postgres.error_translation import is_lost, translate
from hermes_store.engines.postgres.text_coding import ESCAPE, decoded
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import DatabaseLocked, InvalidInput, ServerUnreachable, StoreError

MOST_CONNECTIONS = 12
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60
LOCK_SECONDS = 30
RECONNECT_SECONDS = 2.0
POOL_SECONDS = 1.0
PATIENCE, READERS_PATIENCE = 15.0, 5.0
"""Seconds for which a server may be away, as during a restart, before that is an error.

Somebody waits for what is read, and can ask again.
"""

# What it warns of is told by an exception, or mends itself; on a screen, it would be a mess.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

Connection = psycopg.Connection[tuple[Any, ...]]


_UNKNOWN_OPTION = re.compile(
    'invalid (?:URI query parameter|connection option)[^"]*"([a-z_A-Z0-9]+)"'
)
_KEPT_ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""So that a server that vanished without a word is noticed within a minute."""


class _Text(TextLoader):
    """Text as it was before it was stored."""

    def load(self, data: Any) -> str | bytes:
        text = super().load(data)
        return decoded(text) if isinstance(text, str) and ESCAPE in text else text


class _Number(Loader):
    """A number of the server's as one of Python: SUM of whole numbers is a whole number."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        try:
            return int(text)
        except ValueError:
            return float(text)


class Connections:
    """The connections of one database to its server. Safe to share between threads."""

    def __init__(self, address: Address, *, read_only: bool, statement_seconds: float) -> None:
        self._address = address
        self._read_only = read_only
        self._statement_seconds = statement_seconds
        self._pool: ConnectionPool[Connection] | None = None

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Provide a connection outside of the pool; the first one tells what is wrong."""
        con = self._connect()
        try:
            self._set_up(con)
            yield con
        finally:
            con.close()

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(
                self._address.connection,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                **self._options(),
            )
        except psycopg.ProgrammingError as error:
            # Not all of libpq's own words: they may quote the password.
            unknown = _UNKNOWN_OPTION.search(str(error))
            what = f'there is no option "{unknown[1]}"' if unknown else "libpq cannot read it"
            raise InvalidInput(
                f"{self._address.name} is not a valid address: {what}. The options are those of "
                "libpq, schema and row_limit."
            ) from None
        except psycopg.Error as error:
            raise translate(error, self._address.name) from error

    def _options(self) -> dict[str, Any]:
        given = conninfo_to_dict(self._address.connection)
        chosen: dict[str, Any] = {}
        chosen |= {"connect_timeout": CONNECT_SECONDS, "application_name": "hermes-sessions"}
        chosen |= _KEPT_ALIVE
        return {name: value for name, value in chosen.items() if name not in given}

    def _set_up(self, con: Connection) -> None:
        con.adapters.register_loader("text", _Text)
        con.adapters.register_loader("varchar", _Text)
        con.adapters.register_loader("numeric", _Number)
        # Statements are short: starting a parallel worker takes longer than most of them.
        con.execute(
            f"SET search_path = {quote(self._address.schema)}; SET client_encoding = 'UTF8'; "
            "SET max_parallel_workers_per_gather = 0;"
        )
        given = str(conninfo_to_dict(self._address.connection).get("options", ""))
        if "statement_timeout" not in given:
            con.execute(f"SET statement_timeout = {int(self._statement_seconds * 1000)}")
        if "lock_timeout" not in given:
            con.execute(f"SET lock_timeout = {LOCK_SECONDS * 1000}")
        if self._read_only:
            con.execute("SET default_transaction_read_only = on")

    def open(self) -> None:
        """Open the pool."""
        self._pool = ConnectionPool(
            self._address.connection,
            connection_class=psycopg.Connection,
            kwargs={
                "autocommit": True,
                "cursor_factory": psycopg.RawCursor,
                **self._options(),
            },
            min_size=0,
            max_size=MOST_CONNECTIONS,
            configure=self._set_up,
            max_idle=600,
            # It waits ever longer between two tries, so it should begin anew soon.
            reconnect_timeout=RECONNECT_SECONDS,
            num_workers=1,
            open=True,
        )

    def take(self, begin: Callable[[Connection], Any]) -> Connection:
        """Return a connection on which something could begin.

        A connection that was lost since it was used last is replaced; while the server is away,
        as during a restart, it is tried again.
        """
        assert self._pool is not None
        if self._pool.closed:
            raise StoreError(f"The store on {self._address.name} is closed.")
        end = time.monotonic() + (READERS_PATIENCE if self._read_only else PATIENCE)
        pause = 0.02
        while True:
            try:
                con = self._pool.getconn(timeout=POOL_SECONDS)
            except PoolTimeout as error:
                self._why_not(error, end)
                continue
            try:
                begin(con)
                return con
            except psycopg.Error as error:
                self.give_back(con)
                if not is_lost(error) or time.monotonic() >= end:
                    raise
            except BaseException:
                self.give_back(con)
                raise
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, 0.5)

    def _why_not(self, error: PoolTimeout, end: float) -> None:
        """Ask the server itself why there was no connection; raise if it is of no use to wait.

        The pool does not say why, and notices only a while later that a server is back.
        """
        try:
            self._connect().close()
        except ServerUnreachable:
            if time.monotonic() >= end:
                raise
            time.sleep(random.uniform(0, 0.5))
        except DatabaseLocked:  # it has no connection left, but others of this program end soon
            if time.monotonic() >= end:
                raise
        else:
            # There is a server: all connections are in use, or the pool is about to have one.
            if time.monotonic() >= end + CONNECT_SECONDS:
                raise translate(error, self._address.name) from error

    def give_back(self, con: Connection) -> None:
        """Return a connection to the pool, which throws away a broken one."""
        assert self._pool is not None
        if con.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                con.rollback()
        self._pool.putconn(con)

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        if self._pool is not None:
            self._pool.close(timeout=1.0)
