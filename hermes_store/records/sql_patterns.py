"""Pieces of SQL: patterns for LIKE, and numbers from columns that may hold anything."""

from __future__ import annotations

import re

_FINITE = "BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"


def like(text: str) -> str:
    """Return a LIKE pattern (with ESCAPE '\\') for text that contains `text`."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"


def number_in(value: str) -> str:
    """Return the SQL for a stored number, also from its digits; 0 for anything else.

    SQL itself would take '12 apples' for 12.
    """
    text = f"CAST({value} AS TEXT)"
    number = f"CAST({text} AS NUMERIC)"
    return (
        f"CASE WHEN {value} {_FINITE} THEN {value} "
        f"WHEN {number} = {text} AND {number} {_FINITE} THEN {number} ELSE 0 END"
    )
