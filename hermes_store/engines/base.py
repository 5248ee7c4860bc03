"""What an engine offers the rest of the store.

Domain code speaks SQL that every engine understands, with `?` for bound values. What cannot be
said in one way for all is a method of `Dialect`; what an engine does its own way, such as search,
is in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from hermes_store.errors import SessionNotFound

Answer = TypeVar("Answer")
Progress = Callable[[str, int, int], None]
Synchronous = Literal["FULL", "NORMAL"]
ALL_TEXT_SINCE = 11
"""The first schema version whose indexes include tool names and tool calls."""


class FullText(Enum):
    """How the messages of a database are indexed."""

    NONE = "none"
    INLINE = "inline"
    """Both indexes store a copy of the text (Hermes Agent up to schema 22)."""
    EXTERNAL = "external"
    """This store's layout: text from views, trigrams only for CJK rows."""
    COLUMNS = "columns"
    """Schema 23 and later: content, tool_name and tool_calls in separate columns."""
    LEXEMES = "lexemes"
    """The words of PostgreSQL's index, in a table of their own."""


class Dialect(Protocol):
    """The SQL in which engines differ."""

    def beginning(self, column: str, size: int) -> str:
        """Return the SQL for the first bytes or characters of a text."""

    def json_text(self, column: str, key: str) -> str:
        """Return the SQL that reads text from a JSON column; NULL if it is not JSON."""

    def like(self, column: str) -> str:
        """Return the SQL test that a column is LIKE `?`, ignoring the case of ASCII letters."""

    def alphabetical(self, column: str) -> str:
        """Return the SQL to order by, ignoring the case of ASCII letters."""

    def number(self, value: str) -> str:
        """Return the SQL for a stored number; 0 if it is not one."""

    def row_number(self, alias: str) -> str:
        """Return the SQL for what tells rows of `sessions` apart most cheaply."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a database can do, as found by probing it."""

    version: int
    foreign: bool
    """Whether a newer Hermes owns the database: no DDL, no change of its version."""
    session_columns: tuple[str, ...]
    message_columns: tuple[str, ...]
    tables: frozenset[str]
    words: FullText
    trigram: FullText
    activity: bool
    """Whether `session_activity` exists as an up-to-date table."""
    unindexed: tuple[int, int] | None
    """The first and last id that an index which is being rebuilt does not hold yet."""
    dialect: Dialect
    typed: bool = False
    """Whether columns hold only values of their type, so that times sort by time."""
    missing: tuple[str, ...] = ()
    """Tables and columns that every version has had but this file has not; it is only read."""

    @property
    def holds_all_text(self) -> bool:
        """Whether the indexes include tool names and tool calls."""
        return self.version >= ALL_TEXT_SINCE

    @property
    def empty(self) -> bool:
        """Whether the database has no session tables yet."""
        return not self.session_columns

    def has_session(self, column: str) -> bool:
        """Return whether `sessions` has a column."""
        return column in self.session_columns

    def session_column(self, column: str, alias: str = "s") -> str:
        """Return the SQL for a column of `sessions`, which is NULL where it does not exist."""
        return f"{alias}.{column}" if self.has_session(column) else "NULL"

    def has_message(self, column: str) -> bool:
        """Return whether `messages` has a column."""
        return column in self.message_columns


class ConstraintFailed(Exception):
    """A statement broke a rule of the schema; the transaction is to be given up."""


class NotUnique(ConstraintFailed):
    """Another row already has a value that only one may have."""


class NoSuchRow(ConstraintFailed):
    """A row refers to another one that does not exist."""


class Interrupted(Exception):
    """A statement was stopped because its answer is no longer wanted."""


class Transaction(Protocol):
    """Statements with bound values on one connection, and the capabilities of its database."""

    caps: Capabilities

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they come."""

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query whose rows together may be too large for memory."""

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a change and return the number of rows it affected."""

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an INSERT and return the new row's id."""

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns."""

    def stored_rows(
        self, names: Sequence[str], source: str, values: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns exactly as they are stored; `source` is what follows FROM."""

    def deleting(self, session_id: str) -> AbstractContextManager[None]:
        """Provide the block in which the rows of a session are deleted for good."""

    def all_or_nothing(self) -> AbstractContextManager[object]:
        """Undo what the block changed if it raises; what came before it stays."""

    def interruptible(self, stopped: Callable[[], bool]) -> AbstractContextManager[None]:
        """Raise Interrupted from statements inside the block once `stopped` says so."""

    def split(self, text: str) -> Sequence[str]:
        """Split text into words exactly as the word index does."""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with the values that are bound to it."""

    sql: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A row of `messages`, and the change of its session that goes with it."""

    row: Mapping[str, Any]
    counting: Statement


def add_message(tx: Transaction, new: NewMessage) -> int:
    """Add a message inside of a transaction, and return its id."""
    insert = insertion(new.row)
    try:
        message_id = tx.insert(insert.sql, insert.values)
    except NoSuchRow:
        raise SessionNotFound(str(new.row["session_id"])) from None
    tx.run(new.counting.sql, new.counting.values)
    return message_id


def insertion(row: Mapping[str, Any]) -> Statement:
    """Return the statement that adds a row to `messages`."""
    marks = ", ".join("?" * len(row))
    return Statement(
        f"INSERT INTO messages({', '.join(row)}) VALUES ({marks})", tuple(row.values())
    )


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many bytes a database takes."""

    database: int
    log: int
    reclaimable: int
    """What rewriting it would free."""


class Database(Protocol):
    """The session database: readers that never wait, and transactions that change it."""

    @property
    def folder(self) -> Path:
        """Where the files that belong to it are, such as transcripts."""

    @property
    def path(self) -> Path:
        """The file, with every symbolic link resolved; raises if there is none."""

    @property
    def address(self) -> str:
        """What opens this database again; may hold a password, so it is never shown."""

    @property
    def name(self) -> str:
        """What people call it: the path, or the address without the password."""

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""

    def read(self) -> AbstractContextManager[Transaction]:
        """Provide a read-only snapshot for the length of the block."""

    def write(
        self, *, durable: bool = False, alone: bool = True
    ) -> AbstractContextManager[Transaction]:
        """Run the block in one transaction, or join the one in progress.

        The transaction is committed when the block ends and rolled back when it raises. No other
        process changes anything meanwhile, unless it is not `alone`, as when a message is added:
        then only those that are alone wait. A `durable` one is on disk when the block has ended.
        """

    def append(self, message: Callable[[Capabilities], NewMessage]) -> int:
        """Add a message in a transaction of its own, and return its id.

        What a writer does most of all, so an engine may do it in one step.
        """

    def change(self, work: Callable[[Transaction], Answer], *, alone: bool = True) -> Answer:
        """Run some work in a transaction, again if the engine had to give it up."""

    def sizes(self) -> Sizes:
        """Return how much space it takes."""

    def vacuum(self) -> None:
        """Give back or reuse the space of deleted rows, and see that none can be read."""

    def is_shared(self) -> bool:
        """Tell whether other processes have it open, who would wait while it is rewritten."""

    def close(self) -> None:
        """Close all connections; closing twice is fine."""


class WordSource(Protocol):
    """What an engine knows about the words of all messages, to find parts of words quickly."""

    def prepare(
        self,
        read: Callable[[], AbstractContextManager[Any]],
        *,
        progress: Callable[[int, int], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Bring it up to date; return whether it is complete."""

    def learn(self, tx: Any, session_id: str) -> None:
        """Note the words of a session that was restored."""

    def forget(self) -> bool:
        """Forget everything, because words of deleted messages may be among it."""

    def close(self) -> None:
        """Let go of what it holds open."""


class Watch(Protocol):
    """Tells of changes by any process; used from one thread."""

    def changed(self) -> bool:
        """Return whether anything was committed since the last call; False on the first call."""

    def close(self) -> None:
        """Let go of what it holds open; asking again opens it."""


class Sidecar(Protocol):
    """This program's own data about sessions: trash, marks and saved searches."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""

    @property
    def name(self) -> str:
        """What people call the place of this data."""

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""

    def require_writable(self) -> None:
        """Raise DatabaseReadOnly if it was opened read-only."""

    def read(self) -> AbstractContextManager[Transaction | None]:
        """Provide one snapshot, or None if there is nothing that can be read."""

    def ask(
        self, question: Callable[[Transaction], Answer], nothing: Answer, *, once: bool = False
    ) -> Answer:
        """Return the answer to a question, or `nothing` if nothing can be read.

        A question that asks only `once`, by one statement, needs no snapshot.
        """

    def write(self) -> AbstractContextManager[Transaction]:
        """Run the block in one transaction, or join the one in progress."""

    def give_space_back(self) -> None:
        """Free the space of deleted rows."""

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
