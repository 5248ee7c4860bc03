"""The fields of a search text as chips: each in words, removed by a click."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from textual.content import Content
from textual.style import Style

from hermes_store.records.sources import KNOWN, describe, known_name, labelled
from hermes_store.search import field_conditions, query_language, times
from hermes_store.search.query_tree import And, Field, Node, Not, Or
from hermes_tui.presentation.fit_text import plain

UNITS = {
    "min": "minute",
    "m": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "mo": "month",
    "y": "year",
}
CHOICES = {
    "is": field_conditions.IS,
    "has": field_conditions.HAS,
    "role": (*field_conditions.ROLES, *field_conditions.SPOKEN_AS),
}
_SPAN = r"(\d+)(min|mo|[mhdwy])"
_WHOLE = re.compile(
    rf"{_SPAN}|"
    r"\d{4}-\d\d-\d\d|today|yesterday|user|assistant|tool|tools|title|code|url|image|"
    r"reasoning|live|ended|archived|pinned|root|branch|reset|agent|compressed"
)


def chips(text: str) -> Content:
    """Return the fields of a search text in words; a click removes one."""
    root = query_language.parse(text, typing=True).root
    pieces: list[Content | str] = []
    for node, negated in _fields(root):
        span = node.span
        click = Style.from_meta({"@click": f"screen.remove_field({span.start}, {span.end})"})
        said = f" {'not ' if negated else ''}{_field_words(node)} × "
        pieces += [Content.styled(said, "$secondary on $panel").stylize(click), " "]
    return Content.assemble(*pieces)


def _fields(node: Node | None, *, negated: bool = False) -> Iterator[tuple[Field, bool]]:
    match node:
        case Field():
            if _is_understood(node) and (_is_whole(node) or not node.unfinished):
                yield node, negated
        case Not():
            yield from _fields(node.part, negated=not negated)
        case And() | Or():
            for part in node.parts:
                yield from _fields(part, negated=negated)


def _is_understood(field: Field) -> bool:
    """Return whether a value is one that the field can have."""
    if field.name in ("after", "before", "on"):
        return times.span(field.value, time.time()) is not None
    known = CHOICES.get(field.name)
    return known is None or field.value.lower() in known


def _is_whole(field: Field) -> bool:
    """Return whether a value at the end of a text need not go on."""
    if field.name == "source":
        return _source_name(field.value) in KNOWN
    return _WHOLE.fullmatch(field.value.lower()) is not None


def _source_name(typed: str) -> str:
    """Return the source that is meant, also by the beginning of what it is called."""
    name, called = known_name(typed) or typed, labelled(typed)
    return called[0] if name not in KNOWN and len(called) == 1 else name


def _field_words(field: Field) -> str:
    value = plain(field.value)
    if field.name == "source":
        return f"source: {plain(describe(_source_name(field.value)).label)}"
    if field.name in ("after", "before"):
        ago = re.fullmatch(_SPAN, value.lower())
        if ago is not None:
            span = f"{ago[1]} {UNITS[ago[2]]}" + ("" if ago[1] == "1" else "s")
            return f"last {span}" if field.name == "after" else f"older than {span}"
        return f"since {value}" if field.name == "after" else f"before {value}"
    return value if field.name in ("on", "is") else f"{field.name}: {value}"
