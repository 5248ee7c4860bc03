"""The top line of the browser: conversations, the last thirty days, what is hidden, where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from textual.content import Content
from textual.style import Style

from hermes_store.records.listing import Hidden
from hermes_store.records.safe_text import clean
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.charts import sparkline
from hermes_tui.presentation.fit_text import plain, short_path

WIDE, WIDEST = 72, 110
"""Columns needed to name the program, and to show the last thirty days."""
Part = tuple[str, str] | Content | str


@dataclass(frozen=True, slots=True)
class Header:
    """The content of the header."""

    database: Path | str
    conversations: int
    complete: bool
    """Whether all conversations have been counted."""
    selected: int = 0
    hidden: Mapping[Hidden, int] = field(default_factory=dict)
    days: tuple[int, ...] = ()
    """Sessions started on each of the last thirty days."""
    search: str | None = None
    """The number of results; None without a search."""
    demo: bool = False
    read_only: bool = False
    here: str | None = None
    """The only workspace shown."""
    scope_key: str = ""
    """The key that shows all workspaces."""
    hidden_key: str = ""
    """The key that shows what is hidden."""


def content(header: Header, width: int) -> Content:
    """Return the header for a width; a click on what is hidden shows it."""
    wide = width >= WIDE
    left: list[Part] = []
    if wide or header.search is None:
        left.append((" Hermes ", "$primary bold"))
    if header.search is not None and not wide:
        left.append(f" {header.search}")
    elif header.complete or header.conversations:
        number = f"{header.conversations:,}" + ("" if header.complete else "+")
        noun = "conversation" if number == "1" else "conversations"
        left.append(f" {number} {noun}")
    if header.here is not None:
        left.append((f" in {plain(short_name(header.here))}", "$accent bold"))
        if header.scope_key and wide:
            left.append((f" ({header.scope_key}: all)", "$foreground-muted"))
    if header.selected:
        left.append((f"  {header.selected:,} selected", "$accent bold"))
    if any(header.days) and width >= WIDEST:
        left += ["   ", (sparkline(header.days), "$primary"), (" 30 days", "$foreground-muted")]
    if header.hidden:
        total = f"+{sum(header.hidden.values()):,} hidden"
        key = f" ({header.hidden_key})" if header.hidden_key and wide else ""
        click = Style.from_meta({"@click": "screen.hidden_kinds"})
        said = Content.styled(total + key, "$foreground-muted").stylize(click)
        left += ["   " if wide else "  ", said]
    right: list[Part] = []
    if header.read_only:
        right.append(("read-only ", "$warning bold"))
    if header.demo:
        right.append(("demo ", "$warning bold"))
    elif wide:
        right.append((f"{clean(short_path(header.database))} ", "$foreground-muted"))
    return _apart(Content.assemble(*left), Content.assemble(*right), width)


def _apart(left: Content, right: Content, width: int) -> Content:
    """Return two texts at both ends of a line; the right one only if there is room."""
    gap = width - left.cell_length - right.cell_length
    return Content.assemble(left, " " * gap, right) if gap > 1 else left
