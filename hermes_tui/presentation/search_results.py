"""A search in words: what was understood, how many results, their order, remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content
from textual.style import Style

from hermes_store.records.marks import SavedSearch
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Count, Looked, Order, SearchResult, Severity
from hermes_tui.presentation.fit_text import plain

ORDER_WORDS = {Order.RELEVANCE: "most relevant", Order.NEWEST: "newest", Order.OLDEST: "oldest"}


def figures(result: SearchResult) -> Content:
    """Return the number of results; titles apart where more conversations match than messages."""
    if result.partial and not result.groups:
        return Content.styled("nothing so far", "$foreground-muted")
    messages, conversations = result.messages, result.conversations
    titles = 0
    if conversations.number > messages.number + result.weaker.number:
        titles = sum(1 for group in result.groups if group.title_matches and not group.hits)
    holding = Count(max(0, conversations.number - titles), conversations.exact)
    more = f" (+{result.weaker.number:,} similar)" if result.weaker.number else ""
    said = f"{_counted(messages, 'message')}{more} in {_counted(holding, 'conversation')}"
    named = f"{titles:,} {'title' if titles == 1 else 'titles'}" if titles else ""
    if named and not messages.number and not result.weaker.number:
        return Content(named)
    return Content(f"{said}, {named}" if named else said)


def _counted(number: Count, what: str) -> str:
    return f"{number} {what}{'' if number.number == 1 and number.exact else 's'}"


def still_looking(looked: Looked | None) -> str:
    """Return how far a search has come that is not complete."""
    if looked is None or looked.back_to is None:
        return "searching …"
    return f"searching older messages … {looked.share:.0%}"


def status(result: SearchResult, order_key: str) -> Content:
    """Return the order of results, what changes it, progress and remarks, on one line."""
    other = Order.NEWEST if result.order is Order.RELEVANCE else Order.RELEVANCE
    parts: list[tuple[str, str] | str] = []
    for text, colour in _remarks(result):
        parts += [(text, colour), " · "]
    parts += [
        f"{ORDER_WORDS[result.order]} first ",
        (f"({order_key}: {ORDER_WORDS[other]})", "$foreground-muted"),
    ]
    if result.partial:
        parts += [" · ", (still_looking(result.looked), "$accent")]
    return Content.assemble(*parts)


def _remarks(result: SearchResult) -> Iterator[tuple[str, str]]:
    """Yield remarks on a search, each once: how it was widened, what was not understood."""
    parts = [(step.explanation, "$warning") for step in result.relaxations]
    parts += [
        (note.message, "$error" if note.severity is Severity.PROBLEM else "$warning")
        for note in result.diagnostics
    ]
    yield from dict.fromkeys((plain(text).rstrip("."), colour) for text, colour in parts)


# -- without a search --------------------------------------------------------------------------


def tabs(
    saved: Sequence[SavedSearch], text: str, save_key: str, *, numbered: bool = True
) -> Content:
    """Return the saved searches with the number keys that run them, the current one marked.

    While digits are typed into the field, not `numbered`.
    """
    if not saved:
        return Content.styled(
            f"{save_key} saves a search · ↑ earlier searches", "$foreground-muted"
        )
    current = text.strip()
    pieces: list[Content | str] = [_tab(0, "all", chosen=not current, numbered=numbered)]
    for number, each in enumerate(saved[:9], 1):
        chosen = each.text.strip() == current
        pieces += [" ", _tab(number, plain(each.name), chosen=chosen, numbered=numbered)]
    return Content.assemble(*pieces)


def _tab(number: int, name: str, *, chosen: bool, numbered: bool) -> Content:
    click = Style.from_meta({"@click": f"screen.saved({number})"})
    style = "bold reverse" if chosen else "$foreground-muted"
    key = str(number) if numbered else "·"
    return Content.styled(f" {key} {clean(name)} ", style).stylize(click)
