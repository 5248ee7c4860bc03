"""The kinds of harm: what is done to a worker, to its disk or to its files.

Harm by call happens inside the worker, at the n-th call of SQLite that changes a file, and so can
be repeated exactly. The other kinds happen at a random time.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import apsw

from tests import rights
from tests.campaign import clock
from tests.store import vfs

CHANGES = ("write", "sync", "truncate", "delete")
BY_CALL = ("kill_call", "twin", "stop", "stop_long", "io_error", "disk_full_call")
ON_REQUEST = ("stop_long",)
"""Done only when asked for by name: half a minute each."""
DAMAGE = ("replace", "truncate", "flip", "lose_log", "lose_shared_memory")
"""The files are damaged under an open store: it may lose them, but never its manners."""
KINDS = (
    "none", "kill", "kill_again", *BY_CALL, "disk_full", "quota", "read_only", "clock", "dead_log",
    "long_reader", "writer_beside", *DAMAGE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Harm:
    """One harm with everything that was drawn for it."""

    kind: str
    call: int = 0
    """The call at which it happens."""
    calls: int = 1
    """For how many calls an error lasts."""
    only: str = ""
    """The name of the calls that count; all changes if empty."""
    after: float = 0.0
    """Seconds of work before it happens."""
    amount: int = 0
    """Bytes of free space, on a small disk or under a quota."""
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it for the file that repeats a round."""
        return asdict(self)


def drawn(kind: str, draw: random.Random, calls: int, seconds: float) -> Harm:
    """Draw the details of a harm for work that makes so many calls in so many seconds."""
    return Harm(
        kind,
        call=draw.randint(1, max(2, int(calls * 1.1))),
        calls=draw.choice([1, 1, 2, 5, 40, 1_000_000]),
        only=draw.choice(["", "", "write", "sync", "read"]) if kind == "io_error" else "",
        after=draw.uniform(0, seconds * 1.1),
        amount=draw.choice([0, 4_096, 30_000, 120_000, 400_000]),
        seed=draw.randrange(2**32),
    )


# -- inside the worker -------------------------------------------------------------------------


class Counter:
    """Counts the calls of a worker and hurts it at one of them."""

    def __init__(self, harm: Harm) -> None:
        self.changes = 0
        self._harm = harm
        self._counted = 0

    def __call__(self, name: str, _path: str) -> None:
        self.changes += name in CHANGES
        harm = self._harm
        counts = name == harm.only if harm.only else name in CHANGES
        if harm.kind not in BY_CALL or not counts:
            return
        self._counted += 1
        if self._counted < harm.call or self._counted >= harm.call + harm.calls:
            return
        match harm.kind:
            case "kill_call" | "twin":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop" | "stop_long" if self._counted == harm.call:
                os.kill(os.getpid(), signal.SIGSTOP)
            case "io_error":
                raise apsw.IOError("disk I/O error")
            case "disk_full_call" if name == "write":
                raise apsw.FullError("database or disk is full")


def suffer(harm: Harm, home: Path) -> tuple[Counter, AbstractContextManager[None]]:
    """Prepare the worker's process; return its counter and a block to work in."""
    counter = Counter(harm)
    if harm.kind in (*BY_CALL, "none"):
        # Only then: it makes exceptions of errors that SQLite itself ignores, as in closing.
        vfs.KEPT.append(vfs.HurtLayer(counter))
    around: AbstractContextManager[None] = nullcontext()
    if harm.kind == "clock":
        clock.let_jump(harm.seed)
    elif harm.kind == "quota":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        largest = max(path.stat().st_size for path in home.iterdir() if path.is_file())
        limit = largest + harm.amount
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    elif harm.kind == "read_only":
        around = rights.respected()
    return counter, around


# -- outside -----------------------------------------------------------------------------------


def can_mount(folder: Path) -> bool:
    """Tell whether this user may mount a small disk."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    folder.mkdir()
    mounted = _mount(folder, 1_000_000)
    if mounted:
        unmount(folder)
    folder.rmdir()
    return mounted


def _mount(folder: Path, size: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


def unmount(folder: Path) -> None:
    """Take a small disk away."""
    subprocess.run(["umount", str(folder)], check=True)


def small_disk(folder: Path, content: Path, spare: int) -> None:
    """Make a folder a disk with a copy of some content and little more room."""
    folder.mkdir()
    size = sum(path.stat().st_size + 8_192 for path in content.rglob("*")) + 65_536
    assert _mount(folder, size + spare)


def enlarge(folder: Path) -> None:
    """Free space on a small disk."""
    command = ["mount", "-o", "remount,size=64m", str(folder)]
    subprocess.run(command, check=True)


def protect(home: Path, draw: random.Random) -> None:
    """Take away the right to write, of some files or of the folder."""
    kind = draw.choice(["folder", "files", "all"])
    for path in home.iterdir():
        if kind != "folder" and path.is_file():
            path.chmod(0o400)
    if kind != "files":
        home.chmod(0o500)


def unprotect(home: Path) -> None:
    """Give the right to write back."""
    home.chmod(0o700)
    for path in home.iterdir():
        if path.is_file():
            path.chmod(0o600)


def damage(kind: str, home: Path, draw: random.Random) -> None:
    """Damage the files of a home under whoever has them open."""
    path = home / "state.db"
    with suppress(FileNotFoundError):  # the store has just moved or removed it
        _DAMAGES[kind](path, draw)


def _replace(path: Path, _draw: random.Random) -> None:
    copy = path.with_name("restored-backup.db")
    shutil.copy(path, copy)
    os.replace(copy, path)


def _truncate(path: Path, draw: random.Random) -> None:
    chosen = draw.choice([path, path.with_name(path.name + "-wal")])
    os.truncate(chosen, draw.randint(0, chosen.stat().st_size))


def _flip(path: Path, draw: random.Random) -> None:
    chosen = draw.choice([path, path.with_name(path.name + "-wal")])
    with chosen.open("r+b") as file:
        for _ in range(draw.choice([1, 5, 50])):
            place = draw.randrange(max(1, chosen.stat().st_size))
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([(byte[0] if byte else 0) ^ (1 << draw.randrange(8))]))


def _lose(ending: str) -> Callable[[Path, random.Random], None]:
    return lambda path, _draw: path.with_name(path.name + ending).unlink()


_DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "replace": _replace,
    "truncate": _truncate,
    "flip": _flip,
    "lose_log": _lose("-wal"),
    "lose_shared_memory": _lose("-shm"),
}
