"""Draws terminal screens as SVG: one as a still picture, many as a film that repeats.

Made for an `<img>`: no scripts, no fonts from elsewhere, one style sheet. Every run of text says
how long it is, so columns line up in any monospaced font. A row that appears in many frames is
stored once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from string import ascii_letters
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

CELL, LINE, FONT = 10, 20, 16.4
MARGIN, BAR = 14, 30
FAMILY = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
INK, PAPER = "#e8e3d5", "#14161a"
FRAME, DOTS, TITLE = "#24272e", ("#e0685f", "#e0b050", "#6fb86f"), "#c9c4b6"
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Row = Sequence[Segment]


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, how long it stays, and what stands above it."""

    rows: Sequence[Row]
    seconds: float = 0.0
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one style and one width of characters, with the column where it begins."""

    column: int
    cells: int
    text: str
    style: Style


def runs(row: Row) -> list[Run]:
    """Return a row as runs, wide characters apart: their width differs from font to font."""
    found: list[Run] = []
    column = 0
    for text, style, control in row:
        if control:
            continue
        plain = CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
        for width, part in groupby(_characters(plain), key=cell_len):
            joined = "".join(part)
            cells = cell_len(joined)
            last = found[-1] if found else None
            if last is not None and width == 1 and _alike(last, style):
                found[-1] = Run(last.column, last.cells + cells, last.text + joined, last.style)
            else:
                found.append(Run(column, cells, joined, style or Style.null()))
            column += cells
    return found


def _characters(text: str) -> Iterable[str]:
    """Yield characters together with the marks that belong to them."""
    held = ""
    for each in text:
        if held and cell_len(each):
            yield held
            held = ""
        held += each
    if held:
        yield held


def _alike(run: Run, style: Style | None) -> bool:
    narrow = run.cells == len(run.text)
    return narrow and _look(run.style) == _look(style or Style.null())


def _look(style: Style) -> tuple[str, str, bool, bool, bool, bool]:
    """Return colour, background, bold, italic, underline and strike of a style."""
    ink = style.color.get_truecolor().hex if style.color and not style.color.is_default else INK
    paper = (
        style.bgcolor.get_truecolor().hex
        if style.bgcolor and not style.bgcolor.is_default
        else PAPER
    )
    if style.reverse:
        ink, paper = paper, ink
    bold, italic = bool(style.bold), bool(style.italic)
    return ink, paper, bold, italic, bool(style.underline), bool(style.strike)


@dataclass
class Sheet:
    """The style sheet and the rows that are stored so far."""

    paper: str
    rules: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    def _named(self, rule: str) -> str:
        if rule not in self.rules:
            self.rules[rule] = _name(len(self.rules))
        return self.rules[rule]

    def row(self, row: Row) -> str:
        """Store a row and return its id; empty for one that shows nothing."""
        drawn = "".join(self._run(each) for each in runs(row))
        if drawn and drawn not in self.rows:
            self.rows[drawn] = f"_{len(self.rows)}"
        return self.rows.get(drawn, "")

    def _run(self, run: Run) -> str:
        ink, paper, bold, italic, underline, strike = _look(run.style)
        drawn = ""
        if paper != self.paper:
            name = self._named(f"fill:{paper}")
            drawn = f'<path class="{name}" d="M{run.column * CELL} 0h{run.cells * CELL}v{LINE}'
            drawn += f'h-{run.cells * CELL}z"/>'
        text = run.text.lstrip(" ")
        before = len(run.text) - len(text)
        text = text.rstrip(" ")
        if not text:
            return drawn
        lines = [name for name, on in (("underline", underline), ("line-through", strike)) if on]
        rule = f"fill:{ink}" + ";font-weight:700" * bold + ";font-style:italic" * italic
        rule += f";text-decoration:{' '.join(lines)}" * bool(lines)
        name = self._named(rule)
        # Lines and blocks must touch each other; letters may stand apart.
        tight = ' lengthAdjust="spacingAndGlyphs"' * bool(re.fullmatch(r"[─-▟]+", text))
        return (
            f'{drawn}<text class="{name}" x="{(run.column + before) * CELL}" y="15" '
            f'textLength="{cell_len(text) * CELL}"{tight}>{escape(text)}</text>'
        )


def _name(number: int) -> str:
    letters = ""
    while True:
        number, letter = divmod(number, len(ascii_letters))
        letters = ascii_letters[letter] + letters
        if not number:
            return letters
        number -= 1


def still(rows: Sequence[Row], columns: int, title: str = "") -> str:
    """Return a picture of one screen."""
    return film([Frame(rows, 1.0, title)], columns)


def film(frames: Sequence[Frame], columns: int) -> str:
    """Return a picture that shows frames one after the other, from the beginning again."""
    width, height = columns * CELL, max(len(each.rows) for each in frames) * LINE
    whole = width + 2 * MARGIN
    sheet = Sheet(_paper(frames))
    strip = "".join(_frame(sheet, each, place * whole) for place, each in enumerate(frames))
    stored = "".join(f'<g id="{name}">{drawn}</g>' for drawn, name in sheet.rows.items())
    tall = height + BAR + MARGIN
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 20 * place}" cy="15" r="6" fill="{colour}"/>'
        for place, colour in enumerate(DOTS)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {tall}" width="{whole}" '
        f'height="{tall}" xml:space="preserve"><style>{_rules(sheet, frames, whole)}</style>'
        f"<defs>{stored}</defs>"
        f'<rect width="{whole}" height="{tall}" rx="10" fill="{FRAME}"/>{dots}'
        f'<rect x="{MARGIN}" y="{BAR}" width="{width}" height="{height}" '
        f'fill="{sheet.paper}"/>'
        f'<svg width="{whole}" height="{tall}"><g class="film">{strip}</g></svg></svg>\n'
    )


def _paper(frames: Sequence[Frame]) -> str:
    """Return the background that fills most of the first frame."""
    cells: dict[str, int] = {}
    for row in frames[0].rows:
        for run in runs(row):
            paper = _look(run.style)[1]
            cells[paper] = cells.get(paper, 0) + run.cells
    return max(cells, key=lambda paper: cells[paper]) if cells else PAPER


def _frame(sheet: Sheet, frame: Frame, left: int) -> str:
    uses = [
        f'<use href="#{name}" y="{place * LINE}"/>'
        for place, row in enumerate(frame.rows)
        if (name := sheet.row(row))
    ]
    caption = CONTROLS.sub(" ", frame.caption)
    above = f'<text class="title" x="50%" y="20">{escape(caption)}</text>' if caption else ""
    return (
        f'<svg x="{left}" class="frame">{above}'
        f'<g transform="translate({MARGIN} {BAR})">{"".join(uses)}</g></svg>'
    )


def _rules(sheet: Sheet, frames: Sequence[Frame], whole: int) -> str:
    rules = [
        f"text{{font:{FONT}px {FAMILY};white-space:pre}}",
        f".title{{font:14px system-ui,sans-serif;fill:{TITLE};text-anchor:middle}}",
        *(f".{name}{{{rule}}}" for rule, name in sheet.rules.items()),
    ]
    if len(frames) > 1:
        length = sum(each.seconds for each in frames)
        passed, steps = 0.0, []
        for place, each in enumerate(frames):
            steps.append(f"{passed / length:.3%}{{transform:translateX({-place * whole}px)}}")
            passed += each.seconds
        rules.append(f"@keyframes play{{{''.join(steps)}}}")
        rules.append(f".film{{animation:play {length:.2f}s step-end infinite}}")
        rules.append("@media(prefers-reduced-motion:reduce){.film{animation:none}}")
    return "".join(rules)
