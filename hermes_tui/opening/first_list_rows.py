"""The first rows of the list, read before anything else is loaded.

While a screen is being built, Python yields to a reading thread only every few milliseconds, and a
page of rows takes many small reads. Reading it beforehand takes a tenth of the time. This module
must not import Textual.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hermes_store.records.listing import Entry, ListRow, View
from hermes_store.records.workspace import Place
from hermes_store.store import Store

log = logging.getLogger("hermes_tui.first_page")
HEAD = 128
"""Conversations read first, so that something is on screen at once."""
FIRST_ROWS = 50
PATIENCE = 0.5
"""Seconds after which the screen opens without rows, in case the disk is busy."""


class Head(NamedTuple):
    """The beginning of a list."""

    entries: list[Entry]
    rows: list[ListRow]


def read_head(store: Store, view: View, now: float) -> Head:
    """Read the beginning of a list."""
    limit = min(view.limit or HEAD, HEAD)
    found = list(store.lists.entries(replace(view, limit=limit), now=now))
    ids = [entry for entry in found[:FIRST_ROWS] if isinstance(entry, str)]
    return Head(found, store.lists.rows(ids, now=now))


class FirstPage:
    """Opens a database and reads its first rows in its own thread."""

    def __init__(
        self,
        database: Path,
        view: View,
        now: float,
        place: Place | None = None,
        *,
        scoped: bool = True,
        address: str | None = None,
    ) -> None:
        """Find the workspace of a `place`; if `scoped`, show only that one."""
        self._database, self._now = database, now
        self._address = address
        self._place, self._scoped = place, scoped
        self.view = view
        self.here: str | None = None
        """The workspace of the place, if any conversation took place there."""
        self.store: Store | None = None
        self.head: Head | None = None
        self._thread = threading.Thread(target=self._read, name="hermes-first-page", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._address is None and not self._database.exists():
            return
        try:
            store = Store(self._address or self._database, read_only=True)
            if self._place is not None:
                self.here = store.lists.workspace_here(self._place)
                self.view = replace(self.view, here=self.here if self._scoped else None)
            self.head = read_head(store, self.view, self._now)
            self.store = store
        # Nothing is kept from anyone: the screen asks again and shows what went wrong.
        except Exception as error:
            log.debug("The first page failed: %s", type(error).__name__)

    def wait(self) -> None:
        """Wait for the rows, at most `PATIENCE` seconds."""
        self._thread.join(PATIENCE)
