"""Turns whatever a column holds into a value that a record can have.

SQLite stores any type in any column, and other programs and damaged disks make use of it. Every
record is built through these functions, so that each row is shown as well as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeVar

from hermes_store.records.safe_text import storable

LARGEST = 2**63 - 1
"""The largest number that SQLite stores as an integer; larger ones are not counts of anything."""
EARLIEST, LATEST = -62_135_596_800.0 + 86_400, 32_503_680_000.0
"""The years 1 and 3000; damaged databases contain times that no calendar can express."""

_UNITS, _OLD = (1e3, 1e6, 1e9), 631_152_000.0
"""Smaller units than a second; none gives a time before 1990 where another gives a later one."""
MAX_DEPTH = 100
TOO_DEEP = "[nested too deeply to be shown]"

Fallback = TypeVar("Fallback")


def text_or(value: Any, fallback: Fallback) -> str | Fallback:
    """Return a stored text; bytes are read as UTF-8, numbers as digits, NULL is the fallback."""
    if type(value) is str:
        return value
    if value is None:
        return fallback
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return storable(str(value))


def text(value: Any) -> str:
    """Return a stored text, "" for NULL."""
    return value if type(value) is str else text_or(value, "")


def optional_text(value: Any) -> str | None:
    """Return a stored text, None for NULL."""
    return value if value is None or type(value) is str else text_or(value, None)


def number(value: Any) -> float | None:
    """Return a stored number, also from its digits; None for anything else."""
    if isinstance(value, int | float):
        return value if isfinite(value) else None
    if value is None:
        return None
    try:
        found = float(text(value).strip())
    except ValueError:
        return None
    return found if isfinite(found) else None


def count(value: Any) -> int:
    """Return a stored count; 0 for what is none."""
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return value
    found = number(value)
    return 0 if found is None else max(-LARGEST, min(int(found), LARGEST))


def optional_count(value: Any) -> int | None:
    """Return a stored count, None for NULL."""
    return None if value is None else count(value)


def amount(value: Any) -> float:
    """Return a stored amount, such as a cost; 0 for what is none."""
    found = number(value)
    return 0.0 if found is None else max(-1e15, min(float(found), 1e15))


def optional_amount(value: Any) -> float | None:
    """Return a stored amount, None for NULL."""
    return None if value is None else amount(value)


def moment(value: Any) -> float:
    """Return a stored time as seconds since 1970; 0 for what is none.

    Some programs count milliseconds, microseconds or nanoseconds. What no calendar can express
    becomes the nearest time that one can.
    """
    if type(value) is float and EARLIEST <= value <= LATEST:
        return value
    found = number(value)
    if found is None:
        return 0.0
    if found > LATEST:
        found = next((found / unit for unit in _UNITS if _OLD < found / unit <= LATEST), LATEST)
    return max(EARLIEST, float(found))


def is_moment(value: Any) -> bool:
    """Return whether a stored value is a time that a calendar can express."""
    found = number(value)
    return found is not None and EARLIEST <= found <= LATEST


def sorts_by_time(value: Any) -> bool:
    """Return whether SQL sorts a stored time where it belongs.

    It sorts text, bytes and smaller units than seconds as later than every time in seconds.
    """
    return value is None or (isinstance(value, int | float) and value <= LATEST)


def optional_moment(value: Any) -> float | None:
    """Return a stored time, None for NULL."""
    return None if value is None else moment(value)


def flag(value: Any) -> bool:
    """Return whether a stored flag is set; a text that is no number does not set it."""
    return bool(number(value))


def for_json(value: Any, depth: int = 0) -> Any:
    """Return a value that JSON can represent: bytes become text, infinite numbers null."""
    if depth > MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {text(key): for_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(each, depth + 1) for each in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return text(value)
