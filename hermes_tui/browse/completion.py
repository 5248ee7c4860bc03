"""Completion of the last word of a search text: field names and values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hermes_store.records.sources import KNOWN, describe

VALUES: Mapping[str, Sequence[str]] = {
    "source": tuple(KNOWN),
    "role": ("user", "assistant", "tool"),
    "model": (),
    "tool": (),
    "title": (),
    "id": (),
    "after": ("today", "yesterday", "7d", "30d"),
    "before": ("today", "yesterday", "7d", "30d"),
    "on": ("today", "yesterday"),
    "has": ("tools", "title", "code", "url", "image", "reasoning"),
    "is": ("live", "ended", "archived", "pinned", "root", "branch", "reset", "agent", "compressed"),
    "tag": (),
    "workspace": (),
    "branch": (),
    "sort": ("newest", "oldest", "relevance"),
}
"""The fields of the search language with their fixed values."""
Known = Mapping[str, Mapping[str, int]]
"""Values in the database with their numbers, by field."""

_LAST = re.compile(r"(?:^|\s)-?(?:([a-z]+):)?([^\s:\"]*)$")
MIN_NAME = 2


def choices(text: str, known: Known) -> list[tuple[str, int]]:
    """Return the values that the field at the end of a text may get, with their numbers.

    Those in the database come first, by number; 0 means that they are not counted.
    """
    found = _LAST.search(text)
    if found is None or found[1] not in VALUES:
        return []
    field, start = found[1], found[2].lower()
    counted = known.get(field, {})
    fixed = () if counted and field == "source" else VALUES[field]
    every = [*counted.items(), *((value, 0) for value in fixed if value not in counted)]
    fitting = [(value, number) for value, number in every if _fits(field, value, start)]
    return [] if [value.lower() for value, _ in fitting] == [start] else fitting


def _fits(field: str, value: str, start: str) -> bool:
    """Return whether a value, or what it is called on screen, begins with what was typed."""
    return value.lower().startswith(start) or (
        field == "source" and label(value).lower().startswith(start)
    )


def labels(text: str, values: Iterable[str]) -> dict[str, str]:
    """Return what values of the last field of a text are called on screen, where that differs."""
    found = _LAST.search(text)
    if found is None or found[1] != "source":
        return {}
    return {value: label(value) for value in values if label(value).lower() != value.lower()}


def label(source: str) -> str:
    """Return what a source is called on screen."""
    return describe(source).label


def completed(text: str, known: Known) -> str | None:
    """Return a search text with its last word completed; None if there is nothing to add."""
    found = _LAST.search(text)
    if found is None:
        return None
    field, start = found[1], found[2]
    if field is not None:
        offered = [value for value, _ in choices(text, known)]
    elif len(start) >= MIN_NAME and start.islower():
        offered = [f"{name}:" for name in VALUES if name.startswith(start)]
    else:
        return None
    longer = (
        each for each in offered if len(each) > len(start) and each.startswith(start)
    )  # what is suggested behind the cursor continues what was typed
    return next((with_value(text, each) for each in longer), None)


def with_value(text: str, value: str) -> str:
    """Return a text whose last word, or the value of its last field, is replaced."""
    found = _LAST.search(text)
    return text if found is None else text[: len(text) - len(found[2])] + value


def typed_value(text: str) -> str:
    """Return what has been typed of the last value."""
    found = _LAST.search(text)
    return "" if found is None else found[2]
