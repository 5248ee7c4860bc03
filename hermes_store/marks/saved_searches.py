"""Saved searches and the search history."""

from __future__ import annotations

import time

from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.errors import InvalidInput
from hermes_store.records.marks import SavedSearch
from hermes_store.records.safe_text import one_line, storable
from hermes_store.records.stored_values import moment, text

HISTORY_LENGTH = 1_000


class SavedSearches:
    """The saved searches and search history of one session database."""

    def __init__(self, companion: Sidecar) -> None:
        self._companion = companion

    def list(self) -> tuple[SavedSearch, ...]:
        """Return the saved searches, by name."""
        sql = "SELECT name, text, saved_at FROM saved_searches ORDER BY name"
        return self._companion.ask(
            lambda tx: tuple(
                SavedSearch(text(name), text(query), moment(saved))
                for name, query, saved in tx.rows(sql)
            ),
            (),
        )

    def save(self, name: str, query: str, now: float | None = None) -> SavedSearch:
        """Save a search under a name, replacing an earlier one."""
        clean = one_line(storable(name))
        if not clean:
            raise InvalidInput("A saved search needs a name.")
        saved = SavedSearch(clean, storable(query), time.time() if now is None else now)
        with self._companion.write() as tx:
            tx.run(
                "INSERT OR REPLACE INTO saved_searches(name, text, saved_at) VALUES (?, ?, ?)",
                (saved.name, saved.text, saved.saved_at),
            )
        return saved

    def forget(self, name: str) -> bool:
        """Remove a saved search; tell whether there was one."""
        with self._companion.write() as tx:
            return tx.run("DELETE FROM saved_searches WHERE name = ?", (one_line(name),)) > 0

    def history(self, limit: int = 100) -> tuple[str, ...]:
        """Return the search history, the latest first, each text once."""
        sql = "SELECT text FROM search_history ORDER BY used_at DESC LIMIT ?"
        return self._companion.ask(
            lambda tx: tuple(text(row[0]) for row in tx.rows(sql, (limit,))), ()
        )

    def remember(self, query: str, now: float | None = None) -> None:
        """Add a search to the search history, which keeps the latest thousand."""
        if not query.strip():
            return
        with self._companion.write() as tx:
            tx.run(
                "INSERT OR REPLACE INTO search_history(text, used_at) VALUES (?, ?)",
                (query.strip(), time.time() if now is None else now),
            )
            tx.run(
                "DELETE FROM search_history WHERE text NOT IN "
                "(SELECT text FROM search_history ORDER BY used_at DESC LIMIT ?)",
                (HISTORY_LENGTH,),
            )

    def clear_history(self) -> None:
        """Clear the search history."""
        with self._companion.write() as tx:
            tx.run("DELETE FROM search_history")
