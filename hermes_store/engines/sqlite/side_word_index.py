"""The side index: the words that occur in a database, in a small file beside it.

An FTS5 index cannot tell which of its words contain "conf" without reading all of itself. This
list can, in a millisecond, which makes parts of words and prefixes searchable without a trigram
index of every message. The file is a cache: it holds no messages, it can be deleted at any time,
and appending never has to wait for it. It covers messages up to some id; a search reads the few
newer ones itself.

Words are never removed: one that no message contains any more costs a lookup and finds nothing.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite.files_seen import beside, real_path
from hermes_store.engines.sqlite.fulltext import indexed_text
from hermes_store.engines.sqlite.sqlite_file import SqliteFile
from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize, tokenizer
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import StoreError

TAIL_ROWS = 1_000
"""Number of messages that a search reads itself instead of updating the list."""
MAX_TERM = 64
SNAPSHOT_SECONDS = 60
"""No search uses the same snapshot for longer than this."""
STEP_ROWS = 300
BUSY_MILLISECONDS = 200
"""How long a search waits for another process that is updating the list."""
# Embedded images; not "import base64,hashlib".
_BASE64 = re.compile(r"base64,[A-Za-z0-9+/=]{100,}")
_HASH = re.compile("(?=.*[0-9])[0-9a-f]{6,}|[0-9]+")
_HASH_PART = re.compile("[0-9a-f]+")
_FORMAT = 3

_TABLES = ("parts", "terms", "overlong", "facts")
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS parts USING fts5(term, content='terms', "
    "content_rowid='id', tokenize='trigram', detail='none', columnsize=0)",
    # Messages with words too long to list (keys, encoded data); these are searched directly for
    # parts of words.
    "CREATE TABLE IF NOT EXISTS overlong(message_id INTEGER PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
)


def path_for(database: Path) -> Path:
    """Return the path of a database's side index."""
    return beside(real_path(database), ".vocabulary")


class SideIndex:
    """The words of one database. Safe to share between threads."""

    def __init__(self, database: Path) -> None:
        self._file = SqliteFile(path_for(database), setup_writer=_prepare)
        self._lock = threading.Lock()
        self._con: apsw.Connection | None = None
        self._failed = False

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._con = None
            self._file.close()

    def _open(self) -> apsw.Connection | None:
        """Open or create the file; None if neither is possible."""
        if self._con is None and not self._failed:
            try:
                self._con = self._file.writer()
            except (apsw.Error, StoreError):
                # Without this cache, searches read messages instead.
                self._failed = True
        return self._con

    # -- lookups ---------------------------------------------------------------------------

    def covered(self, tx: Transaction) -> int | None:
        """Return the highest message id that the list covers; None without a usable list."""
        if "sqlite_sequence" not in tx.caps.tables:
            return None  # ids are not assigned once, so a new message may have the id of an old one
        with self._lock:
            con = self._open()
            if con is None:
                return None
            try:
                covered = _covered(con, tx)
            except apsw.Error:
                return None
        # Ids are assigned once, so a database that has assigned fewer is an older copy put in its
        # place (or this snapshot is older than the list); its newer messages are unknown here.
        given = tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
        return None if given is not None and given < covered else covered

    def _ask(self, sql: str, values: tuple[str | int, ...]) -> list[Any] | None:
        """Return the first column of a query; None if the file is not usable."""
        with self._lock:
            if self._con is None:
                return None
            try:
                return [value for (value,) in self._con.execute(sql, values)]
            except apsw.Error:
                return None

    def starting_with(self, prefix: str, limit: int) -> list[str] | None:
        """Return words that begin with a prefix, up to a limit; None without a usable list."""
        return self._ask(
            "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?",
            (prefix, prefix + "\U0010ffff", limit),
        )

    def containing(self, part: str, limit: int) -> list[str] | None:
        """Return words that contain `part` (three letters or more), up to a limit."""
        grams = {part[place : place + 3] for place in range(len(part) - 2)}
        match = " AND ".join('"' + gram.replace('"', '""') + '"' for gram in sorted(grams))
        return self._ask(
            "SELECT term FROM parts WHERE parts MATCH ? AND instr(term, ?) LIMIT ?",
            (match, part, limit),
        )

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three consecutive letters with a word."""
        grams = {word[place : place + 3] for place in range(len(word) - 2)}
        match = " OR ".join('"' + gram.replace('"', '""') + '"' for gram in sorted(grams))
        found = self._ask(
            "SELECT term FROM parts WHERE parts MATCH ? AND length(term) BETWEEN ? AND ? LIMIT ?",
            (match, len(word) - 2, len(word) + 2, limit),
        )
        return found or []

    def overlong(self, limit: int) -> list[int] | None:
        """Return the newest messages with words too long for the list; -1 means no limit."""
        return self._ask(
            "SELECT message_id FROM overlong ORDER BY message_id DESC LIMIT ?", (limit,)
        )

    def forget(self) -> bool:
        """Forget all words, because some of them must not be found any more; False if it failed."""
        with self._lock:
            if not self._file.path.exists():
                return True
            con = self._open()
            if con is None:
                return False
            try:
                con.execute("PRAGMA secure_delete = ON")
                with con:
                    for table in _TABLES:
                        con.execute(f"DROP TABLE IF EXISTS {table}")
                    for sql in _SCHEMA:
                        con.execute(sql)
                con.execute("VACUUM")
                con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.Error:
                return False
            finally:
                con.execute("PRAGMA secure_delete = OFF")
        return True

    # -- updates ---------------------------------------------------------------------------

    def learn(self, tx: Transaction, session_id: str) -> None:
        """List the words of a session that was restored with its old message ids.

        The list may have been rebuilt without them in the meantime and cover these ids already.
        """
        tokenize = tokenizer(tx.connection)
        seen = 0
        while True:
            rows = tx.rows(
                f"SELECT id, {indexed_text()} FROM messages WHERE session_id = ? AND id > ? "
                f"ORDER BY id LIMIT {STEP_ROWS}",
                (session_id, seen),
            )
            found, overlong, last = _words_of(rows, tokenize)
            with self._lock:
                con = self._open()
                if con is None or last is None:
                    return
                try:
                    with con:
                        _add_words(con, found, overlong)
                except apsw.Error:
                    return
            seen = last

    def catch_up(
        self,
        tx: Transaction,
        *,
        deadline: float | None = None,
        stopped: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """List the words of newer messages; return whether all messages are covered now.

        `deadline` is a value of time.monotonic(); work done until then, or until `stopped`
        returns True, is kept.
        """
        newest = tx.value("SELECT MAX(id) FROM messages") or 0
        tokenize = tokenizer(tx.connection)
        while True:
            with self._lock:
                con = self._open()
                if con is None:
                    return False
                try:
                    done = _list_step(con, tx, tokenize)
                except apsw.Error:
                    return False
            if progress is not None:
                progress(min(done, newest), newest)
            if done >= newest:
                return True
            late = deadline is not None and time.monotonic() >= deadline
            if late or (stopped is not None and stopped()):
                return False


def _prepare(con: apsw.Connection) -> None:
    con.set_busy_timeout(BUSY_MILLISECONDS)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA synchronous = OFF")
    found = con.execute("PRAGMA user_version").get
    if not isinstance(found, int) or found > _FORMAT:
        raise apsw.CorruptError("the side index has a newer format")
    with con:
        for table in _TABLES if found < _FORMAT else ():
            con.execute(f"DROP TABLE IF EXISTS {table}")
        for sql in _SCHEMA:
            con.execute(sql)
        con.execute(f"PRAGMA user_version = {_FORMAT}")


def _words_of(
    rows: Iterable[tuple[Any, ...]], tokenize: Tokenize
) -> tuple[set[str], list[tuple[int]], int | None]:
    """Return the words of messages, the ids of those with overlong words, and the last id."""
    found: set[str] = set()
    overlong: list[tuple[int]] = []
    last = None
    for last, text in rows:
        if "base64," in text:
            text = _BASE64.sub(" ", text)
        tokens = tokenize(text)
        found.update(tokens)
        if max(map(len, tokens), default=0) > MAX_TERM:
            overlong.append((last,))
    return found, overlong, last


def _add_words(con: apsw.Connection, found: Iterable[str], overlong: list[tuple[int]]) -> None:
    listed = [(term,) for term in found if 2 <= len(term) <= MAX_TERM and _is_listed(term)]
    con.execute("CREATE TEMP TABLE IF NOT EXISTS fresh(term TEXT PRIMARY KEY) WITHOUT ROWID")
    con.execute("DELETE FROM fresh")
    con.executemany("INSERT INTO fresh VALUES (?)", listed)
    con.execute("DELETE FROM fresh WHERE term IN (SELECT term FROM terms)")
    top = con.execute("SELECT COALESCE(MAX(id), 0) FROM terms").get
    con.execute("INSERT INTO terms(term) SELECT term FROM fresh")
    con.execute(
        "INSERT INTO parts(rowid, term) SELECT id, term FROM terms WHERE id > ? ORDER BY id",
        (top,),
    )
    con.executemany("INSERT OR IGNORE INTO overlong VALUES (?)", overlong)


def _fact(con: apsw.Connection, name: str) -> object:
    return con.execute("SELECT value FROM facts WHERE name = ?", (name,)).get


def _identity(tx: Transaction, message_id: int) -> str | None:
    """Return what distinguishes the message at an id from that of another database."""
    row = tx.one("SELECT session_id, timestamp FROM messages WHERE id = ?", (message_id,))
    return None if row is None else f"{row[0]} {row[1]}"


def _covered(con: apsw.Connection, tx: Transaction) -> int:
    covered = _fact(con, "covered")
    if not isinstance(covered, int):
        return 0
    newest = tx.value("SELECT MAX(id) FROM messages") or 0
    ends_as = _identity(tx, covered)
    # A deleted last message proves nothing; a different message means another database.
    replaced = ends_as is not None and ends_as != _fact(con, "identity")
    if replaced or (newest < covered - TAIL_ROWS and _is_settled(con)):
        with con:
            for table in _TABLES[1:]:
                con.execute(f"DELETE FROM {table}")
            con.execute("INSERT INTO parts(parts) VALUES('rebuild')")
        return 0
    return covered


def _is_settled(con: apsw.Connection) -> bool:
    """Return whether the list is older than any snapshot still in use.

    Until then, a database that ends before the list does may just be a slightly old snapshot.
    """
    listed_at = _fact(con, "listed_at")
    return not isinstance(listed_at, int) or time.time() - listed_at > SNAPSHOT_SECONDS


def _is_listed(term: str) -> bool:
    """Return whether a word belongs in the list.

    A word entirely in CJK is found by its trigrams. Numbers and hashes are endless and would
    make up most of the list; see `may_be_unlisted`.
    """
    return bool(CJK.sub("", term)) and _HASH.fullmatch(term) is None


def may_be_unlisted(part: str) -> bool:
    """Return whether a part of a word could be inside a number or hash, which are not listed."""
    return _HASH_PART.fullmatch(part) is not None


def _list_step(con: apsw.Connection, tx: Transaction, tokenize: Tokenize) -> int:
    """List the words of the next messages and return the highest id now covered."""
    covered = _covered(con, tx)
    rows = tx.rows(
        f"SELECT id, {indexed_text()} FROM messages WHERE id > ? ORDER BY id LIMIT {STEP_ROWS}",
        (covered,),
    )
    found, overlong, last = _words_of(rows, tokenize)
    if last is None:
        return max(covered, tx.value("SELECT MAX(id) FROM messages") or 0)
    with con:
        _add_words(con, found, overlong)
        facts = {"covered": last, "identity": _identity(tx, last), "listed_at": int(time.time())}
        for name, value in facts.items():
            con.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
    return last
