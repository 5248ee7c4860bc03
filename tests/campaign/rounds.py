"""One round: a fresh home, workers, harm, and a look at what is left."""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite import checkpoint, fulltext
from hermes_store.trash import delete_from_database
from tests.campaign import harm as harms
from tests.campaign import work as works
from tests.campaign.gateway_files import gateway_faults
from tests.campaign.harm import Harm
from tests.campaign.homes import Home
from tests.campaign.ledger import Expected
from tests.campaign.look import look, sentence, spoken
from tests.peer.living import APPEND
from tests.store import processes

PATIENCE = 90.0
"""Seconds after which a worker counts as hanging; a locked file is given up after twenty."""
PEER_MESSAGES = 60
TWINS = ("trash", "restore", "prune")
"""What another worker does to the same sessions at the same time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that was drawn for a round."""

    work: str
    home: str
    harm: Harm
    seed: int
    size: int
    peer: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it for the file that repeats the round."""
        return {
            "work": self.work, "home": self.home, "seed": self.seed, "size": self.size,
            "peer": self.peer, "harm": self.harm.as_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Plan:
        """Read the file of an earlier round."""
        return cls(**{**found, "harm": Harm(**found["harm"])})


@dataclass(slots=True)
class Outcome:
    """What came of a round."""

    broken: list[str] = field(default_factory=list)
    acknowledged: int = 0
    killed: bool = False
    inside: bool = False
    """Whether the kill or stop hit inside a write transaction."""
    refusals: int = 0
    """Operations that failed with a sentence."""
    calls: int | None = None
    """How many calls a worker made that came to its end."""
    seconds: float = 0.0


# -- the worker's process ----------------------------------------------------------------------


class _Flag:
    """A byte that parent and child share: whether the child is inside a write transaction."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._page[0] == 1

    def watch(self, con: apsw.Connection) -> None:
        """Follow the transactions of a new connection."""

        def trace(event: dict[str, Any]) -> None:
            if event["code"] == apsw.SQLITE_TRACE_STMT:
                if str(event["sql"]).startswith("BEGIN IMMEDIATE"):
                    self._page[0] = 1
            elif str(event["sql"]).startswith(("COMMIT", "ROLLBACK")):
                self._page[0] = 0

        con.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, trace)


def _forked(action: Callable[[], None]) -> int:
    """Run an action in a child and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    # Its own group: the kernel hangs up a group that has a stopped member when its shell ends.
    os.setpgid(0, 0)
    try:
        # The child's own complaints are notes; SQLite's go nowhere.
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        action()
        code = 0
    finally:
        os._exit(code)


def _small_steps(draw: random.Random) -> None:
    """Make many short transactions of few long ones."""
    fulltext.STEP_ROWS = 10
    delete_from_database.STEP_MESSAGES = 10
    delete_from_database.STEP_SESSIONS = 2
    checkpoint.EVERY_WRITES = draw.choice([3, 20, 150])


def _begin(plan: Plan, home: Path, name: str, flag: _Flag | None, harm: Harm, kind: str) -> int:
    notes = home.with_name(f"{home.name}-{name}.notes")

    def child() -> None:
        notebook = works.Notebook(notes)
        worker = works.Worker(home, name, notebook, plan.seed, plan.size)
        _small_steps(worker.draw)
        if flag is not None:
            apsw.connection_hooks.append(flag.watch)
        counter, around = harms.suffer(harm, home)
        with around:
            works.run(kind, worker, notebook)
        notebook.write("ended", calls=counter.changes)

    return _forked(child)


def _notes(home: Path) -> Iterator[list[dict[str, Any]]]:
    for path in sorted(home.parent.glob(f"{home.name}-*.notes")):
        lines = path.read_bytes().split(b"\n")
        yield [json.loads(line) for line in lines if line]


def _ended(child: int, limit: float, outcome: Outcome) -> bool:
    """Wait for a child; tell whether it ended in time. One that died by itself is broken."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            if status:
                outcome.broken.append(f"A worker ended with status {status}.")
            return True
        time.sleep(0.002)
    return False


def _kill(child: int) -> bool:
    """Kill a child; tell whether it was still alive."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


# -- a round -----------------------------------------------------------------------------------


def run(plan: Plan, home: Home, folder: Path) -> Outcome:
    """Run a round in a folder and return its outcome."""
    place = folder / "home"
    outcome = Outcome()
    with _on_its_disk(plan, home, place):
        (place / "imported.json").write_text(json.dumps(home.imported))
        if plan.harm.kind == "dead_log":
            _leave_a_log(plan, place, random.Random(plan.seed))
        with _peer(plan, place, outcome):
            _work(plan, place, outcome)
        _judge(plan, home, place, outcome)
    return outcome


@contextmanager
def _on_its_disk(plan: Plan, home: Home, place: Path) -> Iterator[None]:
    if plan.harm.kind != "disk_full":
        home.copied(place)
        yield
        return
    harms.small_disk(place, home.folder, plan.harm.amount)
    try:
        subprocess.run(["cp", "-a", f"{home.folder}/.", str(place)], check=True)
        yield
    finally:
        harms.unmount(place)


@contextmanager
def _peer(plan: Plan, place: Path, outcome: Outcome) -> Iterator[None]:
    """Let a real Hermes append all the while; it has to come to its end."""
    if plan.peer is None:
        yield
        return
    path = place / "state.db"
    process = processes.start(APPEND, path, "real", "peer", PEER_MESSAGES, python=plan.peer)
    try:
        processes.heard(process)
        processes.tell(process)
        yield
    finally:
        _, complaint = process.communicate(timeout=PATIENCE)
        if process.returncode:
            last = complaint.strip().splitlines()[-1]
            outcome.broken.append(f"The real Hermes failed: {last}")


def _work(plan: Plan, place: Path, outcome: Outcome) -> None:
    draw, harm = random.Random(plan.seed), plan.harm
    if harm.kind == "read_only" and draw.random() < 0.5:
        harms.protect(place, draw)
    flag = _Flag()
    if harm.kind == "kill_again":
        _kill_again(plan, place, flag, outcome, draw)
    reader = _long_reader(place) if harm.kind == "long_reader" else None
    started = time.monotonic()
    child = _begin(plan, place, "main", flag, harm, plan.work)
    beside = None
    if harm.kind == "writer_beside":
        beside = _begin(plan, place, "beside", None, Harm("none"), "append")
    elif harm.kind == "twin":
        beside = _begin(plan, place, "twin", None, Harm("none"), draw.choice(TWINS))
    ended = _hurt(plan, place, child, flag, outcome, draw)
    if not ended and not _ended(child, PATIENCE, outcome):
        outcome.broken.append(f"The worker hangs ({PATIENCE:.0f} s).")
        _kill(child)
    if beside is not None and not _ended(beside, PATIENCE, outcome):
        outcome.broken.append("The worker beside it hangs.")
        _kill(beside)
    if reader is not None:
        _kill(reader)
    outcome.seconds = time.monotonic() - started


def _kill_again(
    plan: Plan, place: Path, flag: _Flag, outcome: Outcome, draw: random.Random
) -> None:
    """Kill the same work twice, the second time in what the first left; then let it finish."""
    for number in range(2):
        harm = Harm("kill_call", call=draw.randint(1, plan.harm.call))
        child = _begin(plan, place, f"early{number}", flag, harm, plan.work)
        _, status = os.waitpid(child, 0)
        outcome.killed |= os.WIFSIGNALED(status)
        outcome.inside |= os.WIFSIGNALED(status) and bool(flag)


def _hurt(
    plan: Plan, place: Path, child: int, flag: _Flag, outcome: Outcome, draw: random.Random
) -> bool:
    """Do the harm that comes from outside; tell whether the worker was waited for."""
    kind = plan.harm.kind
    if kind in ("kill_call", "twin"):
        _, status = os.waitpid(child, 0)
        outcome.killed = os.WIFSIGNALED(status)
    elif kind in ("stop", "stop_long"):
        return _stopped(plan, place, child, flag, outcome)
    elif kind in ("kill", "writer_beside"):
        if not _ended(child, plan.harm.after, outcome):
            outcome.killed = _kill(child)
    elif kind in harms.DAMAGE or kind == "read_only":
        if not _ended(child, plan.harm.after, outcome):
            if kind == "read_only":
                harms.protect(place, draw)
            else:
                harms.damage(kind, place, draw)
            return False
    else:
        return False
    outcome.inside = outcome.killed and bool(flag)
    return True


def _stopped(plan: Plan, place: Path, child: int, flag: _Flag, outcome: Outcome) -> bool:
    """Let others write while a worker is stopped, then let it go on."""
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return True
    outcome.killed, outcome.inside = True, bool(flag)
    other = _begin(plan, place, "other", None, Harm("none"), "append")
    # In the long run the other one gives up by itself.
    ended = _ended(other, 1.0 if plan.harm.kind == "stop" else PATIENCE, outcome)
    os.kill(child, signal.SIGCONT)
    if not ended and not _ended(other, PATIENCE, outcome):
        outcome.broken.append("The worker beside a stopped one hangs.")
        _kill(other)
    return False


def _leave_a_log(plan: Plan, place: Path, draw: random.Random) -> None:
    """Let a process die with a log, whose shared memory may be lost or scribbled on."""
    early = Harm("kill_call", call=draw.randint(1, 150))
    child = _begin(plan, place, "early", None, early, "append")
    os.waitpid(child, 0)
    shared = place / "state.db-shm"
    if not shared.exists():
        return
    match draw.choice(["left", "lost", "scribbled"]):
        case "lost":
            shared.unlink()
        case "scribbled":
            shared.write_bytes(draw.randbytes(shared.stat().st_size))


def _long_reader(place: Path) -> int:
    ready, told = os.pipe()

    def child() -> None:
        con = apsw.Connection(str(place / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
        con.execute("BEGIN")
        con.execute("SELECT COUNT(*) FROM messages").fetchall()
        os.write(told, b"x")
        time.sleep(PATIENCE * 2)

    process = _forked(child)
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return process


# -- the verdict -------------------------------------------------------------------------------


def _judge(plan: Plan, home: Home, place: Path, outcome: Outcome) -> None:
    kind = plan.harm.kind
    if kind == "read_only":
        harms.unprotect(place)
    elif kind == "disk_full":
        harms.enlarge(place)
    ledger = home.ledger()
    if plan.peer is not None:
        said = [f"message {number} of peer 前回の設定" for number in range(PEER_MESSAGES)]
        ledger.sessions["peer"] = Expected([spoken("user", text) for text in said])
    for notes in _notes(place):
        ledger.read(notes)
        outcome.broken += _manners(notes)
        outcome.refusals += sum(note["state"] == "failed" for note in notes)
        outcome.calls = next((n["calls"] for n in notes if n["state"] == "ended"), outcome.calls)
    if kind == "twin":
        ledger.allow_both()
    outcome.acknowledged = ledger.acknowledged
    damaged = kind in harms.DAMAGE
    found = look(place, damaged=damaged)
    outcome.broken += found.complaints if damaged else ledger.violations(found)
    if not damaged:
        outcome.broken += gateway_faults(place)


def _manners(notes: list[dict[str, Any]]) -> list[str]:
    broken = [f"A traceback: {note['message']}" for note in notes if note["state"] == "crashed"]
    for note in notes:
        if note["state"] == "failed" and not sentence(note["message"]):
            broken.append(f"Not a sentence: {note['kind']}: {note['message']}")
    return broken
