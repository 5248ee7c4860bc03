"""Whether a session of a file and one of a server are the same: one began as the other did.

A session that was brought back from the server, or that was sent under another name of the same
machine, must not be sent once more.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_store.engines.base import Transaction
from hermes_store.records.message import State
from hermes_store.sessions import message_order
from hermes_store.transfer import stored_forms
from hermes_store.transfer.stored_forms import MESSAGE


def sums(tx: Transaction, session_id: str, names: Sequence[str]) -> list[int]:
    """Return a checksum for each message of a session, of these columns, in their order.

    What was taken back is left out, and what compacting stored once more: an export does not have
    it, nor does a file that has no place for it.
    """
    selected = ", ".join(f"m.{name}" if name in names else "NULL" for name in MESSAGE)
    rows = tx.stream(f"SELECT m.id, {selected} FROM messages m WHERE session_id = ?", (session_id,))
    found = {
        message_id: stored_forms.checksum(stored_forms.formed(MESSAGE, values))
        for message_id, *values in rows
    }
    arranged = message_order.arrange(tx, session_id, everything=True)
    return [found[each] for each in arranged.ids if arranged.state(each) is not State.REWOUND]


def is_beginning(short: Transaction, session_id: str, whole: Transaction, other_id: str) -> bool:
    """Tell whether a session is the beginning of another one, or all of it."""
    known = short.caps.message_columns, whole.caps.message_columns
    shared = [name for name in MESSAGE if all(name in each for each in known)]
    beginning = sums(short, session_id, shared)
    return beginning == sums(whole, other_id, shared)[: len(beginning)]


def on_server(server: Transaction, session_id: str, started_at: float, origin: str) -> list[str]:
    """Return the sessions of a server that may be the same, except those sent from a file."""
    rows = server.rows(
        "SELECT id FROM sessions WHERE id = ?1 AND started_at = ?2 AND origin <> ?3 UNION "
        "SELECT id FROM sessions WHERE origin_id = ?1 AND started_at = ?2 AND origin <> ?3",
        (session_id, started_at, origin),
    )
    return [str(found) for (found,) in rows]
