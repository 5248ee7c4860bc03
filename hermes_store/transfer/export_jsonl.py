"""JSONL: one session per line, with every column of it and of its messages.

The line is what `json.dumps` makes of `SessionDB.export_session`, written piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from hermes_store.records.safe_text import escape_json, storable
from hermes_store.records.stored_values import TOO_DEEP
from hermes_store.transfer.readable_export import Head


def opening(heads: Iterator[Head], total: int) -> Iterator[str]:
    """Yield nothing: the format has no header."""
    yield from ()


def session(
    row: Mapping[str, Any], messages: Iterator[Mapping[str, Any]], number: int
) -> Iterator[str]:
    """Yield a session as one line, in pieces."""
    yield dump(row)[:-1] + ', "messages": ['
    for place, message in enumerate(messages):
        yield (", " if place else "") + dump(message)
    yield "]}\n"


def closing() -> Iterator[str]:
    """Yield nothing: the format has no footer."""
    yield from ()


def dump(value: Any) -> str:
    """Return JSON that every reader accepts: no NaN, no lone surrogates, no bytes.

    Control characters are escaped, so that it is safe on a terminal as well.
    """
    try:
        text = _dump(value)
    except ValueError:
        text = _dump(_finite(value))
    except RecursionError:
        text = _dump(_shallow(value))
    return escape_json(storable(text))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_text)


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _finite(value: Any) -> Any:
    """Replace numbers that JSON cannot represent with null."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _shallow(value: Any) -> Any:
    """Replace values that are nested too deeply for Python to write."""
    if not isinstance(value, Mapping):
        return TOO_DEEP
    return {
        key: TOO_DEEP if isinstance(each, list | dict) else _finite(each)
        for key, each in value.items()
    }
