"""The top line of the browser: database, number of conversations, number hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from textual.content import Content

from hermes_store.records.listing import Hidden
from hermes_store.records.safe_text import clean
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.fit_text import plain, short_path

WIDE, WIDEST = 72, 100
"""Columns needed to show the path, and every reason for hiding."""


@dataclass(frozen=True, slots=True)
class Header:
    """The content of the header."""

    database: Path
    conversations: int
    complete: bool
    """Whether all conversations have been counted."""
    selected: int = 0
    hidden: Mapping[Hidden, int] = field(default_factory=dict)
    search: str | None = None
    """The number of results; None without a search."""
    demo: bool = False
    read_only: bool = False
    here: str | None = None
    """The only workspace shown."""
    scope_key: str = ""
    """The key that shows all workspaces."""


def content(header: Header, width: int) -> Content:
    """Return the header for a width."""
    number = f"{header.conversations:,}" + ("" if header.complete else "+")
    noun = "conversation" if number == "1" else "conversations"
    wide = width >= WIDE
    parts: list[tuple[str, str] | str] = []
    if wide or header.search is None:
        parts.append((" Hermes sessions " if wide else " Hermes ", "$primary bold"))
    if header.demo:
        parts.append((" demo ", "$warning bold"))
    elif wide and (header.here is None or width >= WIDEST):
        parts.append((f" {clean(short_path(header.database))} ", "$foreground-muted"))
    found = header.search if not wide else None
    parts.append(f" {found}" if found is not None else f"  {number} {noun}")
    if header.here is not None:
        parts.append((f" in {plain(short_name(header.here))}", "$accent bold"))
        if header.scope_key and wide:
            parts.append((f" ({header.scope_key}: all)", "$foreground-muted"))
    if header.selected:
        parts.append((f"  {header.selected:,} selected", "$accent bold"))
    if header.hidden:
        counts = " · ".join(f"{n:,} {kind.value}" for kind, n in header.hidden.items())
        total = sum(header.hidden.values())
        long = f"   +{total:,} hidden: {counts}"
        shown = long if width >= WIDEST else f"  +{total:,} hidden"
        parts.append((shown, "$foreground-muted"))
    if header.read_only:
        parts.append(("   read-only", "$warning"))
    return Content.assemble(*parts)
