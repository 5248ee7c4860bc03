"""A conversation as one long page: its message ids in order, and its last messages.

The ids come from an index alone; text is read only for the part on screen. All compression
segments are one page, in chronological order.
"""

from __future__ import annotations

from array import array

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.message import Message
from hermes_store.records.transcript import Outline, Segment
from hermes_store.sessions import lineage, messages, session_rows

PAGE_END = 20
"""Messages at the end of a page that are read with it."""

# A continuation begins with copies of the last messages, which keep their timestamps.
_COPIED = (
    "EXISTS (SELECT 1 FROM messages o WHERE o.session_id = ? AND o.timestamp = m.timestamp "
    "AND o.role = m.role AND o.content IS m.content)"
)


def outline(tx: Transaction, session_id: str) -> Outline:
    """Return the page of the conversation of a session."""
    members = lineage.chain(tx, session_id)
    segments: list[Segment] = []
    ids = array("q")
    for member in members:
        session = session_rows.get(tx, member)
        segments.append(Segment(member, session.title, session.started_at, len(ids)))
        ids.extend(
            row[0]
            for row in tx.rows(
                f"SELECT m.id FROM messages m WHERE m.session_id = ? AND {messages.visible(tx)} "
                f"AND NOT (m.timestamp < ? AND {_COPIED}) ORDER BY m.id",
                (member, session.started_at, session.parent_session_id),
            )
        )
    return Outline(members[0], lineage.compression_tip(tx, members[0]), tuple(segments), ids)


def page_end(
    tx: Transaction, session_id: str, known: Outline | None
) -> tuple[Outline, list[Message]]:
    """Return a conversation, and those of its last messages that are not in `known`."""
    page = outline(tx, session_id)
    had = set(known.message_ids[-PAGE_END:]) if known is not None else set()
    new = [each for each in page.message_ids[-PAGE_END:] if each not in had]
    return page, messages.by_id(tx, new)
