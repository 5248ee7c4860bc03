"""Homes to harm: a database of each kind with sessions in it, some already in the trash.

Each kind is made once and then copied for every round.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_store import Store
from tests.campaign.ledger import Ledger, Place
from tests.campaign.look import said_in, spoken
from tests.peer.living import APPEND
from tests.store import newer, old_files, processes
from tests.store.search.layouts import make_inline
from tests.support import LONG_AGO

KINDS = ("ours", "inline", "newer", "old")
REAL = "real"
"""A home made by a real newer Hermes."""
PLAIN = tuple(f"a{number}" for number in range(6))
CHAIN = ("c0", "c1", "c2")
LONG = "long"
TRASHED = tuple(f"t{number}" for number in range(4))
IMPORTED = tuple(f"i{number}" for number in range(5))
IMPORT_FILE = "import.jsonl"
LONG_MESSAGES = 45


@dataclass(frozen=True, slots=True)
class Home:
    """A home that a round may copy."""

    kind: str
    folder: Path
    known: dict[str, list[str]]
    trashed: dict[str, list[str]]
    imported: dict[str, list[str]]

    def copied(self, to: Path) -> None:
        """Make a home of its own for a round."""
        shutil.copytree(self.folder, to)

    def ledger(self) -> Ledger:
        """Return what the home holds before anybody works on it."""
        ledger = Ledger({**self.known, **self.trashed})
        for name in self.trashed:
            ledger.sessions[name].places = {Place.TRASH}
        return ledger


def make(kind: str, folder: Path, python: str | None = None) -> Home:
    """Make a home of a kind; a real one needs the Python of a real Hermes."""
    folder.mkdir(parents=True)
    path = folder / "state.db"
    imported = _export(folder / IMPORT_FILE)
    if kind.startswith("old"):
        version = int(kind.removeprefix("old"))
        old_files.build(path, version, sessions=8, messages=25)
        return Home("old", folder, said_in(path), {}, imported)
    if kind == "newer":
        newer.make(path)
    elif kind == "inline":
        make_inline(path)
    elif kind == REAL:
        assert python is not None
        peer = processes.start(APPEND, path, "real", "theirs", 20, python=python)
        assert processes.heard(peer) == "ready"
        processes.tell(peer)
        processes.finish(peer)
    with Store(path, synchronous="NORMAL") as store:
        _fill(store)
        before = said_in(path)
        for number in range(0, len(TRASHED), 2):
            store.trash.delete(TRASHED[number : number + 2])
    known = said_in(path)
    return Home(kind, folder, known, {name: before[name] for name in TRASHED}, imported)


def _fill(store: Store) -> None:
    for number, name in enumerate((*PLAIN, *CHAIN, LONG, *TRASHED)):
        start = LONG_AGO + 1_000 * number
        parent = CHAIN[CHAIN.index(name) - 1] if name in CHAIN[1:] else None
        store.sessions.start(name, "cli", started_at=start, parent_session_id=parent)
        for place in range(LONG_MESSAGES if name == LONG else 4):
            role = "user" if place % 2 == 0 else "assistant"
            said: dict[str, Any] = {
                "role": role,
                "content": f"{name} says {place} 前回の設定を確認",
            }
            if place == 1:
                said["tool_calls"] = [{"name": "terminal", "arguments": "{}"}]
            store.messages.append(name, said, start + 1 + place)
        if name in PLAIN[:3] or name in TRASHED:
            store.sessions.rename(name, f"Title of {name}")
        compressed = name in CHAIN[:-1]
        store.sessions.end(name, "compression" if compressed else "user_exit")


def _export(path: Path) -> dict[str, list[str]]:
    """Write a file to import; return the messages of its sessions."""
    result = {}
    with path.open("w", encoding="utf-8") as file:
        for name in IMPORTED:
            texts = [f"{name} brings {place} 前回の設定" for place in range(12)]
            said = [
                {"role": "user", "content": text, "timestamp": LONG_AGO + place}
                for place, text in enumerate(texts)
            ]
            line = {"id": name, "source": "cli", "started_at": LONG_AGO, "messages": said}
            file.write(json.dumps(line) + "\n")
            result[name] = [spoken("user", text) for text in texts]
    return result
