"""What a search would ignore: fields with values that they cannot have.

A search pane goes on without such a field and says so. A command line has nobody who looks on, so
it asks here first, and refuses.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from hermes_store.engines.base import Transaction
from hermes_store.records.search import Severity
from hermes_store.records.sources import KNOWN, known_name, of_source
from hermes_store.search import field_conditions, known_values
from hermes_store.search.field_conditions import FieldProblem, MarkSource
from hermes_store.search.known_values import listed, quoted
from hermes_store.search.query_tree import Field, Node, Not, Query, Text


def problems(
    tx: Transaction, query: Query, now: float, marks: MarkSource | None = None
) -> list[str]:
    """Return a sentence for every part of a query that a search would ignore."""
    found = [note.message for note in query.diagnostics if note.severity is Severity.PROBLEM]
    for field in _fields(query.root):
        try:
            field_conditions.condition(tx, field, now, marks)
        except FieldProblem as problem:
            found.append(f"{problem}{_near(field)}")
            continue
        wrong = unknown_source(tx, field.value) if field.name == "source" else None
        found += [] if wrong is None else [wrong]
    return found


def _fields(node: Node | None) -> Iterator[Field]:
    match node:
        case None | Text():
            return
        case Field():
            yield node
        case Not():
            yield from _fields(node.part)
        case _:
            for part in node.parts:
                yield from _fields(part)


def _near(field: Field) -> str:
    choices = {
        "is": field_conditions.IS,
        "has": field_conditions.HAS,
        "role": field_conditions.ROLES,
    }
    near = difflib.get_close_matches(field.value.lower(), choices.get(field.name, ()), n=1)
    return f" Did you mean {field.name}:{near[0]}?" if near else ""


def unknown_source(tx: Transaction, typed: str) -> str | None:
    """Return a sentence if no platform has this name and no session is from there."""
    name = known_name(typed)
    if name is None or name in KNOWN:
        return None
    if known_values.has_session(tx, *of_source("s.source", name)):
        return None
    # As the field source: takes it, the beginning of a name is enough.
    if known_values.has_session(tx, *field_conditions.starting(tx.caps.dialect, typed)):
        return None
    here = known_values.sources(tx)
    near = difflib.get_close_matches(typed.lower(), [*here, *KNOWN], n=1)
    hint = f" Did you mean {near[0]}?" if near else listed("Known sources", here)
    return f"There is no source {quoted(typed)}.{hint}"
