"""What was typed but not sent, in a small file beside the database.

Every chat writes its own entry and replaces it as one types, so two programs never overwrite each
other's. A file that cannot be read counts as empty. Slow: call it in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hermes_store.config import paths
from hermes_store.errors import BadFile, StoreError
from hermes_store.gateway.file_lock import locked

MOST_CHARACTERS = 200_000
"""The longest text that is kept."""
MOST_DRAFTS = 50
MOST_CHARACTERS_IN_ALL = 1_000_000
MOST_BYTES = 16_000_000
"""The largest file that is read; a million characters take at most twelve bytes each."""
PATIENCE = 5.0
"""Seconds to wait for another program; it holds the lock for milliseconds."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that was not sent."""

    chat: str
    """The chat that wrote it."""
    session_id: str
    """Empty for a conversation that has not started."""
    text: str
    at: float
    cleared: bool = False
    """Whether it was removed from the field with Ctrl+C, so that only Up brings it back."""


def take(database: Path, session_id: str, chat: str) -> Draft | None:
    """Return the newest draft of a session and make it this chat's; None if there is none."""
    # Without a lock, so that a folder without drafts gets no lock file either.
    if _newest(_read(paths.drafts_file(database)), session_id) is None:
        return None
    found: list[Draft] = []

    def hand_over(drafts: list[Draft]) -> list[Draft]:
        newest = _newest(drafts, session_id)
        if newest is None:
            return drafts
        found.append(replace(newest, chat=chat))
        return [each for each in drafts if each is not newest] + found

    _change(database, hand_over)
    return found[0] if found else None


def peek(database: Path, session_id: str) -> Draft | None:
    """Return the newest draft of a session, also where nothing can be written."""
    return _newest(_read(paths.drafts_file(database)), session_id)


def keep(database: Path, draft: Draft) -> None:
    """Replace this chat's draft; an empty one is removed. BadFile if that cannot be written."""

    def put(drafts: list[Draft]) -> list[Draft]:
        others = [each for each in drafts if each.chat != draft.chat]
        return [*others, draft] if draft.text else others

    if draft.text or paths.drafts_file(database).exists():
        _change(database, put)


def _newest(drafts: Iterable[Draft], session_id: str) -> Draft | None:
    found = [each for each in drafts if each.session_id == session_id]
    return max(found, key=lambda each: each.at, default=None)


def _change(database: Path, change: Callable[[list[Draft]], list[Draft]]) -> None:
    path = paths.drafts_file(database)
    try:
        with locked(path.with_name(f"{path.name}.lock"), PATIENCE):
            before = _read(path)
            after = change(before)
            if after != before:
                paths.write_privately(path, [asdict(each) for each in _limited(after)])
    except StoreError as error:
        raise _not_kept(path, error.__cause__) from error
    except OSError as error:
        raise _not_kept(path, error) from error


def _not_kept(path: Path, cause: BaseException | None) -> BadFile:
    why = f" ({cause.strerror})" if isinstance(cause, OSError) and cause.strerror else ""
    return BadFile(
        f"Drafts cannot be saved in {path.parent}{why}. What you type is lost if you leave "
        "without sending it."
    )


def _limited(drafts: list[Draft]) -> list[Draft]:
    """Return the newest drafts, as many as there is room for, oldest first."""
    kept: list[Draft] = []
    room = MOST_CHARACTERS_IN_ALL
    for draft in sorted(drafts, key=lambda each: each.at, reverse=True)[:MOST_DRAFTS]:
        room -= len(draft.text)
        if room >= 0:
            kept.insert(0, draft)
    return kept


def _read(path: Path) -> list[Draft]:
    try:
        if path.stat().st_size > MOST_BYTES:
            return []
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    read = (_draft(each) for each in found) if isinstance(found, list) else ()
    return [each for each in read if each is not None]


def _draft(found: Any) -> Draft | None:
    """Return a draft from the file, None if it is none: anybody may have written it."""
    if not isinstance(found, dict):
        return None
    chat, session_id, text = (found.get(name) for name in ("chat", "session_id", "text"))
    at = found.get("at")
    if not (isinstance(chat, str) and isinstance(session_id, str) and isinstance(text, str)):
        return None
    if not isinstance(at, int | float) or not 0 < len(text) <= MOST_CHARACTERS:
        return None
    return Draft(chat, session_id, text, float(at), found.get("cleared") is True)
