"""Writes an unexpected error to a file, without anything from a conversation."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hermes_store.config.paths import create_folder
from hermes_store.errors import places
from hermes_store.version import __version__

BUG = "That failed because of a bug in this program."


def write_crash_log(error: BaseException, home: Path | None) -> Path | None:
    """Write where an error happened to a file that only its owner can read; return the path.

    `home` is None for a demo, whose home is removed before anyone could read the file.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folders = [home / "logs"] if home is not None else []
    for place in (*folders, Path(os.environ.get("TMPDIR", "/tmp"))):
        try:
            create_folder(place)
            # A new file, readable by its owner only: others may write to a folder for all.
            descriptor, path = tempfile.mkstemp(".log", f"hermes-sessions-crash-{stamp}-", place)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(f"hermes-sessions {__version__}\n\n{places(error)}\n")
        except OSError:
            continue
        return Path(path)
    return None
