"""A conversation as one long page: its message ids in order, messages by place, the end of it.

The ids of a conversation come from an index alone; texts are read for the part that is on
screen. All compression segments are one page, in the order they were spoken.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from hermes_store import lineage, messages, recap, sessions
from hermes_store.database.transaction import Transaction
from hermes_store.models import Message
from hermes_store.overview import Limits, Outline, Recap, Segment

WHOLE_RECAP = 400
"""Messages up to which a recap reads all of a session."""
RECAP_STEP = 80
PAGE_END = 20
"""Messages at the end of a page that are read along with it."""

# A continuation begins with copies of what was said last, which have kept their moments.
_COPIED = (
    "EXISTS (SELECT 1 FROM messages o WHERE o.session_id = ? AND o.timestamp = m.timestamp "
    "AND o.role = m.role AND o.content IS m.content)"
)


def outline(tx: Transaction, session_id: str) -> Outline:
    """Return the page of the conversation that a session belongs to."""
    members = lineage.chain(tx, session_id)
    segments: list[Segment] = []
    ids = array("q")
    for member in members:
        session = sessions.get(tx, member)
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
    """Return a conversation, and those of its last messages that an earlier form lacks."""
    page = outline(tx, session_id)
    had = set(known.message_ids[-PAGE_END:]) if known is not None else set()
    new = [each for each in page.message_ids[-PAGE_END:] if each not in had]
    return page, messages_by_id(tx, new)


def messages_by_id(tx: Transaction, ids: Sequence[int]) -> list[Message]:
    """Return messages in the order asked for; what is gone is left out."""
    found = {message.id: message for message in messages.with_ids(tx, ids)}
    return [found[each] for each in ids if each in found]


def recap_of(tx: Transaction, session_id: str, limits: Limits | None = None) -> Recap:
    """Return the recap of a session without reading all of a long one.

    The number of earlier messages in a long one counts answers that only used tools, too.
    """
    limits = limits or Limits()
    by_role = dict(
        tx.rows(
            f"SELECT m.role, COUNT(*) FROM messages m WHERE m.session_id = ? "
            f"AND {messages.visible(tx)} GROUP BY m.role",
            (session_id,),
        )
    )
    total = sum(by_role.values())
    if total <= WHOLE_RECAP:
        return recap.build(messages.iterate(tx, session_id), limits)
    wanted, taken = 2 * limits.exchanges, RECAP_STEP
    while True:
        tail = [
            row[0]
            for row in tx.rows(
                f"SELECT m.id FROM messages m WHERE m.session_id = ? AND {messages.visible(tx)} "
                "ORDER BY m.id DESC LIMIT ?",
                (session_id, taken),
            )
        ]
        found = recap.build(messages_by_id(tx, tail[::-1]), limits)
        if len(found.entries) >= wanted or taken >= total:
            break
        taken *= 4
    said = by_role.get("user", 0) + by_role.get("assistant", 0)
    earlier = max(found.earlier, said - len(found.entries))
    return Recap(found.entries, earlier, by_role.get("user", 0), total)
