"""Markdown as lines of segments. A slow import, loaded with the first answer shown."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from rich.console import Console
from rich.markdown import Heading, Markdown
from rich.segment import Segment
from rich.theme import Theme


class _PlainHeading(Heading):
    """A left-aligned heading, easier to find in a narrow pane."""

    def __rich_console__(self, console: Console, options: Any) -> Any:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements = Markdown.elements | {"heading_open": _PlainHeading}


@cache
def _console(dark: bool) -> Console:
    """Return a console that renders Markdown to segments and never prints."""
    gold, quiet = ("#DAA520", "#9A968C") if dark else ("#8A6100", "#6A665C")
    styles = {
        "markdown.code": gold,
        "markdown.block_quote": f"italic {quiet}",
        "markdown.item.bullet": gold,
        "markdown.item.number": gold,
        "markdown.hr": quiet,
        "markdown.link": "underline",
        "markdown.link_url": quiet,
        "markdown.table.border": quiet,
        "markdown.table.header": "bold",
    }
    styles |= {f"markdown.h{level}": f"bold {gold}" for level in range(1, 7)}
    return Console(
        file=io.StringIO(),
        theme=Theme(styles),
        force_terminal=True,
        color_system="truecolor",
        width=80,
        legacy_windows=False,
        _environ={},
    )


def lines(text: str, width: int, *, dark: bool) -> list[list[Segment]]:
    """Return cleaned Markdown laid out for a width. Links are shown as text only."""
    console = _console(dark)
    theme = "ansi_dark" if dark else "ansi_light"
    page = _Markdown(text, hyperlinks=False, code_theme=theme)
    found = console.render_lines(page, console.options.update(width=width), pad=False)
    return [[Segment(piece.text, piece.style) for piece in line] for line in found]
