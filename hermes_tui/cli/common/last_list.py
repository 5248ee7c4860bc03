"""The last list that was printed on a terminal, so that a session can be resumed by its number.

It is a small file beside the database. Nothing but the number depends on it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config.paths import write_privately
from hermes_store.errors import NotFound
from hermes_store.records.session import Session
from hermes_tui.presentation.numbers import plural

if TYPE_CHECKING:
    from hermes_store.store import Store

MOST_DIGITS = 4

log = logging.getLogger("hermes_tui.last_list")


def path_for(database: Path) -> Path:
    """Return where the list of a database is kept."""
    return database.with_name(f"{database.name}.listed")


def keep(database: Path, session_ids: Sequence[str]) -> None:
    """Remember a list; without a place to write, numbers just do not work."""
    try:
        write_privately(path_for(database), list(session_ids))
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


def find(store: Store, database: Path, name: str) -> Session:
    """Find the session that a user names: its number in the last list, its id or its title."""
    if not is_number(name):
        return store.sessions.find_to_resume(name)
    number, listed = int(name), read(database)
    if 1 <= number <= len(listed):
        return store.sessions.find_to_resume(listed[number - 1])
    try:
        return store.sessions.find_to_resume(name)
    except NotFound:
        raise NotFound(missing(number, len(listed))) from None


def is_number(name: str) -> bool:
    """Return whether a name is a place in a list; a longer number is the beginning of an id."""
    return name.isdecimal() and len(name) <= MOST_DIGITS


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
