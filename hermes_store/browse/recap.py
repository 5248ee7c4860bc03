"""The recap of a conversation as data: its last messages, shortened.

User messages are cut to 300 characters, answers to three lines and 200 characters, tool calls to
their number and names; the last answer is kept in full. System messages, tool output and
reasoning are left out, as is everything before the last ten exchanges.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from hermes_store.engines.base import Transaction
from hermes_store.records import tool_calls
from hermes_store.records.message import Message
from hermes_store.records.message_content import without_reasoning
from hermes_store.records.recap import Limits, Recap, RecapEntry
from hermes_store.records.safe_text import clean
from hermes_store.sessions import message_order, messages

WHOLE_RECAP = 400
"""A session with up to this many messages is read completely."""
RECAP_STEP = 80


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[:characters] + "..."


def _shortened(text: str, limits: Limits) -> str:
    lines = text.splitlines()
    if len(lines) > limits.assistant_lines:
        text = "\n".join(lines[: limits.assistant_lines]) + " ..."
    return _cut(text, limits.assistant_characters)


def build(said_messages: Iterable[Message], limits: Limits | None = None) -> Recap:
    """Build the recap of a conversation from its messages."""
    limits = limits or Limits()
    said: list[tuple[str, str, str]] = []
    total = users = 0
    for message in said_messages:
        total += 1
        users += message.role == "user"
        text = clean(message.text)
        if message.role == "user" and text.strip():
            said.append(("user", text.strip(), ""))
        elif message.role == "assistant":
            text, calls = without_reasoning(text), tool_calls.summary(message.tool_calls)
            if text or (calls and not limits.skip_tool_only):
                said.append(("assistant", text, calls))
    last = max((place for place, each in enumerate(said) if each[0] == "assistant"), default=-1)
    shown = said[-2 * limits.exchanges :] if limits.exchanges else []
    first = len(said) - len(shown)
    entries = tuple(_entry(each, place == last, limits) for place, each in enumerate(shown, first))
    return Recap(entries, first, users, total)


def _entry(said: tuple[str, str, str], whole: bool, limits: Limits) -> RecapEntry:
    role, text, calls = said
    if role == "user":
        return RecapEntry(role, _cut(text, limits.user_characters))
    if not whole:
        text = _shortened(text, limits)
    return RecapEntry(role, " ".join(filter(None, (text, clean(calls)))), whole)


def of_session(tx: Transaction, session_id: str, limits: Limits | None = None) -> Recap:
    """Return the recap of a session without reading a long one completely.

    For a long session, the number of earlier messages includes answers that only called tools.
    """
    limits = limits or Limits()
    ids = message_order.arrange(tx, session_id).ids
    if len(ids) <= WHOLE_RECAP:
        return build(messages.by_id(tx, ids), limits)
    by_role = dict(
        tx.rows(
            "SELECT m.role, COUNT(*) FROM json_each(?) wanted "
            "CROSS JOIN messages m ON m.id = CAST(wanted.value AS BIGINT) GROUP BY m.role",
            (json.dumps(list(ids)),),
        )
    )
    wanted, taken = 2 * limits.exchanges, RECAP_STEP
    while True:
        found = build(messages.by_id(tx, ids[-taken:]), limits)
        if len(found.entries) >= wanted or taken >= len(ids):
            break
        taken *= 4
    said = by_role.get("user", 0) + by_role.get("assistant", 0)
    earlier = max(found.earlier, said - len(found.entries))
    return Recap(found.entries, earlier, by_role.get("user", 0), len(ids))
