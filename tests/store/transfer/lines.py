"""Makes the lines of a file to import, and reads the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_store.records.transfer import Imported, ImportReport, Outcome
from tests.support import LONG_AGO

Write = Callable[..., Path]
"""Writes objects as the lines of a file."""


def said(content: Any, at: float = LONG_AGO, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": at, **more}


def session(name: str, *spoken: dict[str, Any], **columns: Any) -> dict[str, Any]:
    row = {"id": name, "source": "cli", "started_at": LONG_AGO}
    return row | columns | {"messages": list(spoken)}


def outcomes(report: ImportReport) -> list[tuple[str | None, Outcome]]:
    return [(each.session_id, each.outcome) for each in report.sessions]


def only(report: ImportReport) -> Imported:
    (found,) = report.sessions
    return found
