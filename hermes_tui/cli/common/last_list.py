"""The last list that was printed on a terminal, so that a session can be resumed by its number.

It is a small file beside the database. Nothing but the number depends on it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from hermes_tui.presentation.numbers import plural

log = logging.getLogger("hermes_tui.last_list")


def path_for(database: Path) -> Path:
    """Return where the list of a database is kept."""
    return database.with_name(f"{database.name}.listed")


def keep(database: Path, session_ids: Sequence[str]) -> None:
    """Remember a list; without a place to write, numbers just do not work."""
    path = path_for(database)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(made, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(list(session_ids), file)
        os.replace(made, path)
    except OSError as error:
        log.debug("The list was not kept: %s", error.strerror)


def read(database: Path) -> list[str]:
    """Return the last list; empty if there is none."""
    try:
        found = json.loads(path_for(database).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    whole = isinstance(found, list) and all(isinstance(each, str) for each in found)
    return found if whole else []


def missing(number: int, rows: int) -> str:
    """Return a sentence for a number that the last list does not have."""
    if not rows:
        return (
            f"There is no session '{number}', and no list yet to count in. Run "
            "'hermes sessions list' in a terminal first."
        )
    return (
        f"There is no number {number} in the last list, which has {plural(rows, 'row')}. "
        "'hermes sessions list' prints a new one."
    )
