"""Trash, marks and saved searches on a server: in tables beside those of the sessions.

They have transactions of their own, as the file beside an SQLite database has: a copy in the trash
is committed before its session is deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hermes_store.engines.base import Answer
from hermes_store.engines.postgres.database import PostgresDatabase
from hermes_store.engines.postgres.locks import Lock
from hermes_store.engines.postgres.transaction import PostgresTransaction
from hermes_store.errors import DatabaseReadOnly


class PostgresSidecar:
    """This program's own data about the sessions of a schema."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @property
    def exists(self) -> bool:
        """The tables are always there."""
        return True

    @property
    def name(self) -> str:
        """What people call the place of this data."""
        return self._database.name

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._database.read_only

    def require_writable(self) -> None:
        """Raise DatabaseReadOnly if it was opened read-only."""
        if self.read_only:
            raise DatabaseReadOnly(f"{self.name} was opened read-only. Nothing was changed.")

    def read(self) -> AbstractContextManager[PostgresTransaction]:
        """Provide one snapshot."""
        return self._database.read()

    def ask(
        self,
        question: Callable[[PostgresTransaction], Answer],
        nothing: Answer,
        *,
        once: bool = False,
    ) -> Answer:
        """Return the answer to a question, which may ask only `once`."""
        if once:
            return self._database.ask_once(question)
        with self._database.read() as tx:
            return question(tx)

    def write(self) -> AbstractContextManager[PostgresTransaction]:
        """Run the block in one transaction, or join the one in progress."""
        return self._database.write(lock=Lock.SIDECAR)

    def give_space_back(self) -> None:
        """Nothing to do: the server reuses the space of deleted rows."""

    def close(self) -> None:
        """The connections belong to the database."""
