"""Counts values that are not what their column promises.

They do no harm: everything that reads a row mends them. But whoever wrote them, or the disk, has a
fault that somebody should know about.
"""

from __future__ import annotations

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.schema import COLUMNS
from hermes_store.records.stored_values import EARLIEST, LATEST
from hermes_store.records.upkeep_reports import Finding, Health

_TIMES = ("started_at", "ended_at", "timestamp")


def counted(tx: Transaction) -> dict[str, int]:
    """Return the number of odd values of each table that has any; reads each table once."""
    found = {}
    for table, declared in COLUMNS.items():
        present = tx.columns(table)
        tests = [
            _odd(column.name, column.declaration) for column in declared if column.name in present
        ]
        number = tx.value(f"SELECT TOTAL({' + '.join(tests)}) FROM {table}") if tests else 0
        if number:
            found[table] = int(number)
    return found


def _odd(name: str, declaration: str) -> str:
    kind = declaration.split()[0]
    needed = "NOT NULL" in declaration or "PRIMARY KEY" in declaration
    allowed = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real', 'integer'"}[kind]
    listed = allowed if needed else f"{allowed}, 'null'"
    odd = f"(typeof({name}) NOT IN ({listed}))"
    if name in _TIMES:
        # NULL, where it is allowed, is within any range.
        odd = f"({odd} OR COALESCE({name} NOT BETWEEN {EARLIEST} AND {LATEST}, 0))"
    return odd


def examined(tx: Transaction) -> list[Finding]:
    """Return the finding for `doctor`."""
    found = counted(tx)
    if not found:
        return [Finding(Health.GOOD, "values", "Every value is of the kind its column promises.")]
    where = " and ".join(f"{number:,} in {table}" for table, number in found.items())
    text = (
        f"Some values are not what their column promises ({where}), such as a text for a time. "
        "They are shown as well as possible; nothing is lost."
    )
    # Not a reason to repair: a repair copies values as they are.
    return [Finding(Health.NOTE, "values", text, beside=True)]
