"""Where one is in a conversation, in words: turn 7 of 24, match 2 of 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from hermes_store.records.listing import ListRow
from hermes_tui.presentation.fit_text import first_words, fit, plain
from hermes_tui.presentation.numbers import left_out as counts
from hermes_tui.transcript.message_view import MessageView


@dataclass(frozen=True, slots=True)
class Place:
    """The numbers of the current turn and match, and how many there are."""

    turn: int = 0
    turns: int = 0
    match: int = 0
    """0 if the current message is none."""
    matches: int = 0
    left_out: tuple[str, ...] = ()
    """How many messages are not shown, in words."""

    def in_words(self) -> str:
        """Return the place."""
        said = [f"turn {self.turn:,} of {self.turns:,}"] if self.turns else []
        if self.matches:
            number = f"{self.match:,}" if self.match else "–"
            said.append(f"match {number} of {self.matches:,}")
        return " · ".join(said)

    def at_edge(self, *, zoomed: bool) -> str:
        """Return what stands at the edge of the pane; zoomed, the place stands in the title."""
        left_out = f"v: {' · '.join(self.left_out)}" if self.left_out else ""
        return " · ".join(filter(None, ("" if zoomed else self.in_words(), left_out)))


NOWHERE = Place()


def place(view: MessageView) -> Place:
    """Return where one is."""
    if view.outline is None:
        return NOWHERE
    turn, turns = view.laid_out.turns.number(view.in_sight)
    match, matches = view.laid_out.match_number(view.cursor)
    return Place(turn, turns, match, matches, tuple(counts(view.outline.left_out)))


def title(view: MessageView, row: ListRow | None, where: Place, width: int) -> Content:
    """Return the title of a conversation, or how it begins, with the place at the right."""
    outline = view.outline
    if outline is not None and row is not None and outline.root_id != row.id:
        outline = None  # another page is open, and the transcript is of an earlier conversation
    name = outline.segments[-1].title if outline is not None and outline.segments else None
    if not name and row is not None:
        name = row.title or first_words(row.preview)
    said = where.in_words()
    shown = fit(plain(name or "Conversation"), max(0, width - len(said) - 2))
    return Content.assemble((shown, "bold"), "  ", (said, "$foreground-muted"))


def tabs(names: Sequence[str], current: str, *, wide: bool) -> str:
    """Return the names of the pages as markup for a border, the open one highlighted."""
    # No stored text here: a border title is the one place that is parsed as markup.
    space = " " if wide else ""
    return "─".join(
        f"[b reverse]{space}{name.capitalize()}{space}[/]"
        if name == current
        else f"[@click=screen.show_tab('{name}')]{space}{name.capitalize()}{space}[/]"
        for name in names
    )
