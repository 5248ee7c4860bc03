"""A conversation as one long page: its message ids in order, messages by place, what matches.

The ids of a conversation come from an index alone; texts are read for the part that is on
screen. All compression segments are one page, in the order they were spoken.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

from hermes_store import lineage, messages, recap, sessions
from hermes_store.database.transaction import Transaction
from hermes_store.models import Message
from hermes_store.overview import Limits, Outline, Recap, Segment
from hermes_store.search import language
from hermes_store.search.fields import Condition
from hermes_store.search.query import And, Field, Node, Not, Or
from hermes_store.search.run import Search, open_ended
from hermes_store.search.snippet import Highlighter
from hermes_store.search.stopping import Stop

WHOLE_RECAP = 400
"""Messages up to which a recap reads all of a session."""
RECAP_STEP = 80

_LISTED = "(SELECT value FROM json_each(?))"

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


def messages_by_id(tx: Transaction, ids: Sequence[int]) -> list[Message]:
    """Return messages in the order asked for; what is gone is left out."""
    found = {message.id: message for message in messages.with_ids(tx, ids)}
    return [found[each] for each in ids if each in found]


def matches(
    tx: Transaction,
    page: Outline,
    text: str,
    *,
    cancelled: Callable[[], bool] | None = None,
    typing: bool = False,
) -> tuple[array[int], Highlighter]:
    """Return the messages of a page that match a search text, and what marks the places.

    Fields such as source: say nothing about the words of one conversation and are left out.
    """
    root = language.parse(text).root
    if typing:
        root = open_ended(root, len(text))
    wanted = _without_fields(root)
    listed = json.dumps([segment.session_id for segment in page.segments])
    search = Search(
        tx,
        wanted,
        extra=[Condition(f"s.id IN {_LISTED}", (listed,))],
        stop=Stop(cancelled, 5.0),
        oldest_first=True,
        texts=False,
    )
    if wanted is None:
        return array("q"), search.highlighter
    places = {message_id: place for place, message_id in enumerate(page.message_ids)}
    found = {row.message_id for row in search.found()} & places.keys()
    return array("q", sorted(found, key=places.__getitem__)), search.highlighter


def _without_fields(node: Node | None) -> Node | None:
    match node:
        case Field():
            return None
        case Not():
            part = _without_fields(node.part)
            return None if part is None else replace(node, part=part)
        case And() | Or():
            parts = tuple(p for each in node.parts if (p := _without_fields(each)) is not None)
            return replace(node, parts=parts) if len(parts) > 1 else next(iter(parts), None)
        case _:
            return node


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
