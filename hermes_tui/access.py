"""The only module that runs store work: threads, cancellation, delivery on the screen's side.

A question names a group. A newer question of the same group ends the older one: its statements
are interrupted within milliseconds and its answer is never delivered. Changes open a writer for
themselves and close it again; everything else goes through one read-only store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textual.message import Message
from textual.worker import Worker, get_current_worker

from hermes_store.engines.sqlite.watch import Watch
from hermes_store.errors import DatabaseMissing, DatabaseReadOnly, StoreError

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from hermes_store.config.settings import Config
    from hermes_store.store import Store
    from hermes_tui.first_rows import FirstPage, Head

Answer = TypeVar("Answer")
Stopped = Callable[[], bool]

POLL_SECONDS = 0.5
NOTE_SECONDS = 2.0
"""How long leaving waits for a search text to be kept."""


@dataclass
class StoreChanged(Message):
    """Somebody wrote to the database."""


@dataclass
class Delivered(Message):
    """An answer, for whoever asked."""

    then: Callable[[Any], None]
    answer: Any


class Asks:
    """What a screen needs to be given answers: mix it in."""

    def on_delivered(self, event: Delivered) -> None:
        """Hand an answer to the method that waits for it."""
        event.stop()
        event.then(event.answer)


class Workers:
    """Asks one database, and changes it when told to."""

    def __init__(
        self,
        database: Path,
        config: Config,
        *,
        read_only: bool = False,
        first: FirstPage | None = None,
    ) -> None:
        self.database = database
        self.read_only = read_only
        self._config = config
        self._lock = threading.Lock()
        self._reader: Store | None = first.store if first is not None else None
        self.head: Head | None = first.head if first is not None else None
        """The first rows, if they were read beforehand."""
        self._read_from = self._file()
        self._watching: threading.Event | None = None
        self._noting: threading.Thread | None = None

    # -- asking ----------------------------------------------------------------------------

    def reader(self) -> Store:
        """Return the store that everybody reads from; DatabaseMissing while there is none."""
        from hermes_store.store import Store

        here = self._file()
        if here != self._read_from:
            self.reopen()  # replaced, as by a restored backup; or gone
        with self._lock:
            self._read_from = here
            if self._reader is None:
                if here is None:
                    raise DatabaseMissing(f"There is no session database at {self.database} yet.")
                self._reader = Store(self.database, read_only=True)
            return self._reader

    def _file(self) -> tuple[int, int] | None:
        try:
            found = self.database.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def reopen(self) -> None:
        """Open the file anew when it is next asked; another one may have taken its place."""
        with self._lock:
            stale, self._reader = self._reader, None
        if stale is not None:
            stale.close()

    def ask(
        self,
        node: DOMNode,
        group: str,
        job: Callable[[Store, Stopped], Answer],
        then: Callable[[Answer], None],
        otherwise: Callable[[StoreError], None],
        *,
        exclusive: bool = True,
    ) -> Worker[None]:
        """Run a question in a thread and hand its answer, or the trouble, to the asking node."""
        return self.run(node, group, lambda stop: job(self.reader(), stop), then, otherwise,
                         exclusive=exclusive)  # fmt: skip

    def change(
        self,
        node: DOMNode,
        job: Callable[[Store, Stopped], Answer],
        then: Callable[[Answer], None],
        otherwise: Callable[[StoreError], None],
    ) -> Worker[None]:
        """Run a change in a thread, with a writer of its own that is closed afterwards."""

        def write(stop: Stopped) -> Answer:
            with self._writer() as store:
                return job(store, stop)

        return self.run(node, "change", write, then, otherwise, exclusive=False)

    def _writer(self) -> Store:
        from hermes_store.store import Store

        if self.read_only:
            raise DatabaseReadOnly(
                "This browser was opened with --read-only, so nothing can be changed."
            )
        if not self.database.exists():
            raise DatabaseMissing(f"There is no session database at {self.database} yet.")
        return Store(self.database, synchronous=self._config.sessions.durability)

    def run(
        self,
        node: DOMNode,
        group: str,
        job: Callable[[Stopped], Answer],
        then: Callable[[Answer], None],
        otherwise: Callable[[StoreError], None],
        *,
        exclusive: bool = True,
    ) -> Worker[None]:
        """Run any job in a thread and hand what it returns, or its trouble, to a node."""

        def run() -> None:
            worker = get_current_worker()
            delivery: Delivered
            try:
                delivery = Delivered(then, job(lambda: worker.is_cancelled))
            except StoreError as error:
                delivery = Delivered(otherwise, error)
            if not worker.is_cancelled and node.is_attached:
                node.post_message(delivery)

        return node.run_worker(run, thread=True, group=group, exclusive=exclusive)

    def cancel(self, node: DOMNode, group: str) -> None:
        """End what a node asked for in a group."""
        node.workers.cancel_group(node, group)

    def note_search(self, text: str) -> None:
        """Keep a search text in the companion file; the session database is not touched."""
        from hermes_store.engines.sqlite.sidecar import Sidecar
        from hermes_store.marks.saved_searches import SavedSearches

        def keep() -> None:
            companion = Sidecar(self.database)
            # A history that cannot be kept is no reason to disturb anybody.
            with suppress(StoreError):
                SavedSearches(companion).remember(text)
            companion.close()

        # Not a worker: those end with their screen, and a person is just leaving it.
        self._noting = threading.Thread(target=keep, name="hermes-note", daemon=True)
        self._noting.start()

    # -- watching --------------------------------------------------------------------------

    def watch(self, node: DOMNode) -> None:
        """Tell a node whenever somebody has written to the database, until `close`."""
        if self._watching is not None:
            self._watching.set()  # of a browser that was opened before and left
        ended = self._watching = threading.Event()

        def look() -> None:
            watch = Watch(self.database)
            watch.changed()
            while not ended.wait(POLL_SECONDS):
                if watch.changed() and node.is_attached:
                    node.post_message(StoreChanged())
            watch.close()

        threading.Thread(target=look, name="hermes-watch", daemon=True).start()

    def close(self) -> None:
        """Stop watching and close the store."""
        if self._watching is not None:
            self._watching.set()
        if self._noting is not None:
            self._noting.join(NOTE_SECONDS)
        self.reopen()
