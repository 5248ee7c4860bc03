"""Statements about what a caller has at hand, without any file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw


def in_memory(sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a query on nothing but its values, such as a list in JSON."""
    return apsw.Connection(":memory:").execute(sql, tuple(values)).fetchall()
