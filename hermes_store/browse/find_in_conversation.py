"""Search within one conversation: the matching messages and the matches in them."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace

from hermes_store.engines.base import Transaction
from hermes_store.records.transcript import Outline
from hermes_store.search import query_language
from hermes_store.search.cancellation import Stop
from hermes_store.search.query_tree import And, Field, Node, Not, Or
from hermes_store.search.run_plan import Search
from hermes_store.search.snippets import Highlighter

SECONDS = 5.0


def matches(
    tx: Transaction,
    page: Outline,
    text: str,
    *,
    cancelled: Callable[[], bool] | None = None,
    typing: bool = False,
) -> tuple[array[int], Highlighter]:
    """Return the messages of a page that match a search text, and a highlighter for the matches.

    Fields such as source: mean nothing within one conversation and are ignored.
    """
    wanted = _without_fields(query_language.parse(text, typing=typing).root)
    stop = Stop(cancelled, SECONDS)
    search = Search(tx, wanted, only=page.message_ids, stop=stop, oldest_first=True)
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
