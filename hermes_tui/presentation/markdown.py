"""Markdown as lines of segments. A slow import, loaded with the first text shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from hermes_store.records.safe_text import clean
from hermes_tui.presentation import diffs
from hermes_tui.presentation.code_colours import Run, coloured
from hermes_tui.presentation.fit_text import fit
from hermes_tui.presentation.wrap_text import pieces

Line = list[Segment]

NARROWEST, LONGEST_WORD = 4, 20
"""Columns that a column of a table needs at least, and at most for the sake of a word."""
BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


@dataclass(frozen=True, slots=True)
class Styles:
    """How the parts of a text look."""

    named: Callable[[str], Style]
    dark: bool
    ansi: bool
    """Whether only the terminal's own colours are used, so that no background shows."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code on a page."""

    first: int
    count: int
    language: str
    text: str


@dataclass(slots=True)
class Page:
    """Lines, and the blocks of code among them."""

    lines: list[Line] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def add(self, other: Page, first_lead: Line | None = None, lead: Line | None = None) -> None:
        """Add another page below, with something in front of its first and its other lines."""
        start = len(self.lines)
        for number, line in enumerate(other.lines):
            before = first_lead if number == 0 and first_lead is not None else lead
            self.lines.append([*(before or []), *line])
        for block in other.blocks:
            self.blocks.append(Block(start + block.first, block.count, block.language, block.text))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").enable("strikethrough")


def prepare() -> None:
    """Load what is slow to load, so that the first text does not wait for it."""
    import rich.syntax  # noqa: F401

    _parser()


def lay_out(text: str, width: int, styles: Styles) -> Page:
    """Return Markdown laid out for a width."""
    tree = Node(_parser().parse(text))
    return _below(tree.children, max(1, width), styles, tight=False)


def _below(nodes: Iterable[Node], width: int, styles: Styles, *, tight: bool) -> Page:
    """Return blocks below each other, one blank line between them."""
    page = Page()
    for node in nodes:
        block = _block(node, width, styles)
        if not block.lines:
            continue
        if page.lines and not tight:
            page.lines.append([])
        page.add(block)
    return page


def _block(node: Node, width: int, styles: Styles) -> Page:
    match node.type:
        case "paragraph":
            return Page(_inline(node.children, width, styles, Style.null()))
        case "heading":
            return Page(_inline(node.children, width, styles, styles.named("heading")))
        case "fence" | "code_block":
            return _code(node.content, node.info if node.type == "fence" else "", width, styles)
        case "bullet_list" | "ordered_list":
            return _list(node, width, styles)
        case "blockquote":
            page = Page()
            bar = [Segment("▎ ", styles.named("dim"))]
            inner = _below(node.children, max(1, width - 2), styles, tight=False)
            page.add(inner, bar, bar)
            return page
        case "table":
            return Page(_table(node, width, styles))
        case "hr":
            return Page([[Segment("─" * min(width, 40), styles.named("dim"))]])
        case _:
            text = node.content.strip("\n")
            return Page(_wrapped([(text, Style.null())], width) if text else [])


# -- lists -------------------------------------------------------------------------------------


def _list(node: Node, width: int, styles: Styles) -> Page:
    page = Page()
    tight = all(
        child.type != "paragraph" or child.hidden
        for item in node.children
        for child in item.children
    )
    start = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    last = f"{start + len(node.children) - 1}. "
    for number, item in enumerate(node.children, start):
        marker = f"{number}. ".rjust(len(last)) if node.type == "ordered_list" else "• "
        box = _take_box(item) if node.type == "bullet_list" else None
        marker = box or marker
        lead = [Segment(marker, styles.named("mark"))]
        inner = _below(item.children, max(1, width - len(marker)), styles, tight=tight)
        if page.lines and not tight:
            page.lines.append([])
        inner.lines = inner.lines or [[]]
        page.add(inner, lead, [Segment(" " * len(marker))])
    return page


def _take_box(item: Node) -> str | None:
    """Return the box of a task, and take it from its text."""
    paragraph = next(iter(item.children), None)
    if paragraph is None or paragraph.type != "paragraph" or not paragraph.children:
        return None
    texts = paragraph.children[0].children
    if not texts or texts[0].type != "text" or texts[0].token is None:
        return None
    box = BOXES.get(texts[0].content[:4])
    if box is not None:
        texts[0].token.content = texts[0].content[4:]
    return box


# -- text --------------------------------------------------------------------------------------


def _inline(nodes: Iterable[Node], width: int, styles: Styles, style: Style) -> list[Line]:
    runs: list[Run] = []
    for node in nodes:
        runs += _runs(node.children if node.type == "inline" else [node], styles, style)
    return _wrapped(runs, width)


def _runs(nodes: Iterable[Node], styles: Styles, style: Style) -> Iterator[Run]:
    for node in nodes:
        match node.type:
            case "strong":
                yield from _runs(node.children, styles, style + Style(bold=True))
            case "em":
                yield from _runs(node.children, styles, style + Style(italic=True))
            case "s":
                yield from _runs(node.children, styles, style + Style(strike=True))
            case "code_inline":
                yield node.content, style + styles.named("inline-code")
            case "link":
                yield from _link(node, styles, style)
            case "image":
                yield f"[image: {node.content or node.attrs.get('src', '')}]", style
            case "softbreak" | "hardbreak":
                yield "\n", style
            case _:
                yield node.content, style


def _link(node: Node, styles: Styles, style: Style) -> Iterator[Run]:
    """Yield the text of a link, and where it leads unless that is what it says."""
    shown = list(_runs(node.children, styles, style + Style(underline=True)))
    yield from shown
    target = str(node.attrs.get("href", ""))
    said = "".join(text for text, _ in shown)
    if target.removeprefix("mailto:") != said and target:
        yield f" ({target})", styles.named("dim")


def _wrapped(runs: Iterable[Run], width: int) -> list[Line]:
    """Return runs of text as lines, broken between words."""
    lines: list[list[Run]] = [[]]
    for text, style in runs:
        # Entities such as &#27; become control characters only now.
        first, *more = clean(text).expandtabs(4).split("\n")
        lines[-1].append((first, style))
        lines += [[(each, style)] for each in more]
    return [piece for line in lines for piece in _broken(line, width)]


def _broken(line: Sequence[Run], width: int) -> Iterator[Line]:
    text = "".join(each for each, _ in line)
    for start, end in pieces(text, width):
        yield list(_cut(line, start, end))


def _cut(line: Sequence[Run], start: int, end: int) -> Iterator[Segment]:
    place = 0
    for text, style in line:
        piece = text[max(0, start - place) : max(0, end - place)]
        if piece:
            yield Segment(piece, style)
        place += len(text)


# -- code --------------------------------------------------------------------------------------


def _code(content: str, info: str, width: int, styles: Styles) -> Page:
    """Return a block of code on a tinted background, with its language at its right edge."""
    language = clean("".join(info.split(maxsplit=1)[:1]))
    code = clean(content).rstrip("\n").expandtabs(4)
    if not language and diffs.is_diff(code):
        language = "diff"
    room = max(1, width - 2)
    tint = styles.named("code")
    lines = [
        piece
        for line in coloured(code, language, styles.named, dark=styles.dark)
        for piece in _broken(line, room)
    ] or [[]]
    lines = _with_language(lines, language, room, styles)
    page = Page([_tinted(line, room, tint, styles) for line in lines])
    page.blocks.append(Block(0, len(lines), language, code))
    return page


def _with_language(lines: list[Line], language: str, room: int, styles: Styles) -> list[Line]:
    name = fit(language, min(room, 16), pad=False)
    if not name:
        return lines
    used = sum(cell_len(each.text) for each in lines[0])
    label = Segment(name, styles.named("code-name"))
    if used + cell_len(name) + 2 <= room:
        gap = Segment(" " * (room - used - cell_len(name)))
        return [[*lines[0], gap, label], *lines[1:]]
    return [[Segment(" " * (room - cell_len(name))), label], *lines]


def _tinted(line: Line, room: int, tint: Style, styles: Styles) -> Line:
    used = sum(cell_len(each.text) for each in line)
    shown = [Segment(each.text, tint + (each.style or Style.null())) for each in line]
    if styles.ansi:
        return [Segment("│ ", styles.named("dim")), *shown]
    return [Segment(" ", tint), *shown, Segment(" " * (room - used + 1), tint)]


# -- tables ------------------------------------------------------------------------------------


def _table(node: Node, width: int, styles: Styles) -> list[Line]:
    rows = [row for part in node.children for row in part.children]
    cells = [
        [list(_runs(cell.children[0].children if cell.children else [], styles, _cell_style(cell)))
         for cell in row.children]
        for row in rows
    ]  # fmt: skip
    columns = max((len(row) for row in cells), default=0)
    if not columns:
        return []
    widths = _widths(cells, columns, width - 3 * (columns - 1))
    if widths is None:
        return _as_list(cells, width)
    lines: list[Line] = []
    right = [_is_right(cell) for cell in rows[0].children]
    for number, row in enumerate(cells):
        lines += _row(row, widths, right, styles)
        if number == 0:
            rule = "─┼─".join("─" * each for each in widths)
            lines.append([Segment(rule, styles.named("dim"))])
    return lines


def _is_right(cell: Node) -> bool:
    return "right" in str(cell.attrs.get("style", ""))


def _cell_style(cell: Node) -> Style:
    return Style(bold=True) if cell.type == "th" else Style.null()


def _widths(cells: list[list[list[Run]]], columns: int, room: int) -> list[int] | None:
    """Return the widths of the columns; None if words would have to be broken."""
    widths, words = [1] * columns, [1] * columns
    for row in cells:
        for place, cell in enumerate(row):
            text = clean("".join(text for text, _ in cell))
            widths[place] = max(widths[place], cell_len(text))
            words[place] = max(words[place], _least(text))
    over = sum(widths) - room
    if sum(words) > room:
        return None
    while over > 0:
        widest = max(
            range(columns), key=lambda place: (widths[place] > words[place], widths[place])
        )
        second = max((each for each in widths if each < widths[widest]), default=1)
        step = max(1, min(over, widths[widest] - max(second, words[widest])))
        widths[widest] -= step
        over -= step
    return widths


def _least(text: str) -> int:
    """Return the columns that a text needs to be wrapped between words."""
    words = [cell_len(word) for word in text.split() if word.isascii()]  # others break anywhere
    return min(LONGEST_WORD, max(words, default=min(NARROWEST, cell_len(text))))


def _row(
    row: list[list[Run]], widths: Sequence[int], right: Sequence[bool], styles: Styles
) -> list[Line]:
    columns = [_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=False)]
    columns += [[] for _ in range(len(widths) - len(columns))]
    lines: list[Line] = []
    for number in range(max(len(each) for each in columns)):
        line: Line = []
        for place, (column, wide) in enumerate(zip(columns, widths, strict=True)):
            if place:
                line.append(Segment(" │ ", styles.named("dim")))
            cell = column[number] if number < len(column) else []
            used = sum(cell_len(each.text) for each in cell)
            gap = Segment(" " * (wide - used))
            line += [gap, *cell] if right[place] else [*cell, gap]
        lines.append(line)
    return lines


def _as_list(cells: list[list[list[Run]]], width: int) -> list[Line]:
    """Return a table with more columns than there is room for, one cell below the other."""
    names = ["".join(text for text, _ in cell) for cell in cells[0]]
    lines: list[Line] = []
    for row in cells[1:]:
        lines += [[]] if lines else []
        for name, cell in zip(names, row, strict=False):
            lines += _wrapped([(f"{name}: ", Style(bold=True)), *cell], width)
    return lines
