"""A tool call with its result on one line, the first lines of a diff, and all of it if opened."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.strip import Strip

from hermes_tui.presentation import diffs, tool_lines
from hermes_tui.presentation.diffs import DiffLine
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.laid_out import (
    INDENT,
    OPEN_LINES,
    OPENS,
    Laid,
    Look,
    Mark,
    found_in,
    line_of,
    plain_lines,
)
from hermes_tui.presentation.tool_lines import Asked, Outcome
from hermes_tui.presentation.wrap_text import wrapped

NAME_ROOM, STATE_ROOM = 9, 12
"""Columns for the name of a tool and for how it ended, so that both stand below each other."""


def add_call(call: Asked, outcome: Outcome, look: Look, laid: Laid) -> None:
    """Add the line of a call with its result; if it is opened, all of both."""
    first = len(laid.strips)
    line, whole = _call_line(call, outcome, look)
    laid.strips.append(line)
    if look.opened:
        laid.strips += _arguments(call, look, whole)
    diff = outcome.diff or (call.diff if look.opened else ())
    if diff:
        start = len(laid.strips)
        laid.strips += _diff(diff, look)
        laid.marks.append(
            Mark("diff", start, len(laid.strips) - start, diffs.as_text(diff, call.about))
        )
    if look.opened and outcome.body and not diffs.is_diff(outcome.body):
        laid.strips += plain_lines(outcome.body, look, "dim", INDENT, "│ ")
    elif not look.opened:
        laid.strips += found_in(outcome.body, look, line.text)
    if outcome.body:
        laid.marks.append(Mark("output", first, 0, outcome.body))
    copied = call.about or outcome.body
    laid.marks.append(Mark("tool", first, len(laid.strips) - first, copied))


def _call_line(call: Asked, outcome: Outcome, look: Look) -> tuple[Strip, bool]:
    """Return the line of a call, and whether the argument that matters is on it in full."""
    state = f" {outcome.size}" if outcome.size else ""
    name = f"{'▾' if look.opened else '▸'} {call.name:<{NAME_ROOM}} "
    room = max(1, look.width - INDENT - 1)
    name = fit(name, min(cell_len(name), max(4, room // 2)))
    state_room = min(max(STATE_ROOM, cell_len(state)), room // 2)
    about = plain(call.about)
    about_room = max(0, room - cell_len(name) - state_room - 2)
    pieces = [
        (" " * INDENT, ""),
        (name, "tool"),
        (fit(about, about_room), "dim"),
        (f" {outcome.sign}", outcome.style),
        (fit(state, state_room, pad=False), "error" if outcome.sign == "✗" else "dim"),
    ]
    return line_of(pieces, look), "\n" not in call.about and cell_len(about) <= about_room


def _arguments(call: Asked, look: Look, whole: bool) -> list[Strip]:
    """Return what a call asked for, as far as its line does not say it."""
    lines = [] if whole else plain_lines(call.about, look, "", 4)
    for name, value in call.others:
        if not call.diff or ("\n" not in value and len(value) < tool_lines.SHORT):
            lines += plain_lines(f"{name}: {value}", look, "dim", 4)
    return lines


def _diff(diff: Sequence[DiffLine], look: Look) -> list[Strip]:
    """Return the first lines of a diff, or all of it if it is opened."""
    shown, left = list(diff[:OPEN_LINES]), len(diff) - OPEN_LINES
    if not look.opened:
        shown, left = diffs.first(diff)
    lines: list[Strip] = []
    room = max(1, look.width - INDENT - 5)
    for each in shown:
        text = each.text.expandtabs(4)
        parts = list(wrapped(text, room)) if look.opened else [fit(text, room, pad=False)]
        for number, part in enumerate(parts):
            sign = "  " if number or each.sign == "@" else f"{each.sign.replace('-', '−')} "
            pieces = [(" " * INDENT, ""), ("│ ", "dim"), (sign + part, each.style)]
            lines.append(line_of(pieces, look))
    if left > 0:
        how = "" if look.opened else f" · {OPENS}"
        more = f"… {left:,} more {'line' if left == 1 else 'lines'}{how}"
        lines.append(line_of([(" " * INDENT, ""), ("│ ", "dim"), (more, "note")], look))
    return lines
