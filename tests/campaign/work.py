"""The kinds of work that a worker does on a home, with a note before and after each operation."""

from __future__ import annotations

import json
import os
import random
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_store import Store, StoreError
from hermes_store.gateway import MessageSource, SessionRouter
from tests.campaign import homes
from tests.campaign.look import spoken

FAILURES = 6
"""After so many failures a worker gives up, as a person would."""


class Notebook:
    """The notes of a worker; what was written survives its death."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, state: str, **details: Any) -> None:
        """Add a note."""
        os.write(self._file, json.dumps({"state": state, **details}).encode() + b"\n")


class Enough(Exception):
    """Too many operations failed."""


class Worker:
    """One worker on one home."""

    def __init__(self, home: Path, name: str, notebook: Notebook, seed: int, size: int) -> None:
        self.home = home
        self.path = home / "state.db"
        self.name = name
        self.draw = random.Random(seed)
        self.size = size
        """How much to do."""
        self._notes = notebook
        self._failures = 0

    @contextmanager
    def operation(self, op: str, **details: Any) -> Iterator[dict[str, Any]]:
        """Note an operation; a refusal of the store ends the operation, not the worker."""
        result: dict[str, Any] = {}
        self._notes.write("begun", op=op, **details)
        try:
            yield result
        except StoreError as error:
            self._notes.write("failed", kind=type(error).__name__, message=str(error))
            self._failures += 1
            if self._failures >= FAILURES:
                raise Enough from None
        else:
            self._notes.write("done", **result)

    def say(self, store: Store, session: str, role: str, text: str) -> None:
        """Append a message."""
        with self.operation("say", session=session, text=spoken(role, text)):
            store.messages.append(session, {"role": role, "content": text})

    def start(self, store: Store, session: str) -> None:
        """Start a session."""
        with self.operation("start", sessions={session: []}):
            store.sessions.start(session, "cli")


Work = Callable[[Worker, Store], None]


def append(worker: Worker, store: Store) -> None:
    """Append to a session of its own."""
    name = f"w-{worker.name}"
    worker.start(store, name)
    for number in range(worker.size):
        worker.say(store, name, "user", f"{name} n{number} 前回の設定 {'x' * (number % 7) * 700}")


def chat(worker: Worker, store: Store) -> None:
    """Take turns as the chat does: question, answer, title; then compress, branch and end."""
    name = f"chat-{worker.name}"
    worker.start(store, name)
    for number in range(max(2, worker.size // 3)):
        worker.say(store, name, "user", f"{name} asks {number} 前回の設定")
        worker.say(store, name, "assistant", f"{name} answers {number} {'y' * 900}")
        with worker.operation("title"):
            store.sessions.rename(name, f"{name} {number}")
        with worker.operation("usage"):
            store.sessions.add_usage(name, {"input_tokens": 5, "output_tokens": 7})
    tip = f"{name}-next"
    with worker.operation("start", sessions={tip: None}):
        store.lineage.compress(name, summary="All of it.", keep_last=2, new_id=tip, now=time.time())
    with worker.operation("start", sessions={f"{tip}-branch": None}):
        store.lineage.branch(tip, new_id=f"{tip}-branch", now=time.time())
    with worker.operation("end"):
        store.sessions.end(f"{tip}-branch", "user_exit")


def optimize(worker: Worker, store: Store) -> None:
    """Optimize, which converts an older layout."""
    with worker.operation("optimize"):
        store.upkeep.optimize()


def migrate(worker: Worker, store: Store) -> None:
    """Opening was the work; read everything once."""
    with worker.operation("read"):
        for session in store.lists.conversations(limit=-1):
            store.messages.of(session.root_id)


def prune(worker: Worker, store: Store) -> None:
    """Prune what is old."""
    with worker.operation("plan"):
        plan = store.upkeep.plan_prune()
        names = list(plan.session_ids)
        with worker.operation("trash", sessions=names) as result:
            result["ids"] = store.upkeep.prune(plan).session_ids


def trash(worker: Worker, store: Store) -> None:
    """Delete conversations, one after the other."""
    for names in ((homes.PLAIN[0],), (homes.LONG,), homes.CHAIN, homes.PLAIN[1:4]):
        with worker.operation("trash", sessions=names) as result:
            result["ids"] = store.trash.delete(names).session_ids


def restore(worker: Worker, store: Store) -> None:
    """Restore what is in the trash, delete some of it again, restore that too."""
    for name in (homes.LONG, *homes.PLAIN[:2]):
        with worker.operation("trash", sessions=[name]) as result:
            result["ids"] = store.trash.delete([name]).session_ids
    with worker.operation("list"):
        batches = store.trash.list()
        for batch in batches:
            with worker.operation("restore", sessions=batch.session_ids) as result:
                result["ids"] = store.trash.restore(batch.id).session_ids


def remove(worker: Worker, store: Store) -> None:
    """Delete permanently, from the database and from the trash."""
    for name in (homes.PLAIN[0], homes.LONG, homes.PLAIN[1]):
        with worker.operation("remove", sessions=[name]) as result:
            result["ids"] = store.trash.delete([name], permanently=True).session_ids
    with worker.operation("list"):
        batches = store.trash.list()
        for batch in batches[:1]:
            with worker.operation("remove", sessions=batch.session_ids) as result:
                result["ids"] = batch.session_ids
                store.trash.empty(batch_id=batch.id)


def import_(worker: Worker, store: Store) -> None:
    """Import a file, twice: the second time changes nothing."""
    file = worker.home / homes.IMPORT_FILE
    said = json.loads((worker.home / "imported.json").read_text())
    for _ in range(2):
        with worker.operation("import", sessions=said):
            report = store.transfer.import_file(file)
            notes = [each.note for each in report.sessions if each.outcome.value == "skipped"]
            if notes:
                raise StoreError(str(notes[0]))


def gateway(worker: Worker, store: Store) -> None:
    """Route messages of several chats and save them, with their transcripts."""
    router = SessionRouter(store, sessions_dir=worker.home / "sessions")
    for number in range(worker.size):
        chat_id = str(worker.draw.randint(1, 3))
        source = MessageSource.from_origin(
            {"platform": "telegram", "chat_type": "dm", "chat_id": chat_id, "user_id": "u"}
        )
        with worker.operation("route"):
            routed = router.incoming(source, "hello")
            with worker.operation("start", sessions={routed.session_id: []}):
                pass
            text = f"{worker.name} gateway {number} 前回"
            with worker.operation("say", session=routed.session_id, text=spoken("user", text)):
                router.save(routed, "user", text)


WORK: dict[str, Work] = {
    "append": append,
    "chat": chat,
    "migrate": migrate,
    "convert": optimize,
    "optimize": optimize,
    "prune": prune,
    "trash": trash,
    "restore": restore,
    "remove": remove,
    "import": import_,
    "gateway": gateway,
}
HOMES_OF = {"migrate": ("old",), "convert": ("inline",)}
"""Work that makes sense only on some kinds of homes."""
NOT_OLD = ("prune", "trash", "restore", "remove")
"""Work on sessions that the old homes do not have."""


def homes_of(work: str, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds of homes for a kind of work."""
    if work in HOMES_OF:
        return HOMES_OF[work]
    return tuple(kind for kind in kinds if kind != "old" or work not in NOT_OLD)


def run(kind: str, worker: Worker, notebook: Notebook) -> None:
    """Do a kind of work from opening the home to closing it."""
    try:
        with worker.operation("open"), Store(worker.path) as store:
            WORK[kind](worker, store)
    except Enough:
        pass
    except Exception:
        notebook.write("crashed", message=traceback.format_exc())
