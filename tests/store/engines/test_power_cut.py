"""A power cut at any moment: nothing acknowledged is lost, nothing is in neither file nor trash.

Every write of SQLite is recorded. For many moments the folder is then built again as a disk may
hold it after a power cut: all that was synced, and any part of what was not.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from hermes_store import Store
from hermes_store.engines.sqlite import checkpoint
from hermes_store.trash import delete_from_database
from tests.campaign.ledger import Ledger, Place
from tests.campaign.look import look, said_in, spoken
from tests.store import vfs
from tests.support import LONG_AGO

CUTS = int(os.environ.get("HERMES_TEST_CUTS", "40"))
"""How many moments each test cuts at; set the variable for a long run."""
SECTOR = 512

Notes = list[tuple[int, dict[str, Any]]]
"""What was told to the caller, each with the number of calls that came before it."""
Tell = Callable[[str, dict[str, Any]], None]


def _disk_after(record: vfs.Record, cut: int, draw: random.Random) -> dict[str, bytes]:
    """Return the files after a power cut before call number `cut`."""
    safe = {path: bytearray(data) for path, data in record.before.items()}
    loose: dict[str, list[vfs.Call]] = {}
    for call in record.calls[:cut]:
        if call.name == "sync":
            if call.path not in safe:
                _sync_folder(safe, loose)
            for each in loose.pop(call.path, []):
                _apply(safe, each)
            safe.setdefault(call.path, bytearray())
        else:
            loose.setdefault(call.path, []).append(call)
    for calls in filter(None, loose.values()):
        for call in _survivors(calls, draw):
            _apply(safe, call)
    return {path: bytes(data) for path, data in safe.items()}


def _sync_folder(safe: dict[str, bytearray], loose: dict[str, list[vfs.Call]]) -> None:
    """Make deletions permanent: the first sync of a new log or journal also syncs the folder."""
    for path, calls in loose.items():
        if any(call.name == "delete" for call in calls):
            last = max(place for place, call in enumerate(calls) if call.name == "delete")
            safe.pop(path, None)
            loose[path] = calls[last + 1 :]


def _survivors(calls: list[vfs.Call], draw: random.Random) -> Iterator[vfs.Call]:
    """Yield the calls of a file that reached the disk although nothing waited for them."""
    kind = draw.choice(["none", "all", "first", "some"])
    if kind == "all":
        yield from calls
    elif kind == "first":
        number = draw.randint(0, len(calls) - 1)
        yield from calls[:number]
        yield _torn(calls[number], draw)
    elif kind == "some":
        yield from (call for call in calls if draw.random() < 0.5)


def _torn(call: vfs.Call, draw: random.Random) -> vfs.Call:
    whole = len(call.data) // SECTOR
    data = call.data[: draw.randint(0, whole) * SECTOR]
    return vfs.Call(call.name, call.path, call.offset, data) if call.name == "write" else call


def _apply(files: dict[str, bytearray], call: vfs.Call) -> None:
    if call.name == "delete":
        files.pop(call.path, None)
        return
    content = files.setdefault(call.path, bytearray())
    if call.name == "truncate":
        del content[call.offset :]
        content.extend(bytes(call.offset - len(content)))
    elif call.data:
        content.extend(bytes(max(0, call.offset - len(content))))
        content[call.offset : call.offset + len(call.data)] = call.data


# -- the work ----------------------------------------------------------------------------------


@contextmanager
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "EVERY_WRITES", 9)
        patched.setattr(delete_from_database, "STEP_MESSAGES", 5)
        yield


def _prepare(path: Path) -> None:
    with Store(path) as store:
        for name in ("kept", "moved", "long", "pruned"):
            store.sessions.start(name, "cli", started_at=LONG_AGO)
            for place in range(12 if name == "long" else 3):
                said = {"role": "user", "content": f"{name} {place} 前回の設定"}
                store.messages.append(name, said, LONG_AGO + place)
            store.sessions.end(name, "user_exit")


def _work(store: Store, tell: Tell) -> None:
    """Write, delete, restore, prune and optimize; tell of each operation begun and done."""

    def say(number: int) -> None:
        text = f"new {number} 前回の設定"
        tell("begun", {"op": "say", "session": "kept", "text": spoken("user", text)})
        store.messages.append("kept", {"role": "user", "content": text})
        tell("done", {})

    def move(names: list[str]) -> int:
        tell("begun", {"op": "trash", "sessions": names})
        deleted = store.trash.delete(names)
        tell("done", {"ids": deleted.session_ids})
        assert deleted.batch_id is not None
        return deleted.batch_id

    def restore(batch: int, names: list[str]) -> None:
        tell("begun", {"op": "restore", "sessions": names})
        tell("done", {"ids": store.trash.restore(batch).session_ids})

    for number in range(12):
        say(number)
    first, second = move(["moved"]), move(["long"])
    say(12)
    restore(second, ["long"])
    restore(first, ["moved"])
    say(13)
    names = ["pruned", "moved", "long"]
    tell("begun", {"op": "trash", "sessions": names})
    plan = store.upkeep.plan_prune()
    tell("done", {"ids": store.upkeep.prune(plan).session_ids})
    say(14)
    store.upkeep.optimize()
    say(15)
    tell("begun", {"op": "remove", "sessions": names})
    store.trash.empty()
    tell("done", {"ids": names})
    say(16)


def _recorded(
    path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: Literal["FULL", "NORMAL"]
) -> tuple[vfs.Record, Notes]:
    notes: Notes = []
    with _small_steps(monkeypatch), vfs.recorded(path.parent) as record:

        def tell(state: str, note: dict[str, Any]) -> None:
            notes.append((len(record.calls), {"state": state, **note}))

        with Store(path, synchronous=synchronous) as store:
            _work(store, tell)
    return record, notes


def _cuts(record: vfs.Record, notes: Notes, draw: random.Random) -> list[int]:
    """Return moments to cut: right after something was acknowledged, and any others."""
    told = [place for place, note in notes if note["state"] == "done"]
    chosen = draw.sample(told, min(len(told), CUTS // 3))
    return chosen + [draw.randint(0, len(record.calls)) for _ in range(CUTS - len(chosen))]


def _broken(
    folder: Path, record: vfs.Record, notes: Notes, cut: int, draw: random.Random
) -> list[str]:
    """Build the folder as after a power cut and return what is wrong with it."""
    folder.mkdir()
    for name, data in _disk_after(record, cut, draw).items():
        (folder / Path(name).name).write_bytes(data)
    ledger = Ledger(_KNOWN)
    ledger.read(note for place, note in notes if place <= cut)
    return ledger.violations(look(folder))


_KNOWN: dict[str, list[str]] = {}


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A database with four ended sessions, safely on disk."""
    folder = tmp_path / "home-of-it"
    folder.mkdir()
    path = folder / "state.db"
    _prepare(path)
    _KNOWN.clear()
    _KNOWN.update(said_in(path))
    return path


@pytest.mark.parametrize("seed", range(2))
def test_nothing_acknowledged_is_lost(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    record, notes = _recorded(prepared, monkeypatch, "FULL")
    for number, cut in enumerate(_cuts(record, notes, draw)):
        broken = _broken(tmp_path / f"cut{number}", record, notes, cut, draw)
        assert broken == [], f"cut before call {cut} of {len(record.calls)}, seed {seed}"


def test_the_record_shows_what_is_not_on_disk(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(0)
    record, notes = _recorded(prepared, monkeypatch, "NORMAL")
    assert any(
        "lost" in each
        for number, cut in enumerate(_cuts(record, notes, draw))
        for each in _broken(tmp_path / f"cut{number}", record, notes, cut, draw)
    )


def test_with_normal_durability_no_session_is_in_neither(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(0)
    record, notes = _recorded(prepared, monkeypatch, "NORMAL")
    emptied = next(place for place, note in notes if note.get("op") == "remove")
    for number, cut in enumerate(_cuts(record, notes, draw)):
        if cut < emptied:
            broken = _broken(tmp_path / f"cut{number}", record, notes, cut, draw)
            gone = [each for each in broken if f"is {Place.NOWHERE.value}" in each]
            assert gone == [], f"cut before call {cut} of {len(record.calls)}"
