"""Writes an unexpected error to a file, without anything from a conversation."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from hermes_store.version import __version__

BUG = "That failed because of a bug in this program."


def write_crash_log(error: BaseException, home: Path | None) -> Path | None:
    """Write an error to a file that only its owner can read, and return the path.

    `home` is None for a demo, whose home is removed before anyone could read the file.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    text = "".join(_story(error))
    places = [home / "logs"] if home is not None else []
    for place in (*places, Path(os.environ.get("TMPDIR", "/tmp"))):
        path = place / f"hermes-sessions-crash-{stamp}-{os.getpid()}.log"
        try:
            place.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(f"hermes-sessions {__version__}\n\n{text}")
        except OSError:
            continue
        return path
    return None


def _story(error: BaseException) -> Iterator[str]:
    """Yield where an error came from; its own words may quote a conversation and are left out."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _story(cause)
        yield "\nwhich led to:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{type(error).__module__}.{type(error).__qualname__}\n"
