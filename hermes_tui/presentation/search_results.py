"""A search result in words: counts beside the field, remarks below it."""

from __future__ import annotations

from textual.content import Content

from hermes_store.records.safe_text import clean, local_day
from hermes_store.records.search import Order, SearchResult, Severity


def figures(result: SearchResult) -> Content:
    """Return the number of results and their order."""
    messages, conversations = result.messages, result.conversations
    said = "message" if messages.number == 1 and messages.exact else "messages"
    where = "conversation" if conversations.number == 1 and conversations.exact else "conversations"
    order = "most relevant" if result.order is Order.RELEVANCE else result.order.value
    text = f"{messages} {said} in {conversations} {where} · {order} first"
    return Content.styled(text, "$foreground-muted")


def remarks(result: SearchResult) -> Content | None:
    """Return remarks on a search: how it was widened, what was not understood."""
    parts = [(step.explanation, "$warning") for step in result.relaxations]
    parts += [
        (note.message, "$error" if note.severity is Severity.PROBLEM else "$foreground-muted")
        for note in result.diagnostics
    ]
    if result.searched_back_to is not None:
        day = local_day(result.searched_back_to)
        parts.append(
            (f"Searched back to {day:%d %B %Y}; older messages were not searched.", "$warning")
        )
    elif result.partial:
        parts.append(("The search stopped early; results are incomplete.", "$warning"))
    if not parts:
        return None
    # The same remark is shown only once.
    said = dict.fromkeys((f"{clean(text)}\n", colour) for text, colour in parts)
    return Content.assemble(*said).rstrip()
