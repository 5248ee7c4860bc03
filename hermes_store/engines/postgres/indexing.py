"""Indexes the words of new messages, in the background of whoever has a store open.

A message is written together with a row in `todo`. Whoever gets the lock takes rows from there
and adds words to the index; everyone else goes on. A search reads what is left in `todo` first, so
it is right before the index is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import psycopg
from psycopg import errors as pg

from hermes_store.engines.postgres import lexemes
from hermes_store.engines.postgres.connections import Connection, Connections
from hermes_store.engines.postgres.locks import Lock
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import StoreError

BATCH = 500
FETCHED = 25
MOST_KNOWN = 300_000
"""So many words are remembered while indexing, so as not to send them again."""
CLEAN_EVERY = 1_000
GATHER_SECONDS = 1.0
"""How long to wait for more messages before indexing begins."""
BUSY_SECONDS = 5.0
"""How long to wait for another program that indexes before looking again."""

log = logging.getLogger("hermes_store.postgres")


class Owner(Protocol):
    """The database whose messages are indexed."""

    connections: Connections

    @property
    def schema(self) -> str:
        """The schema of the profile."""

    def key_of(self, lock: Lock) -> tuple[int, int]:
        """Return the two numbers of a lock."""


def channel_of(schema: str) -> str:
    """Return the channel on which changes of a schema are told."""
    return f"hermes_{schema}"


def index_all(
    owner: Owner,
    *,
    progress: Callable[[int, int], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Index what is left to do; return whether nothing is left, False if another one does it."""
    with _alone(owner) as con:
        return con is not None and _index(con, owner.schema, progress, stopped)


def list_again(owner: Owner) -> bool:
    """Forget words that no message has; False if another process is indexing."""
    with _alone(owner) as con:
        if con is None:
            return False
        before = con.execute("SHOW statement_timeout").fetchone()
        con.execute("SET statement_timeout = 0")  # all messages are read
        con.execute(
            "DELETE FROM vocabulary v WHERE NOT EXISTS "
            "(SELECT 1 FROM ts_stat($1) AS s WHERE s.word = v.word)",
            (f"SELECT tsv FROM {quote(owner.schema)}.message_words",),
        )
        con.execute("SELECT set_config('statement_timeout', $1, false)", before)
    return True


@contextmanager
def _alone(owner: Owner) -> Iterator[Connection | None]:
    """Provide a connection that has the lock for indexing; None if another one has it."""
    con = owner.connections.take(lambda con: con.execute("SELECT 1"))
    try:
        key = owner.key_of(Lock.INDEX)
        row = con.execute("SELECT pg_try_advisory_lock($1, $2)", key).fetchone()
        if row is None or not row[0]:
            yield None
            return
        try:
            yield con
        finally:
            con.execute("SELECT pg_advisory_unlock($1, $2)", key)
    finally:
        owner.connections.give_back(con)


def _count(con: Connection) -> int:
    row = con.execute("SELECT count(*) FROM todo").fetchone()
    return 0 if row is None else int(row[0])


def _index(
    con: Connection,
    schema: str,
    progress: Callable[[int, int], None] | None,
    stopped: Callable[[], bool],
) -> bool:
    total = _count(con) if progress is not None else 0
    done = uncleaned = 0
    known: set[str] = set()
    while not stopped():
        number = _index_some(con, schema, known)
        done, uncleaned = done + number, uncleaned + number
        if progress is not None:
            progress(min(done, total), total)
        if uncleaned >= CLEAN_EVERY or (not number and uncleaned):
            uncleaned = 0
            _clean(con, schema)
        if not number:
            con.execute("DELETE FROM changes WHERE at < now() - interval '1 day'")
            return True
    return False


def _clean(con: Connection, schema: str) -> None:
    """Move what was added into the index proper, so that no search and no writer has to."""
    with suppress(pg.InsufficientPrivilege):
        for index in ("message_words_tsv", "vocabulary_pieces"):
            con.execute("SELECT gin_clean_pending_list($1)", (f"{quote(schema)}.{index}",))


def _index_some(con: Connection, schema: str, known: set[str]) -> int:
    """Index some messages, and return how many; `known` are words that are listed already."""
    with con.transaction():
        taken = con.execute(
            "DELETE FROM todo WHERE id IN (SELECT id FROM todo ORDER BY id DESC "
            f"LIMIT {BATCH} FOR UPDATE SKIP LOCKED) RETURNING id"
        ).fetchall()
        if not taken:
            return 0
        ids = [message_id for (message_id,) in taken]
        con.execute("DELETE FROM message_words WHERE id = ANY($1)", (ids,))
        words: set[str] = set()
        with psycopg.RawServerCursor(con, "unindexed") as cursor:
            cursor.execute(
                "SELECT id, content, tool_name, tool_calls FROM messages WHERE id = ANY($1)",
                (ids,),
            )
            # A few at a time: one message can be many megabytes.
            while rows := cursor.fetchmany(FETCHED):
                words |= _add(con, rows)
        con.execute(
            "INSERT INTO vocabulary SELECT unnest($1::text[]) ON CONFLICT DO NOTHING",
            ([_storable(word) for word in words - known],),
        )
        con.execute("SELECT pg_notify($1, $2)", (channel_of(schema), "indexed"))
    if len(known) > MOST_KNOWN:
        known.clear()
    known |= words
    return len(ids)


def _add(con: Connection, rows: Sequence[tuple[Any, ...]]) -> set[str]:
    """Add the words of messages to the index, and return them."""
    listed: set[str] = set()
    with con.cursor().copy("COPY message_words (id, tsv) FROM STDIN") as copy:
        for message_id, *texts in rows:
            text = joined(texts)
            words = lexemes.words_of(text)
            listed |= words - {lexemes.LONG}
            found = lexemes.of_message(message_id, words, lexemes.grams_of(text))
            copy.write_row((message_id, lexemes.vector(map(_storable, found))))
    return listed


def joined(texts: Sequence[Any]) -> str:
    """Return the text of a message that is indexed: what was said, and what tools were called."""
    return " ".join(text or "" for text in texts)


def _storable(lexeme: str) -> str:
    return lexeme.replace("\0", " ")


class BackgroundIndexing:
    """Indexes a while after messages were added, in a thread of its own."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._due = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._pending = False
        self._starting = threading.Lock()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Wait until this thread does not index, so that the caller can."""
        while not self._turn.acquire(timeout=0.1):
            if stopped():
                yield
                return
        try:
            yield
        finally:
            self._turn.release()

    def wake(self) -> None:
        """Note that there is something to index."""
        self._pending = True
        self._due.set()
        if self._thread is None and not self._over.is_set():
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._work, name="hermes-indexing", daemon=True
                    )
                    self._thread.start()

    def _work(self) -> None:
        while True:
            self._due.wait()
            if self._over.wait(GATHER_SECONDS):
                self._tell()
                return
            self._due.clear()
            self._pending = False
            try:
                with self._turn:
                    done = index_all(self._owner, stopped=self._over.is_set)
                if not done and not self._over.wait(BUSY_SECONDS):
                    self._due.set()  # whoever indexes may have looked before the last message
            except (psycopg.Error, StoreError) as error:
                # Searches are right without it; whoever comes next goes on.
                log.info("Indexing stopped: %s", type(error).__name__)

    def _tell(self) -> None:
        """Tell whoever listens of what was added and not indexed yet."""
        if self._pending:
            with suppress(psycopg.Error, StoreError):
                sql = f"NOTIFY {channel_of(self._owner.schema)}"
                con = self._owner.connections.take(lambda con: con.execute(sql))
                self._owner.connections.give_back(con)

    def close(self) -> None:
        """End the thread; what is left to do is done by whoever comes next."""
        self._over.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
