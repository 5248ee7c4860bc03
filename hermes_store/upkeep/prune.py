"""Pruning: decide which old conversations to delete, then delete them a few at a time.

Age is counted from the last activity of the whole conversation: its compression chain and the
sub-agents below it. A conversation in use is never touched, and unless the filter says otherwise
neither is one that has not ended, is archived or is pinned.

`plan` applies a filter. `ended_before` and `apply` prune by age alone, session by session, as
programs written for Hermes expect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.marks.marks import Marks
from hermes_store.records.prune import PruneFilter, PrunePlan, PruneRow
from hermes_store.records.sources import of_source, spellings
from hermes_store.records.trash import Deleted, Remark
from hermes_store.search.field_conditions import MarkSource
from hermes_store.sessions import in_use, lineage
from hermes_store.trash import delete_from_database
from hermes_store.upkeep import prune_plan
from hermes_store.upkeep.prune_plan import Family

DAY = 86_400
KEPT = ("archived", "pinned")
"""Marks that keep a conversation however old it is."""


def _candidates(tx: Transaction, cutoff: float, source: str | None) -> tuple[str, list[Any]]:
    chosen, names = of_source("a.source", source)
    conditions = ["s.ended_at IS NOT NULL", "a.last_active < ?", chosen]
    conditions += [f"NOT {kept}" for kept in _kept(tx)]
    origin = "session_activity a CROSS JOIN sessions s ON s.id = a.session_id"
    return f"FROM {origin} WHERE {' AND '.join(conditions)}", [cutoff, *names]


def _kept(tx: Transaction) -> list[str]:
    """Return the SQL conditions under which a session is kept at any age."""
    present = (name for name in KEPT if tx.caps.has_session(name))
    return [f"COALESCE(s.{name}, 0)" for name in present]


def ended_before(
    tx: Transaction, cutoff: float, source: str | None, marks: Marks
) -> tuple[str, ...]:
    """Return the sessions whose conversation has ended and was last active before `cutoff`."""
    clause, values = _candidates(tx, cutoff, source)
    found = tx.rows(f"SELECT s.id, s.parent_session_id, s.end_reason {clause}", values)
    marked = {each for mark in KEPT for each in marks.sessions_with(tx, mark)}
    return tuple(
        session_id
        for session_id, parent, reason in list(found)
        if session_id not in marked
        and ((parent is None and reason != "compression") or _is_over(tx, session_id, cutoff))
    )


def _is_over(tx: Transaction, session_id: str, cutoff: float) -> bool:
    """Tell whether a whole chain has ended, was last active before `cutoff` and has no mark."""
    kept = " OR ".join(_kept(tx)) or "0"
    alive = tx.one(
        f"{lineage.CHAIN}SELECT 1 FROM chain CROSS JOIN sessions s ON s.id = chain.id "
        "CROSS JOIN session_activity a ON a.session_id = s.id "
        f"WHERE s.ended_at IS NULL OR a.last_active >= ? OR {kept} LIMIT 1",
        (json.dumps([lineage.roots(tx, [session_id])[session_id]]), cutoff),
    )
    return alive is None


def apply(
    write: delete_from_database.Write, session_ids: tuple[str, ...], cutoff: float, marks: Marks
) -> Iterator[Deleted]:
    """Delete planned sessions in short transactions, checking each one again first."""

    def kept(tx: Transaction, session_id: str) -> bool:
        found = marks.of_rows(tx, [session_id]).get(session_id)
        marked = found is not None and (found.pinned or found.archived)
        return marked or not _is_over(tx, session_id, cutoff)

    return delete_from_database.delete_in_steps(write, session_ids, kept)


# -- by filter ---------------------------------------------------------------------------------


def plan(
    tx: Transaction, chosen: PruneFilter, now: float, marks: MarkSource | None = None
) -> PrunePlan:
    """Return what a filter would prune and what it would spare; InvalidInput if it makes no sense.

    Changes nothing. `marks` supplies the marks that are not stored in the database.
    """
    everything = prune_plan.load(tx)
    found = [family for family in everything.values() if _fits(family, chosen, now)]
    if chosen.where.strip():
        wanted = prune_plan.Where(tx, everything, now, marks).matching(
            prune_plan.parsed(chosen.where)
        )
        found = [family for family in found if family.root.id in wanted]
    protected = _protected(tx, chosen, marks)
    going: list[Family] = []
    spared: list[Remark] = []
    for family in sorted(found, key=lambda each: (each.last_active, each.root.id)):
        reason = _spared_because(tx, family, chosen, protected, now)
        if reason is None:
            going.append(family)
        else:
            spared.append(Remark(family.root.id, reason))
    return PrunePlan(chosen, _rows(tx, going), tuple(spared))


def _fits(family: Family, chosen: PruneFilter, now: float) -> bool:
    days = chosen.older_than_days
    if days is not None and family.last_active >= now - days * DAY:
        return False
    if chosen.source is not None and family.root.source not in spellings(chosen.source):
        return False
    if chosen.min_messages is not None and family.messages < chosen.min_messages:
        return False
    if chosen.max_messages is not None and family.messages > chosen.max_messages:
        return False
    return _has(chosen.title, (each.title for each in family.chain)) and _has(
        chosen.model, (each.model for each in family.chain)
    )


def _has(part: str | None, texts: Iterator[str | None]) -> bool:
    return part is None or any(part.lower() in (text or "").lower() for text in texts)


def _protected(
    tx: Transaction, chosen: PruneFilter, marks: MarkSource | None
) -> dict[str, frozenset[str]]:
    """Return the sessions that a mark protects, by mark."""
    wanted = {"archived": chosen.include_archived, "pinned": chosen.include_pinned}
    found = {}
    for mark in (name for name, included in wanted.items() if not included):
        if marks is not None:
            found[mark] = frozenset(marks.sessions_with(tx, mark))
        elif tx.caps.has_session(mark):
            rows = tx.rows(f"SELECT id FROM sessions WHERE {mark} = 1")
            found[mark] = frozenset(row[0] for row in rows)
    return found


def _spared_because(
    tx: Transaction,
    family: Family,
    chosen: PruneFilter,
    protected: dict[str, frozenset[str]],
    now: float,
) -> str | None:
    locks = not tx.caps.tables.isdisjoint(("compression_locks", "session_turn_leases"))
    for _, member in family.members:
        if member.ended_at is None or locks:
            reason = in_use.in_use(tx, member.id, now)
            if reason is not None:
                return reason
    if family.is_open and not chosen.include_open:
        return "It has not ended."
    for mark, marked in protected.items():
        if any(member.id in marked for _, member in family.members):
            return f"It is {mark}."
    return None


def _rows(tx: Transaction, going: Sequence[Family]) -> tuple[PruneRow, ...]:
    ids = [member.id for family in going for _, member in family.members]
    size = " + ".join(
        f"COALESCE(octet_length({column.name}), 0)"
        for column in MESSAGE_COLUMNS
        if column.declaration == "TEXT" and tx.caps.has_message(column.name)
    )
    sizes = {
        row[0]: (int(row[1]), int(row[2] or 0))
        for row in tx.rows(
            f"SELECT session_id, COUNT(*), SUM({size}) FROM messages "
            "WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id",
            (json.dumps(ids),),
        )
    }
    return tuple(_row(family, sizes) for family in going)


def _row(family: Family, sizes: dict[str, tuple[int, int]]) -> PruneRow:
    ordered = sorted(family.members, key=lambda each: -each[0])
    members = [member for _, member in ordered]
    return PruneRow(
        root_id=family.root.id,
        session_ids=tuple(member.id for member in members),
        title=family.title(),
        source=family.root.source,
        model=family.root.model,
        started_at=family.root.started_at,
        last_active=family.last_active,
        messages=sum(sizes.get(member.id, (0, 0))[0] for member in members),
        bytes=sum(sizes.get(member.id, (0, 0))[1] for member in members),
        open_ids=tuple(member.id for member in members if member.ended_at is None),
    )


# -- deleting ----------------------------------------------------------------------------------


def changed_since(planned: PrunePlan) -> Callable[[Transaction, str], bool]:
    """Return a test for whether a session's conversation was resumed after the plan."""
    rows = {session_id: row for row in planned.rows for session_id in row.session_ids}

    def changed(tx: Transaction, session_id: str) -> bool:
        row = rows[session_id]
        taken_up = tx.one(
            "SELECT 1 FROM json_each(?) wanted CROSS JOIN sessions s ON s.id = wanted.value "
            "CROSS JOIN session_activity a ON a.session_id = s.id "
            "WHERE (s.ended_at IS NULL AND s.id NOT IN (SELECT value FROM json_each(?))) "
            "OR a.last_active > ? LIMIT 1",
            (json.dumps(row.session_ids), json.dumps(row.open_ids), row.last_active),
        )
        if taken_up is not None:
            return True
        below = tx.rows(
            "SELECT s.id FROM sessions s JOIN session_activity a ON a.session_id = s.id "
            "WHERE s.parent_session_id = ? AND a.edge IN ('agent', 'compression')",
            (session_id,),
        )
        return any(child not in row.session_ids for (child,) in list(below))

    return changed
