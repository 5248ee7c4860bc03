"""Saved searches and the search history."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hermes_store.engines.base import Sidecar, Transaction
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
        """Return the saved searches in the user's order: at first that in which they were saved."""
        return self._companion.ask(_in_order, ())

    def save(
        self, name: str, query: str, now: float | None = None, *, place: int | None = None
    ) -> SavedSearch:
        """Save a search under a name, replacing an earlier one; at a place, or where it was."""
        clean = one_line(storable(name))
        if not clean:
            raise InvalidInput("A saved search needs a name.")
        saved = SavedSearch(clean, storable(query), time.time() if now is None else now)
        with self._companion.write() as tx:
            names = [each.name for each in _in_order(tx)]
            if place is None and clean not in names:
                place = len(names)
            if place is not None:
                names = [each for each in names if each != clean]
                names.insert(place, clean)
            tx.run(
                "INSERT INTO saved_searches(name, text, saved_at) VALUES (?, ?, ?) "
                "ON CONFLICT(name) DO UPDATE "
                "SET text = excluded.text, saved_at = excluded.saved_at",
                (saved.name, saved.text, saved.saved_at),
            )
            _put_in_order(tx, names)
        return saved

    def move(self, name: str, step: int) -> tuple[SavedSearch, ...]:
        """Move a saved search down or, with a negative step, up; return all in their new order."""
        with self._companion.write() as tx:
            names = [each.name for each in _in_order(tx)]
            if name in names:
                place = max(0, names.index(name) + step)
                names.remove(name)
                names.insert(place, name)
                _put_in_order(tx, names)
            return _in_order(tx)

    def forget(self, name: str) -> bool:
        """Remove a saved search; tell whether there was one."""
        with self._companion.write() as tx:
            tx.run("DELETE FROM saved_search_order WHERE name = ?", (one_line(name),))
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
                "INSERT INTO search_history(text, used_at) VALUES (?, ?) "
                "ON CONFLICT(text) DO UPDATE SET used_at = excluded.used_at",
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


def _in_order(tx: Transaction) -> tuple[SavedSearch, ...]:
    # A file of an earlier version has no order until something is written to it.
    ordered = tx.columns("saved_search_order")
    join = "LEFT JOIN saved_search_order o ON o.name = s.name" if ordered else ""
    by = "o.place IS NULL, o.place, s.name" if ordered else "s.name"
    rows = tx.rows(f"SELECT s.name, s.text, s.saved_at FROM saved_searches s {join} ORDER BY {by}")
    return tuple(SavedSearch(text(name), text(query), moment(saved)) for name, query, saved in rows)


def _put_in_order(tx: Transaction, names: Sequence[str]) -> None:
    tx.run("DELETE FROM saved_search_order")
    for place, name in enumerate(names):
        tx.run("INSERT INTO saved_search_order(name, place) VALUES (?, ?)", (name, place))
