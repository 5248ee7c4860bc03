"""Planning a prune: which old conversations a filter would delete, and which it would spare.

Age is counted from the last activity of the whole conversation: its compression chain and the
sub-agents below it. A conversation in use is never touched, and unless the filter says otherwise
neither is one that has not ended, is archived or is pinned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from hermes_store.engines import message_states
from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS
from hermes_store.marks.marks import Marks
from hermes_store.records.prune import KEPT, PruneFilter, PrunePlan, PruneRow
from hermes_store.records.sources import spellings
from hermes_store.records.trash import Remark
from hermes_store.sessions import in_use, workspaces
from hermes_store.upkeep import prune_filter
from hermes_store.upkeep.prune_filter import Family

DAY = 86_400


def plan(tx: Transaction, chosen: PruneFilter, now: float, marks: Marks) -> PrunePlan:
    """Return what a filter would prune and what it would spare; InvalidInput if it makes no sense.

    Changes nothing.
    """
    everything = prune_filter.load(tx)
    found = [family for family in everything.values() if _fits(family, chosen, now)]
    if chosen.where.strip():
        wanted = prune_filter.Where(tx, everything, now, marks).matching(
            prune_filter.parsed(chosen.where)
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
    if chosen.never_active and not _never_active(family):
        return False
    return (
        _within(family.last_active, chosen.active_after, chosen.active_before)
        and _within(family.root.started_at, chosen.started_after, chosen.started_before)
        and _has_numbers(family, chosen)
        and _has_texts(family, chosen)
    )


def _within(moment: float, low: float | None, high: float | None) -> bool:
    return (low is None or moment >= low) and (high is None or moment < high)


def _has_numbers(family: Family, chosen: PruneFilter) -> bool:
    members = [member for _, member in family.members]
    return all(
        (least is None or number >= least) and (most is None or number <= most)
        for number, least, most in (
            (family.messages, chosen.min_messages, chosen.max_messages),
            (sum(each.tokens for each in members), chosen.min_tokens, chosen.max_tokens),
            (sum(each.cost for each in members), chosen.min_cost, chosen.max_cost),
            (
                sum(each.tool_calls for each in members),
                chosen.min_tool_calls,
                chosen.max_tool_calls,
            ),
        )
    )


def _has_texts(family: Family, chosen: PruneFilter) -> bool:
    chain = family.chain
    return (
        _has(chosen.title, (each.title for each in chain))
        and _has(chosen.model, (each.model for each in chain))
        and _has(chosen.branch, (each.place.git_branch for each in chain))
        and _has(
            chosen.workspace and workspaces.part_of_path(chosen.workspace),
            (each.place.workspace for each in chain),
        )
        and _is(chosen.end_reason, (each.end_reason for each in chain))
        and _is(chosen.user, (each.user for each in chain))
        and _is(chosen.chat_id, (each.chat_id for each in chain))
        and _is(chosen.chat_type, (each.chat_type for each in chain))
        and _is(
            chosen.provider and chosen.provider.lower(),
            ((each.provider or "").lower() for each in chain),
        )
        and _is_below(chosen.cwd, (each.place.cwd for each in chain))
    )


def _has(part: str | None, texts: Iterator[str | None]) -> bool:
    return part is None or any(part.lower() in (text or "").lower() for text in texts)


def _is(wanted: str | None, texts: Iterator[str | None]) -> bool:
    return wanted is None or wanted in texts


def _is_below(folder: str | None, texts: Iterator[str | None]) -> bool:
    if folder is None:
        return True
    top = folder.rstrip("/\\")
    return any(
        text is not None and (text.rstrip("/\\") == top or text.startswith((f"{top}/", f"{top}\\")))
        for text in texts
    )


def _never_active(family: Family) -> bool:
    """Return whether a gateway opened a conversation and nobody used it."""
    members = [member for _, member in family.members]
    used = any(
        each.spoken or each.messages or each.tokens or each.tool_calls or each.title
        for each in members
    )
    return bool(family.root.key) and not used


def _protected(tx: Transaction, chosen: PruneFilter, marks: Marks) -> dict[str, frozenset[str]]:
    """Return the sessions that a mark protects, by mark."""
    wanted = {"archived": chosen.include_archived, "pinned": chosen.include_pinned}
    return {
        mark: frozenset(marks.sessions_with(tx, mark))
        for mark, included in wanted.items()
        if not included
    }


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
    if not family.is_dated:
        return KEPT["of unknown age"]
    if family.is_open and not chosen.include_open and not chosen.never_active:
        return KEPT["unfinished"]
    for mark, marked in protected.items():
        if any(member.id in marked for _, member in family.members):
            return KEPT[mark]
    return None


def _rows(tx: Transaction, going: Sequence[Family]) -> tuple[PruneRow, ...]:
    ids = [member.id for family in going for _, member in family.members]
    size = " + ".join(
        f"COALESCE(octet_length(CAST({column.name} AS TEXT)), 0)"
        for column in MESSAGE_COLUMNS
        if column.declaration == "TEXT" and tx.caps.has_message(column.name)
    )
    sizes = {
        row[0]: int(row[1] or 0)
        for row in tx.rows(
            f"SELECT session_id, SUM({size}) FROM messages "
            "WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id",
            (json.dumps(ids),),
        )
    }
    chained = [member.id for family in going for member in family.chain]
    summarised = dict(
        tx.rows(
            f"SELECT s.id, {message_states.summarised_only(tx.caps, 's.id')} "
            "FROM json_each(?) wanted CROSS JOIN sessions s ON s.id = wanted.value",
            (json.dumps(chained),),
        )
    )
    return tuple(_row(family, sizes, summarised) for family in going)


def _row(family: Family, sizes: dict[str, int], summarised: dict[str, int]) -> PruneRow:
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
        messages=sum(each.messages + summarised.get(each.id, 0) for each in family.chain),
        bytes=sum(sizes.get(member.id, 0) for member in members),
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
