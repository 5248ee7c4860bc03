"""Rows exactly as they are stored, whatever they hold.

Other programs can store any bytes as text, and damage can turn text into such bytes; apsw does not
return rows with text that is not valid UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import apsw

from hermes_store.engines.sqlite.schema_reader import quote


class RawText(bytes):
    """Stored text that is not valid UTF-8, byte for byte."""


def raw_rows(
    con: apsw.Connection, names: Sequence[str], source: str, values: Sequence[Any] = ()
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of the given columns, with RawText for what is not valid UTF-8.

    `source` is what follows FROM in the statement.
    """
    quoted = [quote(name) for name in names]
    given = 0
    try:
        for row in con.execute(f"SELECT {', '.join(quoted)} FROM {source}", values):
            given += 1
            yield row
    except UnicodeDecodeError:
        columns = ", ".join(
            f"typeof({name}), iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
            for name in quoted
        )
        rows = con.execute(f"SELECT {columns} FROM {source}", values)
        for row in islice(rows, given, None):
            pairs = zip(row[::2], row[1::2], strict=True)
            yield tuple(_text(value) if kind == "text" else value for kind, value in pairs)


def places(values: Sequence[Any]) -> str:
    """Return the placeholders with which values are stored as they were."""
    return ", ".join("CAST(? AS TEXT)" if isinstance(each, RawText) else "?" for each in values)


def readable(value: Any) -> Any:
    """Return a value with U+FFFD in place of invalid UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, RawText) else value


def _text(value: bytes) -> str | RawText:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return RawText(value)
