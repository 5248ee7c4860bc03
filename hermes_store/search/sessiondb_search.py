"""`search_messages` as documented by Hermes Agent, on top of this search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from hermes_store.engines.base import Transaction, WordSource
from hermes_store.engines.message_states import readable
from hermes_store.engines.sqlite.tokenizer import Tokenize
from hermes_store.records import message_content as contents
from hermes_store.records.listing import page_bounds
from hermes_store.records.search import Hit, Severity
from hermes_store.records.sources import all_spellings
from hermes_store.search import query_language, ranking
from hermes_store.search.cancellation import Stop
from hermes_store.search.field_conditions import Condition, MarkSource
from hermes_store.search.hits import hits_of
from hermes_store.search.query_tree import Node
from hermes_store.search.relaxation import without_signs
from hermes_store.search.run_plan import Search

CONTEXT_LENGTH = 200
SCAN_SECONDS = 5.0
_SPECIAL = re.compile("[+{}()^]")
_LEADING_OPERATOR = re.compile(r"^\s*(?:(?:AND|OR|NOT)\s+)+")


def _within(column: str, word: str, chosen: Sequence[str]) -> Condition:
    # Not "session": these filters come with every call and rarely leave few sessions.
    marks = ", ".join("?" * len(chosen))
    return Condition(f"{column} {word} ({marks})", tuple(chosen), session=False)


def search_messages(
    tx: Transaction,
    query: str,
    *,
    words: WordSource | None = None,
    marks: MarkSource | None = None,
    source_filter: Sequence[str] | None = None,
    exclude_sources: Sequence[str] | None = None,
    role_filter: Sequence[str] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> list[dict[str, Any]]:
    """Return the best matches with a snippet and one message of context on each side."""
    limit, offset = page_bounds(limit, offset)
    extra = []
    if source_filter is not None:
        extra.append(_within("s.source", "IN", all_spellings(source_filter)))
    if exclude_sources:
        extra.append(_within("s.source", "NOT IN", all_spellings(exclude_sources)))
    if role_filter:
        extra.append(_within("m.role", "IN", role_filter))
    for root in _readings(query, tx.split):
        stop = Stop(seconds=SCAN_SECONDS)
        search = Search(tx, root, words=words, marks=marks, extra=extra, stop=stop)
        if any(each.severity is Severity.PROBLEM for each in search.diagnostics):
            continue  # "on:fire" is not about a day
        number = offset + limit
        found = list(islice(ranking.ranked(search, number, weighted=False), number))
        if found:
            hits = hits_of(tx, found[offset:], search.highlighter, raw=True)
            context = _contexts(tx, hits)
            return [_result(hit, context[hit.message_id]) for hit in hits]
    return []


def _readings(query: str, tokenize: Tokenize) -> Iterator[Node]:
    """Yield what a query may mean; the first reading with a match counts.

    Special characters of FTS5 are dropped, as documented, but only if nothing matches them: f(x)
    can be found, and hello) finds hello. The same goes for what looks like a field, such as
    "on:fire", and for punctuation: "TODO: fix" prefers the colon, but does not need it.
    """
    spelled = [_LEADING_OPERATOR.sub("", each) for each in (query, _SPECIAL.sub(" ", query))]
    parsed = [query_language.parse(text).root for text in spelled]
    parsed += [query_language.parse(text, fields=()).root for text in spelled]
    roots = [root for root in dict.fromkeys(parsed) if root is not None]
    yield from roots
    if roots and (plain := without_signs(roots[-1], tokenize)) is not None:
        yield plain


def _result(hit: Hit, context: list[dict[str, Any]]) -> dict[str, Any]:
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
        "context": context,
    }


def _contexts(tx: Transaction, hits: Sequence[Hit]) -> dict[int, list[dict[str, Any]]]:
    """Return the message before each hit, the hit itself and the one after, shortened.

    Two statements for all hits: one per hit would cost more than the search.
    """
    beside = (
        "(SELECT m.id FROM messages m WHERE m.session_id = h.session_id AND "
        f"(m.timestamp, m.id) {{}} (h.timestamp, h.id) AND {readable(tx.caps)} "
        "ORDER BY m.timestamp {}, m.id {} LIMIT 1)"
    )
    neighbours: dict[int, tuple[int | None, ...]] = {
        row[1]: row
        for row in tx.rows(
            f"SELECT {beside.format('<', 'DESC', 'DESC')}, h.id, "
            f"{beside.format('>', 'ASC', 'ASC')} FROM json_each(?) wanted "
            "CROSS JOIN messages h ON h.id = CAST(wanted.value AS BIGINT)",
            (json.dumps([hit.message_id for hit in hits]),),
        )
    }
    wanted = {place for row in neighbours.values() for place in row if place is not None}
    said = {
        message_id: {
            "role": role,
            "content": contents.readable(contents.decode(stored))[:CONTEXT_LENGTH],
        }
        for message_id, role, stored in tx.rows(
            "SELECT m.id, m.role, m.content FROM json_each(?) wanted "
            "CROSS JOIN messages m ON m.id = CAST(wanted.value AS BIGINT)",
            (json.dumps(sorted(wanted)),),
        )
    }
    return {
        hit: [dict(said[place]) for place in row if place is not None]
        for hit, row in neighbours.items()
    }
