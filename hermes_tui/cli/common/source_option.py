"""The option `--source`, shared by the verbs that list, export, prune and count."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hermes_store.errors import InvalidInput
from hermes_store.records.sources import KNOWN, known_name

if TYPE_CHECKING:
    from hermes_store.store import Store


def add(parser: argparse._ActionsContainer, verb: str, example: str = "telegram") -> None:
    """Add the option; `verb` says what the command does, such as 'list'."""
    parser.add_argument("--source", help=f"{verb} only this source, such as {example}")


def chosen(store: Store, typed: str | None) -> str | None:
    """Return the stored name of the source that was typed; InvalidInput if there is none.

    A source that this program does not know is fine if a session is from there. The beginning of
    its name is enough.
    """
    name = known_name(typed)
    if typed is None or name in KNOWN:
        return name
    if not typed.strip():
        raise InvalidInput("--source is empty. Give a value or leave it out.")
    here = store.lists.sources()
    if typed in here:
        return typed
    longer = [each for each in here if each.lower().startswith(typed.lower())]
    if len(longer) == 1:
        return longer[0]
    if longer:
        raise InvalidInput(f"--source {typed} could mean {' or '.join(longer)}.")
    raise InvalidInput(store.search.unknown_source(typed) or f"There is no source '{typed}'.")
