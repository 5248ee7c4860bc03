"""A transcript message as lines: Markdown for what is said, one line for tools and thoughts.

Only the beginning of a message (or the part around a match) is laid out until it is opened, and
even then at most `OPEN_LIMIT` characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from hermes_store.records.message import Message, without_summary_mark
from hermes_store.records.safe_text import clean, local_day
from hermes_store.records.tool_calls import ToolCall
from hermes_store.records.transcript import Segment as Session
from hermes_tui.presentation import tool_lines
from hermes_tui.presentation.call_lines import add_call
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.laid_out import (
    INDENT,
    OPEN_LINES,
    SHOWN_LIMIT,
    SHOWN_LINES,
    Laid,
    Look,
    Mark,
    found_in,
    line_of,
    mark,
    one_line,
    plain_lines,
    window,
    with_notes,
)
from hermes_tui.presentation.times import UNKNOWN, is_known
from hermes_tui.presentation.tool_lines import Asked
from hermes_tui.presentation.wrap_text import wrapped

BRIEFLY = 400
"""Characters of a thought that is not worth counting."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a message stands in its conversation."""

    segment: Session | None = None
    """The segment that begins with it."""
    divider: str | None = None
    """What to say above it."""
    begins: bool = True
    """Whether a turn begins with it."""
    model: str | None = None
    before: float = 0.0
    """When the turn before began; 0 for the first."""
    seconds: float = 0.0
    """How long the turn took; 0 if that is not known."""
    call: ToolCall | None = None
    """The call that a tool's result answers."""
    unanswered: tuple[ToolCall, ...] = ()
    """The calls without a result that are shown with it."""
    after_text: bool = False
    """Whether prose stands directly above a tool's line."""


def lay_out(message: Message, look: Look, standing: Standing | None = None) -> Laid:
    """Return the lines of a message."""
    standing = standing or Standing()
    laid = Laid()
    if standing.segment is not None:
        laid.strips += [Strip([]), _seam(standing.segment, look)]
    if standing.divider is not None:
        laid.strips.append(Strip([]))
        ruled = _ruled(standing.divider, look.width - 1)
        laid.strips += [line_of([(each, "note")], look) for each in ruled]
    summary = without_summary_mark(message.text) if message.role != "tool" else None
    if summary is not None:
        laid.strips += [Strip([]), _name("◈ Summary", "note", message, standing, look)]
        _prose(summary, look, laid)
    elif message.role == "tool":
        _result(message, look, standing, laid)
    elif message.role == "user":
        laid.strips += [Strip([]), _name("● You", "you", message, standing, look)]
        _prose(message.text.strip("\n"), look, laid)
    elif message.role == "assistant":
        _answer(message, look, standing, laid)
    else:
        name = f"▣ {plain(message.role).capitalize()}"
        laid.strips += _folded(name, message.text, "note", look)
    room = max(1, look.width)
    laid.strips = [each if each.cell_length <= room else each.crop(0, room) for each in laid.strips]
    return laid


# -- kinds of messages -------------------------------------------------------------------------


def _name(name: str, style: str, message: Message, standing: Standing, look: Look) -> Strip:
    """Return the line above a turn: who speaks, with which model, when, and for how long."""
    when = _when(message.timestamp, standing)
    room = look.width - cell_len(name) - len(when) - 2
    model = f" · {_short_model(standing.model)}" if standing.model else ""
    if cell_len(model) > room:
        model = ""
    gap = " " * max(1, room + 1 - cell_len(model))
    return line_of([(name, style), (model, "dim"), (gap, ""), (when, "dim")], look)


def _short_model(model: str) -> str:
    return plain(model).rsplit("/", 1)[-1]


def _when(moment: float, standing: Standing) -> str:
    """Return the time of a turn, with the date where the day changes."""
    if not is_known(moment):
        return UNKNOWN
    when = local_day(moment)
    said = f"{when:%H:%M}"
    before = local_day(standing.before) if is_known(standing.before) else None
    if before is None or before.year != when.year:
        said = f"{when.day} {when:%b %Y} {said}"
    elif before.date() != when.date():
        said = f"{when.day} {when:%b} {said}"
    return f"{said} · {_took(standing.seconds)}" if standing.seconds >= 1 else said


def _took(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _seam(segment: Session, look: Look) -> Strip:
    name = plain(segment.title or segment.session_id)
    moment = segment.started_at
    when = f"{local_day(moment):%d %b %Y}" if is_known(moment) else UNKNOWN
    return line_of([(fit(f"── {name} · continued after compression · {when} ", look.width - 1),
                    "note")], look)  # fmt: skip


def _ruled(text: str, width: int) -> Iterator[str]:
    """Yield a dashed line with a text in it, or more of them where the text is wider."""
    for line in wrapped(text, max(1, width - 3)):
        said = f"┄┄ {line.rstrip()} "
        yield said + "┄" * max(0, width - cell_len(said))


def _answer(message: Message, look: Look, standing: Standing, laid: Laid) -> None:
    """Add what Hermes thought, said and asked for."""
    text = message.text.strip()
    if standing.begins:
        laid.strips += [Strip([]), _name("◆ Hermes", "hermes", message, standing, look)]
    bare = standing.begins
    if message.reasoning and message.reasoning.strip():
        lines = _thought(clean(message.reasoning).strip(), look)
        laid.marks.append(Mark("thought", len(laid.strips), len(lines), message.reasoning))
        laid.strips += lines
        bare = False
    if text:
        laid.strips += [] if bare else [Strip([])]
        _prose(text, look, laid)
    if standing.unanswered:
        laid.strips += [Strip([])] if text else []
        _unanswered(look, standing, laid)


def _unanswered(look: Look, standing: Standing, laid: Laid) -> None:
    for call in standing.unanswered:
        add_call(tool_lines.asked(call), tool_lines.NO_RESULT, look, laid)


def _thought(text: str, look: Look) -> list[Strip]:
    brief = len(text) < BRIEFLY
    name = "◇ thought briefly" if brief else f"◇ thought, {len(text):,} characters"
    if look.opened:
        return [one_line(name, "thought", "", look), *plain_lines(text, look, "thought", 4)]
    return [one_line(name, "thought", "", look), *found_in(text, look)]


def _result(message: Message, look: Look, standing: Standing, laid: Laid) -> None:
    """Add the line of a call and its result."""
    if standing.begins:
        laid.strips += [Strip([]), _name("◆ Hermes", "hermes", message, standing, look)]
    elif standing.after_text:
        laid.strips.append(Strip([]))
    call = Asked(plain(message.tool_name or "tool"), "")
    if standing.call is not None:
        call = tool_lines.asked(standing.call)
    add_call(call, tool_lines.outcome(message.text, call), look, laid)
    _unanswered(look, standing, laid)


def _folded(name: str, text: str, style: str, look: Look) -> list[Strip]:
    sign = "▾" if look.opened else "▸"
    if not look.opened:
        return [one_line(f"{sign} {name}", style, plain(text[:SHOWN_LIMIT]), look)]
    return [one_line(f"{sign} {name}", style, "", look), *plain_lines(text, look, style, 4)]


# -- texts -------------------------------------------------------------------------------------


def _prose(text: str, look: Look, laid: Laid) -> None:
    """Add a text in Markdown."""
    shown, before, after = window(text, look)
    if len(shown) > 4 * SHOWN_LIMIT or before:
        laid.strips += plain_lines(text, look, "", INDENT)
        return
    from hermes_tui.presentation import markdown

    room = max(1, look.width - INDENT - 1)
    page = markdown.lay_out(clean(shown), room, markdown.Styles(look.style, look.dark, look.ansi))
    limit = OPEN_LINES if look.opened else SHOWN_LINES
    margin, first = Segment(" " * INDENT), len(laid.strips)
    lines = [mark(Strip([margin, *line]), look) for line in page.lines[:limit]]
    for block in page.blocks:
        if block.first < limit:
            kind = "diff" if block.language == "diff" else "code"
            laid.marks.append(Mark(kind, first + block.first, block.count, block.text))
    laid.strips += with_notes(lines, 0, after, max(0, len(page.lines) - limit), look)
