"""A search result in words: counts beside the field, remarks below it."""

from __future__ import annotations

from textual.content import Content

from hermes_store.records.safe_text import clean, local_day
from hermes_store.records.search import Looked, Order, SearchResult, Severity


def figures(result: SearchResult) -> Content:
    """Return the number of results and their order, or how far the search has come."""
    messages, conversations = result.messages, result.conversations
    said = "message" if messages.number == 1 and messages.exact else "messages"
    where = "conversation" if conversations.number == 1 and conversations.exact else "conversations"
    order = "most relevant" if result.order is Order.RELEVANCE else result.order.value
    more = f", {result.weaker.number:,} with the same words" if result.weaker.number else ""
    state = still_looking(result.looked) if result.partial else f"{order} first"
    if result.partial and not result.groups:
        return Content.styled(f"nothing so far · {state}", "$foreground-muted")
    text = f"{messages} {said}{more} in {conversations} {where} · {state}"
    return Content.styled(text, "$foreground-muted")


def still_looking(looked: Looked | None) -> str:
    """Return how far a search has come that is not complete."""
    if looked is None or looked.back_to is None:
        return "still looking …"
    return f"looked back to {local_day(looked.back_to):%-d %b %Y}, {looked.share:.0%} …"


def remarks(result: SearchResult) -> Content | None:
    """Return remarks on a search: how it was widened, what was not understood."""
    parts = [(step.explanation, "$warning") for step in result.relaxations]
    parts += [
        (note.message, "$error" if note.severity is Severity.PROBLEM else "$foreground-muted")
        for note in result.diagnostics
    ]
    if not parts:
        return None
    # The same remark is shown only once.
    said = dict.fromkeys((f"{clean(text)}\n", colour) for text, colour in parts)
    return Content.assemble(*said).rstrip()
