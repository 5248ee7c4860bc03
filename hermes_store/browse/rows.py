"""The rows of a list, built for many conversations at once.

Two statements read them, regardless of the number of conversations and of their segments.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from hermes_store.browse import recent_sessions
from hermes_store.engines import message_states
from hermes_store.engines.base import Capabilities, Transaction
from hermes_store.records import stored_values
from hermes_store.records.listing import ListRow, Status
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.workspace import Place
from hermes_store.sessions import in_use, lineage


@dataclass(frozen=True, slots=True)
class Segment:
    """The columns of one session that a row needs."""

    id: str
    parent: str | None
    title: str | None
    model: str | None
    started_at: float
    ended_at: float | None
    end_reason: str | None
    messages: int
    children: int
    """How many sessions of any kind were started from it."""
    last_active: float
    cwd: str | None
    git_repo_root: str | None
    git_branch: str | None
    cost: float
    tokens: int
    tool_calls: int

    @property
    def place(self) -> Place:
        """Where it took place."""
        return Place(self.cwd, self.git_repo_root, self.git_branch)

    @property
    def link(self) -> lineage.Link:
        """What it takes to tell which session of a chain is the newest."""
        ended = self.ended_at is not None
        return lineage.Link(
            self.id, self.parent, self.started_at, ended, self.end_reason, self.last_active
        )


WIDTH = len(fields(Segment))
_READERS: tuple[Callable[[Any], Any], ...] = (
    stored_values.text,
    stored_values.optional_text,
    stored_values.optional_text,
    stored_values.optional_text,
    stored_values.moment,
    stored_values.optional_moment,
    stored_values.optional_text,
    stored_values.count,
    stored_values.count,
    stored_values.moment,
    *[stored_values.optional_text] * 3,
    stored_values.amount,
    stored_values.count,
    stored_values.count,
)


def _read(values: Sequence[Any]) -> Segment:
    return Segment(*(read(value) for read, value in zip(_READERS, values, strict=True)))


_SEGMENT = (
    "s.id, s.parent_session_id, {title}, s.model, s.started_at, s.ended_at, s.end_reason, "
    "COALESCE(s.message_count, 0) + {summarised}, (SELECT COUNT(*) FROM sessions k "
    "WHERE k.parent_session_id = s.id AND k.id <> s.id), a.last_active, "
    "{place}, {cost}, {tokens}, {calls}"
)
_ACTIVITY = "CROSS JOIN session_activity a ON a.session_id = s.id"


def rows(tx: Transaction, ids: Sequence[str], now: float) -> list[ListRow]:
    """Return the rows of conversations in the given order, without those that are gone.

    The id of a conversation is that of its first session.
    """
    archived, seen, host = map(tx.caps.session_column, ("archived", "last_read_at", "host"))
    found: dict[str, tuple[Segment, tuple[Any, ...]]] = {}
    for row in tx.rows(
        f"SELECT {_segment(tx)}, a.source, {archived}, {seen}, {host}, a.edge, a.preview_id, "
        "a.preview "
        f"FROM json_each(?) wanted CROSS JOIN sessions s ON s.id = wanted.value {_ACTIVITY}",
        (json.dumps(list(ids)),),
    ):
        found[row[0]] = _read(row[:WIDTH]), row[WIDTH:]
    continued = [first.id for first, _ in found.values() if first.end_reason == "compression"]
    chains = _chains(tx, continued) if continued else {}
    return [
        _row(tx, found[each][0], chains.get(each, ()), found[each][1], now)
        for each in ids
        if each in found
    ]


def cost_and_tokens(caps: Capabilities, alias: str = "s") -> tuple[str, str]:
    """Return the SQL for the cost and the tokens of a session; 0 where no column has them."""
    actual, estimated, given, answered = (
        caps.session_column(name, alias)
        for name in ("actual_cost_usd", "estimated_cost_usd", "input_tokens", "output_tokens")
    )
    number = caps.dialect.number
    tokens = f"{number(given)} + {number(answered)}"
    return number(f"COALESCE({actual}, {estimated})"), tokens


def _segment(tx: Transaction) -> str:
    cost, tokens = cost_and_tokens(tx.caps)
    return _SEGMENT.format(
        title=tx.caps.session_column("title"),
        summarised=message_states.summarised_only(tx.caps, "s.id"),
        place=", ".join(map(tx.caps.session_column, ("cwd", "git_repo_root", "git_branch"))),
        cost=cost,
        tokens=tokens,
        calls=tx.caps.session_column("tool_call_count"),
    )


def _chains(tx: Transaction, roots: Sequence[str]) -> dict[str, list[Segment]]:
    """Return the continuations of sessions, by the root of each chain."""
    found: defaultdict[str, list[Segment]] = defaultdict(list)
    for root, *values in tx.rows(
        f"{lineage.CHAIN}SELECT chain.root, {_segment(tx)} FROM chain "
        f"CROSS JOIN sessions s ON s.id = chain.id {_ACTIVITY} WHERE chain.id <> chain.root",
        (json.dumps(list(roots)),),
    ):
        found[root].append(_read(values))
    return found


def _row(
    tx: Transaction, first: Segment, others: Sequence[Segment], rest: Sequence[Any], now: float
) -> ListRow:
    source, archived, seen, host, edge, preview_id, beginning = rest
    members = (first, *others)
    by_id = {each.id: each for each in members}
    tip = by_id[lineage.tip_of(first.id, [each.link for each in members])]
    inside = sum(each.parent in by_id and each.parent != each.id for each in members)
    total = sum(each.messages for each in members)
    last = max(each.last_active for each in members)
    return ListRow(
        id=first.id,
        tip_id=tip.id,
        title=tip.title or first.title,
        preview=recent_sessions.preview(tx, preview_id, beginning),
        source=stored_values.text(source),
        model=tip.model or first.model,
        started_at=first.started_at,
        last_active=last,
        message_count=total,
        status=_status(tip, last, silent=not total and preview_id is None, now=now),
        edge=Edge(edge),
        segments=len(members),
        relatives=sum(each.children for each in members) - inside,
        archived=stored_values.flag(archived),
        place=tip.place if tip.place.workspace is not None else first.place,
        unread=seen is not None and last > stored_values.moment(seen),
        cost=sum(each.cost for each in members),
        tokens=sum(each.tokens for each in members),
        tool_calls=sum(each.tool_calls for each in members),
        ended_at=tip.ended_at,
        end_reason=tip.end_reason,
        host=stored_values.optional_text(host),
    )


def with_last_text(tx: Transaction, found: Sequence[ListRow]) -> list[ListRow]:
    """Return rows with the beginning of the last message that somebody wrote."""
    newest = (
        "SELECT m.id FROM messages m WHERE m.session_id = wanted.value AND m.content <> '' "
        "AND m.role IN ('user', 'assistant') ORDER BY m.timestamp DESC, m.id DESC LIMIT 1"
    )
    rows = tx.rows(
        f"SELECT wanted.value, l.id, {tx.caps.dialect.beginning('l.content', 256)} "
        f"FROM json_each(?) wanted CROSS JOIN messages l ON l.id = ({newest})",
        (json.dumps([row.tip_id for row in found]),),
    )
    texts = {tip: recent_sessions.preview(tx, place, text) for tip, place, text in rows}
    return [replace(row, last_text=texts.get(row.tip_id, "")) for row in found]


def _status(tip: Segment, last_active: float, *, silent: bool, now: float) -> Status:
    """Return the status of a conversation, from its newest session."""
    if in_use.is_live(tip.ended_at is not None, last_active, now):
        return Status.LIVE
    if silent:
        return Status.EMPTY
    reason = tip.end_reason or ""
    if any(word in reason for word in ("error", "fail", "crash")):
        return Status.ERROR
    if tip.ended_at is None or "interrupt" in reason:
        return Status.INTERRUPTED
    return Status.DONE
