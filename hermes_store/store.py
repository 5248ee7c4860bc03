"""The typed public face of the store: records in, records out.

`Store` is what programs in this project use. `SessionDB`, in its own module, adds the method
names and dictionary shapes that programs written for Hermes Agent expect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from hermes_store import lineage, listing, messages, paths, sessions, titles
from hermes_store.converser import Converser
from hermes_store.database.connection import Database, Progress, Synchronous
from hermes_store.database.probe import Capabilities
from hermes_store.database.transaction import Transaction
from hermes_store.errors import SessionNotFound
from hermes_store.models import Conversation, Edge, Lineage, Message, Session

# Loaded when used: a list should not wait for the modules that search, count and mend.
if TYPE_CHECKING:
    from hermes_store.config import Config
    from hermes_store.insights import Insights
    from hermes_store.overview import Limits, Recap
    from hermes_store.search.api import Request
    from hermes_store.search.results import SearchResult
    from hermes_store.transfer.report import ImportReport
    from hermes_store.upkeep import (
        MaintenanceReport,
        ModelUsage,
        OptimizeReport,
        SessionUsage,
        Stats,
    )


class Store(Converser):
    """The sessions of one database file. Safe to share between threads."""

    def __init__(
        self,
        db_path: Path | str | None = None,
        read_only: bool = False,
        *,
        synchronous: Synchronous = "FULL",
        progress: Progress | None = None,
    ) -> None:
        """Open a database, by default `$HERMES_HOME/state.db`.

        A file that does not exist is created, unless `read_only`. An older one is brought up
        to date; `progress` then hears of the work as (what, done, total). A file of a newer
        Hermes is used as it is.
        """
        path = paths.database_path() if db_path is None else Path(db_path)
        self._db = Database(path, read_only=read_only, synchronous=synchronous, progress=progress)
        super().__init__(self._db)
        self.db_path = path

    @classmethod
    def at_home(cls, home: Path | None = None, *, read_only: bool = False) -> Self:
        """Open the database of a home folder as its config.yaml says."""
        from hermes_store.config import load_config

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
        """Close all connections; the write-ahead log of other programs stays untouched."""
        self._close_files()
        self._db.close()

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._db.read_only

    def capabilities(self) -> Capabilities:
        """Return what this file can do."""
        with self._db.read() as tx:
            return tx.caps

    # -- sessions --------------------------------------------------------------------------

    def session(self, session_id: str) -> Session:
        """Return a session by its exact id; SessionNotFound if there is none."""
        with self._db.read() as tx:
            return sessions.get(tx, session_id)

    def find_session(self, wanted: str) -> Session:
        """Return a session by id, unique id prefix or title.

        Raises SessionNotFound, or AmbiguousSession with the candidates.
        """
        with self._db.read() as tx:
            if not sessions.exists(tx, wanted):
                named = titles.resolve(tx, wanted)
                if named is not None:
                    return sessions.get(tx, named)
            return sessions.get(tx, sessions.resolve_id(tx, wanted))

    def find_to_resume(self, wanted: str) -> Session:
        """Return the session to go on with when a person names one.

        That is the newest continuation of what was named, and if that has no messages, the
        child that has them.
        """
        named = self.find_session(wanted)
        with self._db.read() as tx:
            tip = lineage.compression_tip(tx, named.id)
            return sessions.get(tx, lineage.resume_target(tx, tip))

    def start_session(
        self,
        session_id: str,
        source: str,
        *,
        model: str | None = None,
        model_config: dict[str, Any] | None = None,
        system_prompt: str | None = None,
        user_id: str | None = None,
        parent_session_id: str | None = None,
        edge: Edge | None = None,
        started_at: float | None = None,
    ) -> Session:
        """Add a session, or return the one that has this id already."""
        with self._db.write() as tx:
            sessions.create(
                tx,
                session_id,
                source,
                model=model,
                model_config=model_config,
                system_prompt=system_prompt,
                user_id=user_id,
                parent_session_id=parent_session_id,
                edge=edge,
                started_at=started_at,
            )
            return sessions.get(tx, session_id)

    def rename(self, session_id: str, title: str | None) -> str | None:
        """Give a session a title (or none) and return it as it was stored."""
        with self._db.write() as tx:
            if not titles.assign(tx, session_id, title):
                raise SessionNotFound(session_id)
            return sessions.get(tx, session_id).title

    def title_if_untitled(self, session_id: str, title: str) -> str | None:
        """Give a session a title unless it has one; return it as stored, None if it was not."""
        with self._db.write() as tx:
            return titles.assign_if_untitled(tx, session_id, title)

    def conversations(
        self, chosen: listing.Filter | None = None, *, limit: int = 20, offset: int = 0
    ) -> list[Conversation]:
        """Return conversations by last activity, one for each compression chain."""
        with self._db.read() as tx:
            wanted = self._without_archived(tx, chosen or listing.Filter())
            return listing.conversations(tx, wanted, limit=limit, offset=offset)

    def conversation_rows(
        self, chosen: listing.Filter | None = None, *, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return the same list as dictionaries with all columns, which is faster for long ones."""
        with self._db.read() as tx:
            wanted = self._without_archived(tx, chosen or listing.Filter())
            return listing.rich(tx, wanted, limit=limit, by_activity=True)

    def _without_archived(self, tx: Transaction, chosen: listing.Filter) -> listing.Filter:
        if chosen.include_archived:
            return chosen
        hidden = self._archived_beside(tx)
        return replace(chosen, archived_ids=(*chosen.archived_ids, *hidden)) if hidden else chosen

    # -- messages --------------------------------------------------------------------------

    def messages(self, session_id: str) -> list[Message]:
        """Return the messages of a session in order."""
        with self._db.read() as tx:
            return list(messages.iterate(tx, session_id))

    def recap(self, session_id: str, limits: Limits | None = None) -> Recap:
        """Return what was said last in a session, short enough for a glance."""
        from hermes_store import recap

        with self._db.read() as tx:
            return recap.build(messages.iterate(tx, session_id), limits)

    # -- search ----------------------------------------------------------------------------

    def search(self, request: Request | str) -> SearchResult:
        """Find messages; see docs/search.md for the language. Never raises for the text."""
        from hermes_store.search.api import Request, search

        wanted = Request(request) if isinstance(request, str) else request
        with self._db.read() as tx:
            return search(tx, wanted, self._vocabulary, self._marks)

    def prepare_search(
        self, progress: Callable[[int, int], None] | None = None, seconds: float | None = None
    ) -> bool:
        """Bring the list of known words up to date; tell whether it is complete.

        Searches do this themselves for small amounts. Programs that open a large file for the
        first time may run it in the background.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._db.read() as tx:
            return self._vocabulary.catch_up(tx, deadline=deadline, progress=progress)

    # -- lineage ---------------------------------------------------------------------------

    def lineage(self, session_id: str) -> Lineage:
        """Return the family tree around a session, with typed edges."""
        with self._db.read() as tx:
            return lineage.tree(tx, session_id)

    def ancestors(self, session_id: str) -> tuple[Session, ...]:
        """Return the sessions above a session, nearest first."""
        with self._db.read() as tx:
            return lineage.ancestors(tx, session_id)

    # -- figures ---------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Return counts of every source and the real sizes."""
        from hermes_store import stats

        with self._db.read() as tx:
            return stats.totals(tx, self.db_path)

    def usage_by_model(self) -> tuple[ModelUsage, ...]:
        """Return tokens and cost by model, the dearest first."""
        from hermes_store import stats

        with self._db.read() as tx:
            return stats.by_model(tx)

    def insights(self, *, days: int = 30, source: str | None = None, now: float) -> Insights:
        """Return habits and costs of the sessions begun in the last days."""
        from hermes_store import insights

        with self._db.read() as tx:
            return insights.gather(tx, days=days, source=source, now=now)

    def heaviest_sessions(self, limit: int = 10) -> tuple[SessionUsage, ...]:
        """Return the sessions with the highest token usage."""
        from hermes_store import stats

        with self._db.read() as tx:
            return stats.heaviest(tx, limit)

    # -- transfer --------------------------------------------------------------------------
    # Loaded when used: a list should not wait for the modules that write web pages.

    def export(
        self,
        sink: TextIO,
        fmt: str = "jsonl",
        session_ids: Iterable[str] | None = None,
        redact: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Write sessions, by default all, as jsonl, markdown or html; return how many it were."""
        from hermes_store.transfer.export import Format, export

        return export(self._db, session_ids, sink, Format(fmt), redact=redact, progress=progress)

    def export_file(
        self,
        path: Path | str,
        fmt: str = "jsonl",
        session_ids: Iterable[str] | None = None,
        redact: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Write the same to a file, which appears complete or not at all."""
        from hermes_store.transfer.export import Format, export_to_file

        return export_to_file(
            self._db, session_ids, Path(path), Format(fmt), redact=redact, progress=progress
        )

    def import_file(
        self, path: Path | str, progress: Callable[[int, int], None] | None = None
    ) -> ImportReport:
        """Bring in the sessions of an export or transcript; see docs/export-import.md."""
        from hermes_store.gateway import reconcile

        return reconcile.bring_in(self._db, Path(path), progress)

    # -- cleaning up; trash, marks and pruning are Keeper's --------------------------------

    def optimize(self, progress: Progress | None = None) -> OptimizeReport:
        """Make the file as small and its search as fast as they can be; see docs/storage.md."""
        from hermes_store import maintenance

        report = maintenance.optimize(self._db, progress)
        self.prepare_search()
        return report

    def auto_maintain(self, config: Config, sessions_dir: Path | None = None) -> MaintenanceReport:
        """Prune as config.yaml says, if it says so and it is time; never raises."""
        from hermes_store import maintenance
        from hermes_store.upkeep import MaintenanceReport

        wanted = config.sessions
        if not wanted.auto_prune:
            return MaintenanceReport(skipped=True)
        return maintenance.auto_prune(
            self._db,
            retention_days=wanted.retention_days,
            min_interval_hours=wanted.min_interval_hours,
            vacuum_after=wanted.vacuum_after_prune,
            sessions_dir=sessions_dir,
        )
