"""`search_messages` as the documentation of Hermes Agent promises it, on top of this search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hermes_store import content as contents
from hermes_store.database.transaction import Transaction
from hermes_store.messages import findable
from hermes_store.search import language, rank
from hermes_store.search.fields import Condition, MarkSource
from hermes_store.search.results import Hit
from hermes_store.search.run import Search
from hermes_store.search.stopping import Stop
from hermes_store.search.vocabulary import Vocabulary

CONTEXT_LENGTH = 200
SCAN_SECONDS = 5.0
_SPECIAL = re.compile("[+{}()^]")
_LEADING_OPERATOR = re.compile(r"^\s*(?:(?:AND|OR|NOT)\s+)+")


def _within(column: str, word: str, chosen: Sequence[str]) -> Condition:
    # Not "session": these lists come with every call and say nothing about few sessions.
    marks = ", ".join("?" * len(chosen))
    return Condition(f"{column} {word} ({marks})", tuple(chosen), session=False)


def search_messages(
    tx: Transaction,
    query: str,
    *,
    vocabulary: Vocabulary | None = None,
    marks: MarkSource | None = None,
    source_filter: Sequence[str] | None = None,
    exclude_sources: Sequence[str] | None = None,
    role_filter: Sequence[str] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> list[dict[str, Any]]:
    """Return the best matches with a snippet and one message of context on each side."""
    extra = []
    if source_filter is not None:
        extra.append(_within("s.source", "IN", source_filter))
    if exclude_sources:
        extra.append(_within("s.source", "NOT IN", exclude_sources))
    if role_filter:
        extra.append(_within("m.role", "IN", role_filter))
    # Signs with a meaning to FTS5 are dropped, as promised, once nothing has them: f(x) can be
    # found, and hello) finds hello.
    for text in dict.fromkeys((query, _SPECIAL.sub(" ", query))):
        root = language.parse(_LEADING_OPERATOR.sub("", text)).root
        if root is None:
            continue
        stop = Stop(seconds=SCAN_SECONDS)
        search = Search(tx, root, vocabulary=vocabulary, marks=marks, extra=extra, stop=stop)
        hits = rank.best(search, limit=limit, offset=offset)
        if hits or (offset and rank.best(search, limit=1)):
            return [_result(tx, hit) for hit in hits]
    return []


def _result(tx: Transaction, hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.message_id,
        "session_id": hit.session_id,
        "role": hit.role,
        "snippet": hit.snippet.marked(">>>", "<<<"),
        "timestamp": hit.timestamp,
        "tool_name": hit.tool_name,
        "source": hit.source,
        "model": hit.model,
        "session_started": hit.session_started,
        "context": _context(tx, hit),
    }


def _context(tx: Transaction, hit: Hit) -> list[dict[str, Any]]:
    """Return the message before, the message itself and the one after, cut short."""
    beside = (
        "SELECT * FROM (SELECT role, content FROM messages m WHERE session_id = ?1 AND "
        f"(timestamp, id) {{}} (?2, ?3) AND {findable(tx)} "
        "ORDER BY timestamp {}, id {} LIMIT 1)"
    )
    rows = tx.rows(
        f"{beside.format('<', 'DESC', 'DESC')} UNION ALL {beside.format('=', 'ASC', 'ASC')} "
        f"UNION ALL {beside.format('>', 'ASC', 'ASC')}",
        (hit.session_id, hit.timestamp, hit.message_id),
    )
    return [
        {"role": role, "content": contents.readable(contents.decode(stored))[:CONTEXT_LENGTH]}
        for role, stored in rows
    ]
