"""Code as lines of runs, coloured by its syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.style import Style

if TYPE_CHECKING:
    from rich.syntax import Syntax
    from rich.text import Span

Run = tuple[str, Style]
"""A stretch of text in one style."""

HIGHLIGHTED = 20_000
"""Characters of code that are coloured; more would take too long."""


def coloured(
    code: str, language: str, named: Callable[[str], Style], *, dark: bool
) -> Iterator[list[Run]]:
    """Yield the lines of some code; a diff is coloured by its signs."""
    if language.lower() in ("diff", "patch"):
        for line in code.split("\n"):
            kind = {"+": "added", "-": "removed", "@": "note"}.get(line[:1])
            yield [(line, _text_only(named(kind)) if kind else Style.null())]
    elif not language or len(code) > HIGHLIGHTED:
        yield from ([(line, Style.null())] for line in code.split("\n"))
    else:
        found = _syntax(language, dark).highlight(code).split("\n", allow_blank=True)
        # The highlighter may end with a line of its own.
        for text in found[: code.count("\n") + 1]:
            yield _runs(text.plain, text.spans)


def _text_only(style: Style) -> Style:
    """Return a style without its background, to go on a tinted one."""
    return Style(color=style.color, bold=style.bold, italic=style.italic)


@lru_cache(64)
def _syntax(language: str, dark: bool) -> Syntax:
    from rich.syntax import Syntax

    return Syntax("", language, theme="ansi_dark" if dark else "ansi_light")


def _runs(line: str, spans: Sequence[Span]) -> list[Run]:
    edges = {edge for span in spans for edge in (span.start, span.end)}
    ends = sorted({0, len(line), *(edge for edge in edges if 0 <= edge <= len(line))})
    return [(line[start:end], _style_at(spans, start)) for start, end in pairwise(ends)]


def _style_at(spans: Sequence[Span], place: int) -> Style:
    style = Style.null()
    for span in spans:
        if span.start <= place < span.end and isinstance(span.style, Style):
            style += span.style
    return style
