"""Which other programs have a database open."""

from __future__ import annotations

import os
from pathlib import Path


def holders(path: Path) -> list[tuple[int, str]]:
    """Return process id and name of the other processes that have a file open. Linux only."""
    found = []
    target = os.path.realpath(path)
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            names = {os.readlink(link) for link in (entry / "fd").iterdir()}
            command = (entry / "comm").read_text().strip()
        except OSError:
            continue  # it has ended, or belongs to another user
        if target in names:
            found.append((int(entry.name), command))
    return found
