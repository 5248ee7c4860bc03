"""Completion of the last word of a search text: field names and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hermes_store.records.sources import KNOWN

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

_LAST = re.compile(r"(?:^|\s)-?(?:([a-z]+):)?([^\s:\"]*)$")
MIN_NAME = 2


def completed(text: str, known: Mapping[str, Sequence[str]]) -> str | None:
    """Return a search text with its last word completed; None if there is nothing to add.

    `known` adds values from the database, such as models and tags.
    """
    found = _LAST.search(text)
    if found is None:
        return None
    field, start = found[1], found[2]
    if field is None:
        if len(start) < MIN_NAME or not start.islower():
            return None
        choices: Sequence[str] = [f"{name}:" for name in VALUES]
    elif field in VALUES:
        choices = [*known.get(field, ()), *VALUES[field]]
    else:
        return None
    for choice in choices:
        if choice.lower().startswith(start.lower()) and choice.lower() != start.lower():
            return text[: len(text) - len(start)] + choice
    return None
