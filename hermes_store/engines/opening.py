"""Opens a database with the engine that its name asks for."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config.database_address import is_address
from hermes_store.engines.base import (
    Database,
    Progress,
    Sidecar,
    Synchronous,
    Watch,
    WordSource,
)
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.errors import InvalidInput

if TYPE_CHECKING:
    from hermes_store.engines.postgres.database import PostgresDatabase


def open_database(
    given: Path | str,
    *,
    read_only: bool = False,
    synchronous: Synchronous = "FULL",
    progress: Progress | None = None,
) -> Database:
    """Open a file, or connect to the server of an address."""
    if not isinstance(given, str) or not is_address(given):
        return SqliteDatabase(
            Path(given), read_only=read_only, synchronous=synchronous, progress=progress
        )
    require_driver()
    from hermes_store.engines.postgres.database import PostgresDatabase

    return PostgresDatabase(given, read_only=read_only)


def require_driver() -> None:
    """Raise InvalidInput if what it takes to speak with PostgreSQL is not installed."""
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise InvalidInput(
            "PostgreSQL needs two more packages. Install them with "
            "pip install 'hermes-store[postgres]'."
        )


def sidecar_of(database: Database) -> Sidecar:
    """Return where this program keeps its own data about the sessions of a database."""
    if isinstance(database, SqliteDatabase):
        from hermes_store.engines.sqlite.sidecar_database import SqliteSidecar

        return SqliteSidecar(database.path, read_only=database.read_only)
    from hermes_store.engines.postgres.sidecar import PostgresSidecar

    return PostgresSidecar(_on_server(database))


def words_of(database: Database) -> WordSource:
    """Return what is known about the words of all messages of a database."""
    if isinstance(database, SqliteDatabase):
        from hermes_store.engines.sqlite.word_list import WordList

        return WordList(database.path)
    from hermes_store.engines.postgres.word_index import WordIndex

    return WordIndex(_on_server(database))


def watch_of(file: Path, address: str | None) -> Watch:
    """Return what tells of changes to a database."""
    if address is None:
        from hermes_store.engines.sqlite.watch import SqliteWatch

        return SqliteWatch(file)
    require_driver()
    from hermes_store.engines.postgres.watch import PostgresWatch

    return PostgresWatch(address)


def _on_server(database: Database) -> PostgresDatabase:
    from hermes_store.engines.postgres.database import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return database
