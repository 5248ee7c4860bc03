"""A transcript message as lines: Markdown for answers, one line for tools and thoughts.

Only the beginning of a message (or the part around a match) is laid out until it is opened, and
even then at most `OPEN_LIMIT` characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_store.records import tool_calls
from hermes_store.records.message import SUMMARY_MARK, Message
from hermes_store.records.safe_text import clean, local_day
from hermes_store.records.transcript import Segment as Session
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.times import UNKNOWN, is_known

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

SHOWN_LIMIT = 6_000
"""Characters laid out before a message is opened."""
OPEN_LIMIT = 200_000
SHOWN_LINES = 120
OPEN_LINES = 20_000
LEAD = 1_000
"""Characters shown before a match deep in a long message."""
INDENT = 2


@dataclass(frozen=True, slots=True)
class Look:
    """How to lay a message out."""

    width: int
    opened: bool
    dark: bool
    style: Callable[[str], Style]
    spans: Spans | None = None


def lay_out(
    message: Message, look: Look, before: Session | None = None, divider: str | None = None
) -> list[Strip]:
    """Return the lines of a message.

    `before` is the segment that begins with it, `divider` what to say above it.
    """
    lines: list[Strip] = []
    if before is not None:
        lines += [Strip([]), _seam(before, look)]
    if divider is not None:
        lines.append(Strip([]))
        lines += [_strip([(each, "note")], look) for each in _ruled(divider, look.width - 1)]
    if message.role == "tool":
        lines += _tool_output(message, look)
    elif message.role == "user" and message.text.startswith(SUMMARY_MARK):
        lines += [Strip([]), _name("◈ Summary", "note", message, look)]
        lines += _markdown(message.text.removeprefix(SUMMARY_MARK).strip(), look)
    elif message.role == "user":
        lines += [Strip([]), _name("● You", "you", message, look), *_text(message.text, look)]
    elif message.role == "assistant":
        lines += _answer(message, look)
    else:
        name = f"▣ {plain(message.role).capitalize()}"
        lines += _folded(name, message.text, "note", look)
    return lines


# -- kinds of messages -------------------------------------------------------------------------


def _name(name: str, style: str, message: Message, look: Look) -> Strip:
    moment = message.timestamp
    when = f"{local_day(moment):%d %b %H:%M}" if is_known(moment) else UNKNOWN
    gap = max(1, look.width - cell_len(name) - len(when) - 1)
    return _strip([(name, style), (" " * gap, ""), (when, "dim")], look)


def _seam(segment: Session, look: Look) -> Strip:
    name = plain(segment.title or segment.session_id)
    moment = segment.started_at
    when = f"{local_day(moment):%d %b %Y}" if is_known(moment) else UNKNOWN
    return _strip([(fit(f"── {name} · continued after compression · {when} ", look.width - 1),
                    "note")], look)  # fmt: skip


def _ruled(text: str, width: int) -> Iterator[str]:
    """Yield a dashed line with a text in it, or more of them where the text is wider."""
    for line in _wrapped(text, max(1, width - 3)):
        said = f"┄┄ {line.rstrip()} "
        yield said + "┄" * max(0, width - cell_len(said))


def _answer(message: Message, look: Look) -> list[Strip]:
    text = message.text.strip()
    lines: list[Strip] = []
    if text:
        lines += [Strip([]), _name("◆ Hermes", "hermes", message, look)]
        lines += _markdown(text, look)
    if message.reasoning:
        thought = clean(str(message.reasoning))
        lines += _folded(f"◇ Thought, {len(thought):,} characters", thought, "thought", look)
    if message.tool_calls:
        lines += _calls(message.tool_calls, look)
    return lines


def _calls(stored: Any, look: Look) -> list[Strip]:
    lines: list[Strip] = []
    for call in tool_calls.parse(stored):
        name, arguments = plain(call.name or "tool"), clean(call.arguments)
        short = plain(arguments)
        sign = "▾" if look.opened else "▸"
        lines.append(_one_line(f"{sign} {name}", "tool", "" if look.opened else short, look))
        if look.opened and arguments.strip() not in ("", "{}"):
            lines += _plain(_pretty(arguments), look, "dim", 4)
    return lines


def _pretty(arguments: str) -> str:
    try:
        return clean(json.dumps(json.loads(arguments), indent=2, ensure_ascii=False))
    except (ValueError, RecursionError):
        return arguments


def _tool_output(message: Message, look: Look) -> list[Strip]:
    text = message.text
    count = text.count("\n") + 1 if text else 0
    name = f"└ {plain(message.tool_name or 'output')}"
    size = f"{count:,} lines  " if count > 1 else ""
    if not look.opened:
        shown = text[:SHOWN_LIMIT]
        if look.spans is not None and (found := look.spans.spans(text[:OPEN_LIMIT])):
            shown = text[max(0, found[0][0] - 20) : found[0][0] + 400]
        return [_one_line(name, "tool", size + plain(shown), look)]
    return [_one_line(name, "tool", size, look), *_plain(text, look, "dim", 4)]


def _folded(name: str, text: str, style: str, look: Look) -> list[Strip]:
    sign = "▾" if look.opened else "▸"
    if not look.opened:
        return [_one_line(f"{sign} {name}", style, plain(text[:SHOWN_LIMIT]), look)]
    return [_one_line(f"{sign} {name}", style, "", look), *_plain(text, look, style, 4)]


# -- texts -------------------------------------------------------------------------------------


def _window(text: str, look: Look) -> tuple[str, int, int]:
    """Return the part of a text to lay out, and the number of characters before and after it."""
    limit = OPEN_LIMIT if look.opened else SHOWN_LIMIT
    if len(text) <= limit:
        return text, 0, 0
    start = 0
    if look.spans is not None:
        found = look.spans.spans(text)
        if found and found[0][0] > limit - LEAD:
            start = found[0][0] - LEAD
    return text[start : start + limit], start, max(0, len(text) - start - limit)


def _text(text: str, look: Look) -> list[Strip]:
    return _plain(text.strip("\n"), look, "", INDENT)


def _plain(text: str, look: Look, style: str, indent: int) -> list[Strip]:
    shown, before, after = _window(text, look)
    room = max(1, look.width - indent - 1)
    limit = OPEN_LINES if look.opened else SHOWN_LINES
    wrapped = list(_wrapped(clean(shown), room))
    left_out = len(wrapped) - limit
    lines = [_strip([(" " * indent, ""), (line, style)], look) for line in wrapped[:limit]]
    return _with_notes(lines, before, after, max(0, left_out), look)


def _with_notes(
    lines: list[Strip], before: int, after: int, lines_left: int, look: Look
) -> list[Strip]:
    how = "" if look.opened else " · Enter opens"
    if before:
        lines.insert(0, _strip([(f"  … {before:,} earlier characters", "note")], look))
    if lines_left:
        lines.append(_strip([(f"  … {lines_left:,} more lines{how}", "note")], look))
    elif after:
        lines.append(_strip([(f"  … {after:,} more characters{how}", "note")], look))
    return lines


def _ahead(line: str, place: int, room: int) -> str:
    """Return enough of a line to fill a screen line, or what is left of it.

    A line may have millions of characters, and some characters take no column.
    """
    signs = room + 1
    while place + signs < len(line) and cell_len(line[place : place + signs]) <= room:
        signs *= 2
    return line[place : place + signs]


def _wrapped(text: str, room: int) -> Iterable[str]:
    """Yield the lines of a text, wrapped between words where possible."""
    for line in text.expandtabs(4).split("\n"):
        place = 0
        while cell_len(ahead := _ahead(line, place, room)) > room:
            piece = chop_cells(ahead, room)[0] or line[place]
            space = piece.rfind(" ")
            if space > room // 2 and line[place + len(piece)] != " ":
                piece = piece[: space + 1]
            yield piece
            place += len(piece)
            if line[place : place + 1] == " " and not piece.endswith(" "):
                place += 1
        yield line[place:]


def _markdown(text: str, look: Look) -> list[Strip]:
    shown, before, after = _window(text, look)
    if len(shown) > 4 * SHOWN_LIMIT or before:
        return _plain(text, look, "", INDENT)
    from hermes_tui.presentation import markdown

    room = max(1, look.width - INDENT - 1)
    found = markdown.lines(clean(shown), room, dark=look.dark)
    limit = OPEN_LINES if look.opened else SHOWN_LINES
    margin = Segment(" " * INDENT)
    lines = [mark(Strip([margin, *line]), look) for line in found[:limit]]
    return _with_notes(lines, 0, after, max(0, len(found) - limit), look)


# -- lines -------------------------------------------------------------------------------------


def _one_line(name: str, style: str, rest: str, look: Look) -> Strip:
    lead = " " * INDENT
    room = look.width - INDENT - cell_len(name) - 3
    shown = fit(rest, room).rstrip() if room > 4 else ""
    return _strip([(lead, ""), (name, style), ("  ", ""), (shown, "dim")], look)


def _strip(pieces: Iterable[tuple[str, str]], look: Look) -> Strip:
    return mark(Strip([Segment(text, look.style(style)) for text, style in pieces if text]), look)


def mark(strip: Strip, look: Look) -> Strip:
    """Highlight the matches of a line."""
    if look.spans is None:
        return strip
    found = look.spans.spans(strip.text)
    if not found:
        return strip
    style = look.style("match")
    places = [strip.index_to_cell_position(place) for span in found for place in span]
    pieces: list[Segment] = []
    for number, piece in enumerate(strip.divide([*places, strip.cell_length])):
        for segment in piece:
            over = (segment.style or Style.null()) + style if number % 2 else segment.style
            pieces.append(Segment(segment.text, over))
    return Strip(pieces)
