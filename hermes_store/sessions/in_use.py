"""Whether another process is working on a session."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from hermes_store.engines.base import Transaction
from hermes_store.errors import SessionInUse
from hermes_store.records.stored_values import moment, text, text_or
from hermes_store.sessions import lineage

Read = Callable[[], AbstractContextManager[Transaction]]
IN_USE_SECONDS = 300
"""How long a session that has not ended counts as in use after its last activity."""


def held(tx: Transaction, session_id: str, now: float) -> str | None:
    """Return a sentence that names the newer Hermes process working on a session, or None."""
    holder = _holder(tx, "compression_locks", "session_id", session_id, now)
    if holder is not None:
        return f"Session {session_id} is being compressed by {holder}."
    if "session_turn_leases" in tx.caps.tables:
        # One lease covers a whole conversation, under the id of its first session.
        root = lineage.chain(tx, session_id)[0]
        holder = _holder(tx, "session_turn_leases", "conversation_id", root, now)
        if holder is not None:
            return f"Session {session_id} is being answered by {holder}."
    return None


def in_use(tx: Transaction, session_id: str, now: float) -> str | None:
    """Return a sentence that says why a session counts as in use, or None."""
    reason = held(tx, session_id, now)
    if reason is not None:
        return reason
    active = tx.value(
        "SELECT a.last_active FROM session_activity a JOIN sessions s ON s.id = a.session_id "
        "WHERE a.session_id = ? AND s.ended_at IS NULL",
        (session_id,),
    )
    last = moment(active)
    if active is None or now - last >= IN_USE_SECONDS:
        return None
    minutes = max(0, int(now - last)) // 60
    ago = f"{minutes + 1} minutes" if minutes else "a minute"
    return f"Session {session_id} has not ended and was active less than {ago} ago."


def is_live(ended: bool, last_active: float, now: float) -> bool:
    """Return whether a conversation is live: it has not ended and was active a moment ago."""
    return not ended and now - last_active < IN_USE_SECONDS


def live_sessions(tx: Transaction, now: float) -> tuple[str, ...]:
    """Return all sessions of the conversations that a list shows as live."""
    # An index of the table has the time after this flag; the view computes each column it is asked
    # for. Times that are no numbers sort as later than all others, so none is missed.
    flagged = "listed IN (FALSE, TRUE) AND " if tx.caps.activity else ""
    recent = tx.rows(
        f"SELECT DISTINCT root_id FROM session_activity WHERE {flagged}chain_active > ?",
        (now - IN_USE_SECONDS - 1,),
    )
    roots = json.dumps([root for (root,) in recent if type(root) is str])
    chains: defaultdict[str, list[lineage.Link]] = defaultdict(list)
    for root, *row in tx.rows(
        f"{lineage.CHAIN}SELECT chain.root, {lineage.LINK} FROM chain "
        "CROSS JOIN sessions s ON s.id = chain.id "
        "CROSS JOIN session_activity a ON a.session_id = s.id",
        (roots,),
    ):
        chains[root].append(lineage.Link(*row))
    live: list[str] = []
    for root, members in chains.items():
        tip = lineage.tip_of(root, members)
        ended_by_id = {each.id: bool(each.ended) for each in members}
        last_active = max(moment(each.last_active) for each in members)
        if is_live(ended_by_id.get(tip, True), last_active, now):
            live += ended_by_id
    return tuple(text(each) for each in live)


def refuse_in_use(read: Read, session_ids: Iterable[str], now: float) -> None:
    """Raise SessionInUse if one of these sessions is in use."""
    with read() as tx:
        for session_id in session_ids:
            reason = in_use(tx, session_id, now)
            if reason is not None:
                raise SessionInUse(f"{reason} Nothing was deleted; end it or use 'delete --force'.")


def _holder(tx: Transaction, table: str, column: str, session_id: str, now: float) -> str | None:
    """Return who holds an unexpired lock on a session in a table of a newer Hermes."""
    if table not in tx.caps.tables:
        return None
    if not {column, "holder", "expires_at"} <= set(tx.columns(table)):
        return None
    # A released lease remains as a row without a holder.
    holder = tx.value(
        f"SELECT holder FROM {table} WHERE {column} = ? AND expires_at > ? AND holder <> ''",
        (session_id, now),
    )
    return text_or(holder, None)
