"""The fields of the search language as options, and the refusal of fields that make no sense."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hermes_store.errors import InvalidInput
from hermes_store.records.search import Request

if TYPE_CHECKING:
    from hermes_store.store import Store

FIELDS = {
    "source": "only from this source, such as telegram",
    "workspace": "only with this in the path of the repository or folder",
    "tag": "only conversations with this tag",
    "model": "only with this in the model's name",
    "role": "only messages by user, assistant, tool or system",
    "tool": "only messages that use this tool",
    "title": "only with this in the title",
    "branch": "only with this in the name of the git branch",
    "after": "no older than this: 7d, 2026-01-31, yesterday",
    "before": "older than this",
    "on": "only this day or month",
}
_TIMES = ("after", "before", "on")


def add(parser: argparse.ArgumentParser) -> None:
    """Add an option for every field."""
    group = parser.add_argument_group("filters, the same as fields such as source:telegram")
    for name, about in FIELDS.items():
        if name in _TIMES:
            group.add_argument(f"--{name}", metavar="TIME", help=about)
        else:
            group.add_argument(f"--{name}", action="append", metavar=name.upper(), help=about)


def chosen(options: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Return the fields that the options name."""
    found: list[tuple[str, str]] = []
    for name in FIELDS:
        given = getattr(options, name)
        for value in [given] if isinstance(given, str) else given or ():
            if not value.strip():
                raise InvalidInput(f"--{name} is empty. Give a value or leave it out.")
            found.append((name, value))
    return tuple(found)


def check(store: Store, request: Request) -> None:
    """Raise InvalidInput for a field that a search would ignore."""
    wrong = store.search.problems(request)
    if wrong:
        raise InvalidInput("\n".join(dict.fromkeys(wrong)))
