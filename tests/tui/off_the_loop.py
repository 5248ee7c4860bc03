"""Notices every SQL statement that a screen runs on the event loop.

SQLite itself reports the statements, of every connection that is opened, whichever part opens it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

import hermes_tui

SCREENS = str(Path(hermes_tui.__file__).parent)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Refuse statements of screens on the event loop; yield those that there were."""
    refused: list[str] = []

    def before_statement(_: apsw.Cursor, sql: str, __: Any) -> bool:
        if asyncio._get_running_loop() is not None and _is_asked_by_a_screen():
            refused.append(sql)
            return False
        return True

    def on_connection(con: apsw.Connection) -> None:
        con.exec_trace = before_statement

    apsw.connection_hooks.append(on_connection)
    try:
        yield refused
    finally:
        apsw.connection_hooks.remove(on_connection)


def _is_asked_by_a_screen() -> bool:
    """Tell screens from the scripts of tests, which run in an event loop too."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith(SCREENS):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
