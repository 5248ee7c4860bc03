"""Store: opens a session database and provides the parts that work on it.

    with Store() as store:
        session = store.sessions.find("my project")
        store.sessions.rename(session.id, "my project, finished")
        store.trash.delete_conversation(session.id)

Each part is loaded on first use, so that a list does not wait for search. `SessionDB`, in its own
module, offers the method names and dictionaries of Hermes Agent on top of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hermes_store.config import database_address, paths
from hermes_store.engines.base import (
    Capabilities,
    Progress,
    Sidecar,
    Synchronous,
    Transaction,
    WordSource,
)
from hermes_store.engines.opening import open_database, sidecar_of, words_of

if TYPE_CHECKING:
    from hermes_store.browse.api import Lists, Transcripts
    from hermes_store.marks.marks import Marks
    from hermes_store.marks.saved_searches import SavedSearches
    from hermes_store.search.api import MessageSearch
    from hermes_store.search.recall.api import Recall
    from hermes_store.sessions.api import Lineages, Messages, Sessions
    from hermes_store.transfer.api import Transfer
    from hermes_store.trash.api import Trash
    from hermes_store.upkeep.api import Upkeep


class Store:
    """The sessions of one database. Safe to share between threads."""

    def __init__(
        self,
        path: Path | str | None = None,
        read_only: bool = False,
        *,
        synchronous: Synchronous = "FULL",
        progress: Progress | None = None,
    ) -> None:
        """Open a database: a file, or an address such as `postgresql://user@host/database`.

        By default, that is what HERMES_DATABASE_URL says, or else `$HERMES_HOME/state.db`.

        A missing database is created, unless `read_only`. An older one is migrated; `progress` is
        called with (what, done, total). One from a newer Hermes is used as is.
        """
        chosen = path or database_address.from_environment() or paths.database_path()
        self.database = open_database(
            chosen, read_only=read_only, synchronous=synchronous, progress=progress
        )

    @classmethod
    def at_home(cls, home: Path | None = None, *, read_only: bool = False) -> Self:
        """Open the database of a home folder with the settings in its config.yaml."""
        from hermes_store.config.settings import load_config

        durability = load_config(home).sessions.durability
        return cls(paths.database_path(home), read_only, synchronous=durability)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the write-ahead log of other programs is not touched."""
        for name in ("_words", "_sidecar"):
            if name in self.__dict__:
                self.__dict__[name].close()
        self.database.close()

    @property
    def path(self) -> Path:
        """The path of the database, with symbolic links resolved; raises if it is on a server."""
        return self.database.path

    @property
    def name(self) -> str:
        """What people call the database: its path, or its address without the password."""
        return self.database.name

    @property
    def address(self) -> str:
        """What opens this database again; may hold a password, so it is never shown."""
        return self.database.address

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self.database.read_only

    def capabilities(self) -> Capabilities:
        """Return the schema version, columns and full-text layout of this database."""
        with self.database.read() as tx:
            return tx.caps

    def unknown_layout(self) -> str | None:
        """Return a sentence about a database whose tables are of no known version, or None."""
        from hermes_store.engines.sqlite import unknown_layout

        lacking = self.capabilities().missing
        return unknown_layout.sentence(lacking) if lacking else None

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Provide one read-only view of the database, for SQL of your own.

            with store.snapshot() as view:
                for (title,) in view.rows("SELECT title FROM sessions WHERE source = ?", ("cli",)):
                    print(title)

        Use this instead of Python's `sqlite3`: a second copy of SQLite in the same process drops
        the locks of this one when it closes the file.
        """
        with self.database.read() as tx:
            yield tx

    # -- files beside the database ---------------------------------------------------------

    @cached_property
    def _words(self) -> WordSource:
        return words_of(self.database)

    @cached_property
    def _sidecar(self) -> Sidecar:
        return sidecar_of(self.database)

    # -- parts -----------------------------------------------------------------------------

    @cached_property
    def sessions(self) -> Sessions:
        """Find, start, end and rename sessions."""
        from hermes_store.sessions.api import Sessions

        return Sessions(self.database)

    @cached_property
    def messages(self) -> Messages:
        """Read and append messages, and undo the last exchange."""
        from hermes_store.sessions.api import Messages

        return Messages(self.database)

    @cached_property
    def lineage(self) -> Lineages:
        """Lineage trees, continuations and branches."""
        from hermes_store.sessions.api import Lineages

        return Lineages(self.database)

    @cached_property
    def search(self) -> MessageSearch:
        """Full-text search."""
        from hermes_store.search.api import MessageSearch

        return MessageSearch(self.database, self._words, self.marks)

    @cached_property
    def recall(self) -> Recall:
        """What earlier conversations say about a question."""
        from hermes_store.search.recall.api import Recall

        return Recall(self.database, self._words)

    @cached_property
    def lists(self) -> Lists:
        """Lists of conversations and their rows."""
        from hermes_store.browse.api import Lists

        return Lists(self.database, self.marks)

    @cached_property
    def transcripts(self) -> Transcripts:
        """Whole conversations, and recaps of them."""
        from hermes_store.browse.api import Transcripts

        return Transcripts(self.database)

    @cached_property
    def marks(self) -> Marks:
        """Pins, tags and archived conversations."""
        from hermes_store.marks.marks import Marks

        return Marks(self.database, self._sidecar)

    @cached_property
    def saved_searches(self) -> SavedSearches:
        """Saved searches and the search history."""
        from hermes_store.marks.saved_searches import SavedSearches

        return SavedSearches(self._sidecar)

    @cached_property
    def trash(self) -> Trash:
        """Delete, restore, and empty the trash."""
        from hermes_store.trash.api import Trash

        words = self._words
        return Trash(self.database, self._sidecar, learn=words.learn, forget=words.forget)

    @cached_property
    def upkeep(self) -> Upkeep:
        """Statistics, pruning and optimizing."""
        from hermes_store.upkeep.api import Upkeep

        return Upkeep(self.database, self._words, self.trash, self.marks)

    @cached_property
    def transfer(self) -> Transfer:
        """Export and import."""
        from hermes_store.gateway.transcript_repair import bring_in
        from hermes_store.transfer.api import Transfer

        return Transfer(self.database, bring_in)
