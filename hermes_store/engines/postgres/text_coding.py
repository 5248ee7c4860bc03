"""Text that PostgreSQL can store, and back without loss.

PostgreSQL refuses NUL in text, but structured content begins with one. A noncharacter stands for
it, followed by a digit; the noncharacter itself, should a message ever contain it, is written the
same way.
"""

from __future__ import annotations

from typing import Any

from hermes_store.records.safe_text import storable

ESCAPE = "\ufdd0"
NUL = ESCAPE + "0"
_ITSELF = ESCAPE + "1"


def encoded(text: str) -> str:
    """Return text as it is stored."""
    safe = storable(text)
    if ESCAPE in safe:
        safe = safe.replace(ESCAPE, _ITSELF)
    return safe.replace("\0", NUL) if "\0" in safe else safe


def decoded(text: str) -> str:
    """Return stored text as it was."""
    if ESCAPE not in text:
        return text
    return text.replace(NUL, "\0").replace(_ITSELF, ESCAPE)


def bindable(value: Any) -> Any:
    """Return a value as it is bound to a statement; TypeError for what cannot be stored."""
    if isinstance(value, str):
        return encoded(value)
    if value is None or isinstance(value, int | float | bytes | list | memoryview):
        return value
    raise TypeError(f"{type(value).__name__} cannot be stored in a database.")
