"""Titles: what is allowed, numbering in a lineage, finding a session by title.

Deliberate differences from Hermes Agent: joined emoji keep their joiners, only a number counts
as a continuation ("proj #notes" is a separate title), and a title of full length can still be
continued.
"""

from __future__ import annotations

import re
from typing import Literal

from hermes_store.engines.base import NotUnique, Transaction
from hermes_store.errors import (
    AmbiguousSession,
    SessionNotFound,
    TitleError,
    TitleTaken,
    TitleTooLong,
)
from hermes_store.records.safe_text import one_line, storable
from hermes_store.records.session import FormerTitle, Renamed, Session
from hermes_store.sessions import lineage, session_rows

MAX_LENGTH = 100

NamedBy = Literal["user", "llm", "derived"]
"""Who chose a title; a newer Hermes never replaces one that the user chose."""
_NAMED_BY = "title_source"

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INVISIBLE = re.compile(
    "[\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffc\ufff9-\ufffb]"
)
# A joiner is kept only between two halves of one emoji, the first of which may be followed by
# a color or a variation selector; elsewhere it is just another invisible character.
_EMOJI = "[\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff]"
_STRAY_JOINER = re.compile(
    f"(?<!{_EMOJI})(?<![\ufe0f\U0001f3fb-\U0001f3ff])\u200d|\u200d(?!{_EMOJI})"
)
# More digits are an order or phone number; eight always fit after a shortened base.
_NUMBERED = re.compile(r"^(?P<base>.*?) #(?P<number>[0-9]{1,8})$", re.DOTALL)


def sanitize(title: str | None) -> str | None:
    """Return a title as it will be stored, None for an empty one; may raise TitleTooLong."""
    if not title:
        return None
    clean = _INVISIBLE.sub("", _CONTROLS.sub("", storable(title)))
    clean = one_line(_STRAY_JOINER.sub("", clean))
    if not clean:
        return None
    if len(clean) > MAX_LENGTH:
        raise TitleTooLong(len(clean), MAX_LENGTH)
    return clean


def split(title: str) -> tuple[str, int]:
    """Split "name #3" into its base and number; a title without a number is number 1."""
    match = _NUMBERED.match(title)
    if match is None:
        return title, 1
    return match["base"], int(match["number"])


def numbered(base: str, number: int) -> str:
    """Return the title of a continuation, with the base shortened to fit the number."""
    if number < 2:
        return base[:MAX_LENGTH]
    ending = f" #{number}"
    # The cut may fall inside a joined emoji and leave a stray joiner.
    return _STRAY_JOINER.sub("", base[: MAX_LENGTH - len(ending)]).rstrip() + ending


def assign(tx: Transaction, session_id: str, title: str | None, *, by: NamedBy = "user") -> bool:
    """Set or, with None, remove the title of a session; return whether the session exists."""
    clean = sanitize(title)
    if clean is not None:
        holder = other_holder(tx, session_id, clean)
        if holder is not None:
            raise TitleTaken(clean, holder)
        # What it continues is not listed: nobody could rename that first.
        for each in _rivals(tx, session_id, clean):
            tx.run("UPDATE sessions SET title = NULL WHERE id = ?", (each,))
    named_by = f", {_NAMED_BY} = ?" if tx.caps.has_session(_NAMED_BY) else ""
    values = (clean, clean and by) if named_by else (clean,)
    try:
        with tx.all_or_nothing():
            changed = tx.run(
                f"UPDATE sessions SET title = ?{named_by} WHERE id = ?", (*values, session_id)
            )
        return changed > 0
    except NotUnique:
        # Another program's trigger may forbid the change, too; then its reason is the message.
        holder = None if clean is None else next(iter(_rivals(tx, session_id, clean)), None)
        if clean is None or holder is None:
            raise
        raise TitleTaken(clean, holder) from None


def rename(tx: Transaction, session_id: str, title: str | None) -> Renamed:
    """Set or, with None, remove a title; return what it takes to undo that."""
    clean = sanitize(title)
    touched = [session_id, *([] if clean is None else _rivals(tx, session_id, clean))]
    before = tuple(_former(tx, each) for each in touched)
    if not assign(tx, session_id, title):
        raise SessionNotFound(session_id)
    return Renamed(session_id, session_rows.get(tx, session_id).title, before)


def take_back(tx: Transaction, renamed: Renamed) -> None:
    """Undo a rename; TitleError if the title was changed again since, or is taken by now."""
    now = _former(tx, renamed.session_id)
    if now.title != renamed.title:
        raise TitleError("The title was changed again since; it stays as it is.")
    sets = f"title = ?, {_NAMED_BY} = ?" if tx.caps.has_session(_NAMED_BY) else "title = ?"
    tx.run("UPDATE sessions SET title = NULL WHERE id = ?", (renamed.session_id,))
    for former in reversed(renamed.before):
        rivals = [] if former.title is None else _rivals(tx, former.session_id, former.title)
        if former.title is not None and rivals:
            raise TitleTaken(former.title, rivals[0])
        values = (former.title, former.named_by) if "," in sets else (former.title,)
        tx.run(f"UPDATE sessions SET {sets} WHERE id = ?", (*values, former.session_id))


def _former(tx: Transaction, session_id: str) -> FormerTitle:
    column = _NAMED_BY if tx.caps.has_session(_NAMED_BY) else "NULL"
    row = tx.one(f"SELECT title, {column} FROM sessions WHERE id = ?", (session_id,))
    if row is None:
        raise SessionNotFound(session_id)
    return FormerTitle(session_id, row[0], row[1])


def other_holder(tx: Transaction, session_id: str, title: str) -> str | None:
    """Return the id of the session that keeps a title from another one, or None.

    A session may take over the title of one that it continues.
    """
    rivals = _rivals(tx, session_id, title)
    given = lineage.continued(tx, session_id) if rivals else ()
    return next((each for each in rivals if each not in given), None)


def _rivals(tx: Transaction, session_id: str, title: str) -> list[str]:
    """Return the other sessions with exactly this title; each machine's are its own affair."""
    own = " AND origin = (SELECT origin FROM sessions WHERE id = ?2)"
    rows = tx.rows(
        "SELECT id FROM sessions WHERE title = ?1 AND id <> ?2"
        + (own if tx.caps.has_session("host") else ""),
        (title, session_id),
    )
    return [found for (found,) in rows]


def holders_of(tx: Transaction, title: str) -> list[str]:
    """Return the sessions with exactly this title; on a server, each machine may have one."""
    return [found for (found,) in tx.rows("SELECT id FROM sessions WHERE title = ?", (title,))]


def holder_of(tx: Transaction, title: str) -> str | None:
    """Return the id of the session with exactly this title, or None."""
    return next(iter(holders_of(tx, title)), None)


def find(tx: Transaction, title: str) -> Session | None:
    """Return the session with exactly this title, or None."""
    holder = holder_of(tx, title)
    return None if holder is None else session_rows.find(tx, holder)


def _continuations(tx: Transaction, base: str) -> list[tuple[str, str, int]]:
    """Return id, title and number of every "base #N", newest session first.

    The comparison ignores the case of ASCII letters, as users do when they type a name.
    """
    # A long base is cut to make room for its number; compare only what always remains.
    stem = base[: MAX_LENGTH - 10]
    pattern = re.sub(r"([\\%_])", r"\\\1", stem) + "% #%"
    exact = re.sub(r"([\\%_])", r"\\\1", stem) + " #%"
    alike = tx.caps.dialect.like("title")
    found = tx.rows(
        f"SELECT id, title FROM sessions WHERE {alike} OR {alike} "
        "ORDER BY started_at DESC, id DESC",
        (exact, pattern if stem != base else exact),
    )
    result = []
    for session_id, title in found:
        _, number = split(title)
        if number > 1 and numbered(base, number).lower() == title.lower():
            result.append((session_id, title, number))
    return result


def resolve(tx: Transaction, title: str) -> str | None:
    """Return the session that the user means by a title: its newest continuation, or itself.

    AmbiguousSession if sessions of several machines have it.
    """
    holders = holders_of(tx, title)
    if len(holders) > 1:
        raise AmbiguousSession(title, tuple(sorted(holders)), "Give the id of one.")
    continuations = _continuations(tx, title)
    return continuations[0][0] if continuations else next(iter(holders), None)


def next_in_lineage(tx: Transaction, title: str) -> str:
    """Return the title for the next continuation: "name", then "name #2", "name #3" …"""
    base, _ = split(title)
    numbers = [number for _, _, number in _continuations(tx, base)]
    if holder_of(tx, base) is not None:
        numbers.append(1)
    return numbered(base, max(numbers) + 1) if numbers else base


def assign_if_untitled(tx: Transaction, session_id: str, title: str) -> str | None:
    """Set the title of an untitled session, numbered if it is taken; return it, or None."""
    wanted = sanitize(title)
    session = session_rows.find(tx, session_id)
    if wanted is None or session is None or session.title:
        return None
    if holder_of(tx, wanted) is not None:
        wanted = next_in_lineage(tx, wanted)
    assign(tx, session_id, wanted, by="llm")
    return wanted
