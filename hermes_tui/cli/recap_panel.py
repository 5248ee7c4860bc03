"""The panel of what was said last, shown before a session is resumed."""

from __future__ import annotations

from rich.box import ROUNDED
from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from hermes_store.recap import Entry, Recap

GOLD, GREEN, BORDER, SPOKEN = "#DAA520", "#8FBC8F", "#8B8682", "#FFF8DC"


def panel(recap: Recap) -> Panel:
    """Return a recap as a panel: gold for you, green for Hermes, the last answer in full."""
    lines: list[Text] = []
    if recap.earlier:
        lines.append(Text(f"  ... {recap.earlier} earlier messages ...", style="dim italic"))
    for entry in recap.entries:
        lines += _lines(entry)
    return Panel(
        Group(*lines),
        title="Previous Conversation",
        border_style=BORDER,
        box=ROUNDED,
        padding=(0, 1),
    )


def _lines(entry: Entry) -> list[Text]:
    if entry.role == "user":
        label, colour, indent = "  ● You: ", GOLD, " " * 9
    else:
        label, colour, indent = "  ◆ Hermes: ", GREEN, " " * 12
    style = SPOKEN if entry.whole else "dim"
    first, *rest = entry.text.splitlines() or [""]
    head = Text.assemble((label, f"bold {colour}"), (first, style))
    return [head, *(Text(indent + line, style=style) for line in rest)]


def show(recap: Recap, console: Console | None = None) -> None:
    """Print a recap."""
    (console or Console(highlight=False)).print(panel(recap))
