"""A conversation as one long page: its message ids in order, and its last messages.

Only ids, speakers and times are read for all of it; text is read for the part on screen. All
compression segments are one page, in chronological order.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from hermes_store.engines.base import Transaction
from hermes_store.records.message import SUMMARY_MARKS, Message, State
from hermes_store.records.session import Session
from hermes_store.records.stored_values import moment
from hermes_store.records.transcript import Outline, Segment, Speaker, Stretch
from hermes_store.sessions import lineage, message_order, messages, session_rows

PAGE_END = 20
"""Messages at the end of a page that are read with it."""

# A continuation begins with copies of the last messages, which keep their timestamps.
_COPIED = (
    "EXISTS (SELECT 1 FROM messages o WHERE o.session_id = ? AND o.timestamp = m.timestamp "
    "AND o.role = m.role AND o.content IS NOT DISTINCT FROM m.content)"
)

_SUMMARY = " OR ".join(f"substr(content, 1, {len(mark)}) = ?" for mark in SUMMARY_MARKS)
_SPEAKERS = (
    "SELECT id, CASE "
    f"WHEN role IN ('user', 'assistant') AND ({_SUMMARY}) THEN '{Speaker.SUMMARY}' "
    f"WHEN role = 'user' THEN '{Speaker.YOU}' WHEN role = 'assistant' THEN '{Speaker.HERMES}' "
    f"WHEN role = 'tool' THEN '{Speaker.TOOL}' ELSE '{Speaker.OTHER}' END, timestamp "
    "FROM messages WHERE session_id = ?"
)


def outline(tx: Transaction, session_id: str, *, everything: bool = False) -> Outline:
    """Return the page of the conversation of a session.

    With `everything`, it includes messages that were taken back or are hidden.
    """
    members = lineage.chain(tx, session_id)
    segments: list[Segment] = []
    ids = array("q")
    states: dict[int, State] = {}
    left_out: Counter[State] = Counter()
    copies: dict[int, int] = {}
    said: dict[int, tuple[str, float]] = {}
    for member in members:
        session = session_rows.get(tx, member)
        segments.append(Segment(member, session.title, session.started_at, len(ids), session.model))
        found = message_order.arrange(tx, member, everything=everything)
        again = _copied_from_parent(tx, session)
        ids.extend(each for each in found.ids if each not in again)
        states |= found.states
        left_out.update(found.left_out)
        copies |= found.copies
        said |= _said(tx, member)
    return Outline(
        members[0],
        lineage.compression_tip(tx, members[0]),
        tuple(segments),
        ids,
        tuple(_stretches(ids, states)),
        dict(left_out),
        copies,
        "".join(said[each][0] for each in ids),
        array("d", (said[each][1] for each in ids)),
    )


def _said(tx: Transaction, session_id: str) -> dict[int, tuple[str, float]]:
    """Return who said each message of a session, and when."""
    rows = tx.rows(_SPEAKERS, (*SUMMARY_MARKS, session_id))
    return {message_id: (speaker, moment(when)) for message_id, speaker, when in rows}


def _copied_from_parent(tx: Transaction, session: Session) -> set[int]:
    if session.parent_session_id is None:
        return set()
    rows = tx.rows(
        f"SELECT m.id FROM messages m WHERE m.session_id = ? AND m.timestamp < ? AND {_COPIED}",
        (session.id, session.started_at, session.parent_session_id),
    )
    return {message_id for (message_id,) in rows}


def _stretches(ids: Sequence[int], states: Mapping[int, State]) -> Iterator[Stretch]:
    if not states:
        return
    place = 0
    for state, group in groupby(ids, lambda each: states.get(each, State.SENT)):
        count = sum(1 for _ in group)
        if state is not State.SENT:
            yield Stretch(place, count, state)
        place += count


def page_end(
    tx: Transaction, session_id: str, known: Outline | None, *, everything: bool = False
) -> tuple[Outline, list[Message]]:
    """Return a conversation, and those of its last messages that are not in `known`."""
    page = outline(tx, session_id, everything=everything)
    had = set(known.message_ids[-PAGE_END:]) if known is not None else set()
    new = [each for each in page.message_ids[-PAGE_END:] if each not in had]
    return page, messages.by_id(tx, new)
