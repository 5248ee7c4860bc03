"""The only path from screens and chat to the store: threads, cancellation, delivery, failures.

A widget asks with the type of answer it expects. The job runs in a thread, on a read-only store
or with its own writer, and the answer arrives as a message of that type. A newer question of the
same kind cancels the older one: its statements are interrupted within milliseconds, and an answer
already on its way reports that it is stale. Any error in a job arrives as `Failed`; the browser
stays up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.message import Message
from textual.worker import get_current_worker

from hermes_store.engines.opening import watch_of
from hermes_store.errors import DatabaseMissing, DatabaseReadOnly, StoreError, places
from hermes_tui.crash_log import BUG, write_crash_log
from hermes_tui.opening.start_options import READ_ONLY as READ_ONLY

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from hermes_store.config.settings import Config
    from hermes_store.records.upkeep_reports import MaintenanceReport
    from hermes_store.store import Store

Value = TypeVar("Value")
Stopped = Callable[[], bool]

POLL_SECONDS = 0.5
CLOSE_SECONDS = 5.0
"""How long quitting waits for pending writes."""

log = logging.getLogger("hermes_tui.access")


@dataclass(slots=True)
class Series:
    """All questions of one kind from one widget."""

    newest: int = 0
    """The generation of the latest question."""


class Answer(Message, Generic[Value]):
    """The answer to a question. Each kind of question has its own subclass."""

    def __init__(self, value: Value, generation: int, series: Series) -> None:
        super().__init__()
        self.value = value
        self.generation = generation
        self._series = series

    @property
    def stale(self) -> bool:
        """Whether a newer question of the same kind has been asked since."""
        return self.generation < self._series.newest


class Failed(Message):
    """A question could not be answered; the error is a sentence for the user."""

    def __init__(
        self, question: type[Answer[Any]], error: StoreError, generation: int, series: Series
    ) -> None:
        super().__init__()
        self.question = question
        self.error = error
        self.generation = generation
        self._series = series

    @property
    def stale(self) -> bool:
        """Whether a newer question of the same kind has been asked since."""
        return self.generation < self._series.newest


@dataclass
class StoreChanged(Message):
    """The database was written to."""


class JobQueue:
    """Runs jobs one at a time in its own thread, in order of arrival."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)

    def submit(self, job: Callable[[], Value]) -> Future[Value]:
        """Queue a job."""
        return self._threads.submit(job)

    def close(self) -> None:
        """Accept no more jobs; those already queued still run."""
        self._threads.shutdown(wait=False)

    def wait(self, seconds: float) -> None:
        """Wait for all jobs, up to a number of seconds."""
        done = threading.Thread(target=self._threads.shutdown, daemon=True)
        done.start()
        done.join(seconds)


class Access:
    """Reads and changes one database."""

    def __init__(
        self,
        database: Path,
        config: Config,
        *,
        read_only: bool = False,
        reader: Store | None = None,
        address: str | None = None,
    ) -> None:
        """`reader` is open already; with the `address` of a server, `database` is for its files."""
        self.database = database
        self.address = address
        self.read_only = read_only
        self._config = config
        self._lock = threading.Lock()
        self._reader = reader
        self._outdated = False
        self._read_from = self._file()
        self._series: dict[tuple[int, str], Series] = {}
        self._queues: list[JobQueue] = []
        self._notes = self.queue("hermes-note")
        self._changes = self.queue("hermes-change")
        self.drafts = self.queue("hermes-drafts")
        """For unsent texts: one for all chats, so that reopening one finds what closing it kept."""
        self._watching: threading.Event | None = None

    @property
    def place(self) -> Path | str:
        """The file, or the address of the server; what is shown of it has no password."""
        return self.address or self.database

    # -- asking ----------------------------------------------------------------------------

    def ask(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Store, Stopped], Value],
        *,
        group: str | None = None,
        exclusive: bool = True,
    ) -> None:
        """Ask the store in the background and post the answer to the asking node."""
        self.run(
            node, answer, lambda stop: job(self._read(), stop), group=group, exclusive=exclusive
        )

    def follow(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Store, Stopped], Generator[Value, None, Value]],
    ) -> None:
        """Ask the store in the background; post every answer that the job yields or returns."""

        def every(stop: Stopped, tell: Callable[[Value], None]) -> Value:
            answers = job(self._read(), stop)
            while True:
                try:
                    tell(next(answers))
                except StopIteration as end:
                    last: Value = end.value
                    return last

        self._run(node, answer, every)

    def change(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Store, Stopped], Value],
    ) -> None:
        """Make a change in the background, with its own writer that is closed afterwards.

        Changes are made one after the other, and all of them: quitting waits.
        """
        self.run(node, answer, self._write(job), exclusive=False, queue=self._changes)

    def _write(self, job: Callable[[Store, Stopped], Value]) -> Callable[[Stopped], Value]:
        def write(stop: Stopped) -> Value:
            with self._writer() as store:
                return job(store, stop)

        return write

    @property
    def prunes(self) -> bool:
        """Whether config.yaml asks for automatic pruning, and changes are allowed."""
        return self._config.sessions.auto_prune and not self.read_only

    def auto_prune(
        self,
        node: DOMNode,
        answer: type[Answer[MaintenanceReport]],
        sessions_dir: Path | None,
    ) -> None:
        """Prune as config.yaml says, if it is due, in the background."""
        config = self._config
        prune = self._write(lambda store, _: store.upkeep.auto_prune(config, sessions_dir))
        self.run(node, answer, prune, exclusive=False)

    def run(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Stopped], Value],
        *,
        group: str | None = None,
        exclusive: bool = True,
        queue: JobQueue | None = None,
    ) -> None:
        """Run any job in a thread or in a queue, and post its answer or failure."""
        self._run(
            node, answer, lambda stop, _: job(stop), group=group, exclusive=exclusive, queue=queue
        )

    def _run(
        self,
        node: DOMNode,
        answer: type[Answer[Value]],
        job: Callable[[Stopped, Callable[[Value], None]], Value],
        *,
        group: str | None = None,
        exclusive: bool = True,
        queue: JobQueue | None = None,
    ) -> None:
        """Run a job that may tell parts of its answer before the whole."""
        kind = group or answer.__qualname__
        series = self._series.setdefault((id(node), kind), Series())
        if exclusive:
            series.newest += 1
        generation = series.newest

        def stale() -> bool:
            return exclusive and generation < series.newest

        def tell(value: Value) -> None:
            if node.is_attached:
                node.post_message(answer(value, generation, series))

        queued = queue.submit(lambda: job(stale, tell)) if queue is not None else None

        def work() -> None:
            worker = get_current_worker()
            message: Message
            try:
                if queued is not None:
                    value = queued.result()
                else:
                    value = job(lambda: worker.is_cancelled or stale(), tell)
                message = answer(value, generation, series)
            except StoreError as error:
                message = Failed(answer, error, generation, series)
            # Last resort of a thread: an error that escapes here would end the browser.
            except Exception as error:
                if worker.is_cancelled or stale():
                    return  # interrupted on purpose: nobody waits for the answer
                message = Failed(answer, self._mistake(error), generation, series)
            if not worker.is_cancelled and node.is_attached:
                node.post_message(message)

        node.run_worker(work, thread=True, group=kind, exclusive=exclusive)

    def cancel(self, node: DOMNode, group: str) -> None:
        """Cancel the questions of a node in a group; their answers are stale."""
        series = self._series.get((id(node), group))
        if series is not None:
            series.newest += 1
        node.workers.cancel_group(node, group)

    def queue(self, name: str) -> JobQueue:
        """Return a new queue; quitting waits for its jobs."""
        queue = JobQueue(name)
        self._queues.append(queue)
        return queue

    def _mistake(self, error: Exception) -> StoreError:
        """Log an unexpected error and return a message for the user."""
        log.error("A job failed\n%s", places(error))
        path = write_crash_log(error, self.database.parent)
        more = f" Details are in {path}." if path is not None else ""
        return StoreError(f"{BUG}{more}")

    # -- stores ----------------------------------------------------------------------------

    def _read(self) -> Store:
        """Return the shared reader; DatabaseMissing while there is no database."""
        from hermes_store.store import Store

        here = self._file()
        if self._outdated or here != self._read_from:
            self._forget_reader()  # replaced, for example by a restored backup, or gone
        with self._lock:
            self._read_from = here
            if self._reader is None:
                if here is None:
                    raise DatabaseMissing(f"There is no session database at {self.database} yet.")
                self._reader = Store(self.address or self.database, read_only=True)
            return self._reader

    def _file(self) -> tuple[int, int] | None:
        if self.address is not None:
            return 0, 0  # a server is there, or says in its own words that it is not
        try:
            found = self.database.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def reopen(self) -> None:
        """Reopen the file at the next question; it may have been replaced."""
        # Only a note: opening and closing can wait for other programs, and screens call this.
        self._outdated = True

    def _forget_reader(self) -> None:
        with self._lock:
            stale, self._reader, self._outdated = self._reader, None, False
        if stale is not None:
            stale.close()

    def _writer(self) -> Store:
        from hermes_store.store import Store

        if self.read_only:
            raise DatabaseReadOnly(READ_ONLY)
        if self.address is None and not self.database.exists():
            raise DatabaseMissing(f"There is no session database at {self.database} yet.")
        return Store(self.address or self.database, synchronous=self._config.sessions.durability)

    def note_search(self, text: str) -> None:
        """Add a text to the search history, which is in the sidecar."""
        from hermes_store.engines.sqlite.sidecar_database import SqliteSidecar
        from hermes_store.marks.saved_searches import SavedSearches
        from hermes_store.store import Store

        def keep() -> None:
            # A history that cannot be saved is not worth a message.
            with suppress(StoreError):
                if self.address is not None:
                    with Store(self.address) as store:
                        store.saved_searches.remember(text)
                    return
                sidecar = SqliteSidecar(self.database)
                try:
                    SavedSearches(sidecar).remember(text)
                finally:
                    sidecar.close()

        # Not a worker: those end with their screen, which is just closing.
        self.note(keep)

    def note(self, job: Callable[[], None]) -> None:
        """Write something small in the background; quitting waits for it."""
        self._notes.submit(job)

    # -- watching --------------------------------------------------------------------------

    def watch(self, node: DOMNode) -> None:
        """Tell a node about every write to the database, by any process, until `close`."""
        if self._watching is not None:
            self._watching.set()  # from an earlier browser screen
        ended = self._watching = threading.Event()

        def look() -> None:
            watch = watch_of(self.database, self.address)
            watch.changed()
            while not ended.wait(POLL_SECONDS):
                if watch.changed() and node.is_attached:
                    node.post_message(StoreChanged())
            watch.close()

        threading.Thread(target=look, name="hermes-watch", daemon=True).start()

    def close(self) -> None:
        """Stop watching, finish the queues and close the store. Slow: call it in a thread."""
        if self._watching is not None:
            self._watching.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        for queue in self._queues:
            queue.close()
        for queue in self._queues:
            queue.wait(max(0.0, deadline - time.monotonic()))
        self._forget_reader()
