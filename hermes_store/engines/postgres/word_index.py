"""The index of words, as the rest of the store sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hermes_store.engines.postgres.database import PostgresDatabase
from hermes_store.engines.postgres.error_translation import translated
from hermes_store.engines.postgres.indexing import index_all, list_again


class WordIndex:
    """The words of all messages on a server."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def prepare(
        self,
        read: Callable[[], AbstractContextManager[Any]],
        *,
        progress: Callable[[int, int], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Index what is not indexed yet, if nobody else does; return whether nothing is left."""
        if self._database.read_only:
            return False
        with translated(self._database.name), self._database.indexing.turn(stopped):
            return index_all(self._database, progress=progress, stopped=stopped)

    def learn(self, tx: Any, session_id: str) -> None:
        """Nothing to do: what is written is noted for indexing."""

    def forget(self) -> bool:
        """List the words again from the index, without those of deleted messages."""
        with translated(self._database.name), self._database.indexing.turn():
            return list_again(self._database)

    def close(self) -> None:
        """The connections belong to the database."""
