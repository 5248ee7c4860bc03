"""One name for each person on WhatsApp, as Hermes Agent chooses it.

WhatsApp names the same person by telephone number or by an id of its own (LID), with or without a
device and a server. The agent's bridge leaves files that say which belong together; the shortest
name is the one that keys are made of.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_SAFE = re.compile(r"[A-Za-z0-9@.+-]+")
"""What a name may consist of to be part of a file name."""


def bare(identifier: str) -> str:
    """Return an identifier without its +, :device and @server; "" if nothing is left."""
    return re.split("[:@]", identifier.strip().replace("+", "", 1), maxsplit=1)[0]


def canonical(identifier: str, home: Path) -> str:
    """Return the name that all identifiers of a person share; "" if nothing is left of it."""
    first = bare(identifier)
    folder = _bridge_folder(home)
    known: set[str] = set()
    waiting = [first]
    while waiting:
        # Again, as the agent does: of "++12" and "12 @lid", a part is left the first time.
        name = bare(waiting.pop())
        if name in known or not _SAFE.fullmatch(name):
            continue
        known.add(name)
        waiting += [_read(folder / f"lid-mapping-{name}{end}.json") for end in ("", "_reverse")]
    return min(known, key=lambda name: (len(name), name)) if known else first


def _bridge_folder(home: Path) -> Path:
    """Return the folder of the bridge; newer versions of Hermes Agent use another one."""
    old = home / "whatsapp" / "session"
    try:
        in_use = any(old.iterdir())
    except OSError:
        in_use = False
    return old if in_use else home / "platforms" / "whatsapp" / "session"


def _read(path: Path) -> str:
    """Return the other name that a file of the bridge holds; "" if there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return bare(str(found or ""))
