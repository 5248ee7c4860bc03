"""The recap panel that is shown before a session is resumed."""

from __future__ import annotations

import os

from rich.box import ROUNDED
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hermes_store.records.recap import Recap, RecapEntry
from hermes_store.records.safe_text import clean
from hermes_tui.presentation.numbers import plural

GOLD, GREEN, BORDER, SPOKEN = "#DAA520", "#8FBC8F", "#8B8682", "#FFF8DC"


def panel(recap: Recap) -> Panel:
    """Return a recap as a panel: you in gold, Hermes in green, the last answer in full."""
    # Two columns, so that long lines wrap below their text, not below the bullet.
    said = Table.grid(padding=0)
    said.add_column(no_wrap=True)
    said.add_column(overflow="fold")
    for entry in recap.entries:
        said.add_row(*_cells(entry))
    earlier = Text(f"  ... {plural(recap.earlier, 'earlier message')} ...", style="dim italic")
    return Panel(
        Group(earlier, said) if recap.earlier else said,
        title="Previous Conversation",
        border_style=BORDER,
        box=ROUNDED,
        padding=(0, 1),
    )


def _cells(entry: RecapEntry) -> tuple[Text, Text]:
    label, colour = ("  ● You: ", GOLD) if entry.role == "user" else ("  ◆ Hermes: ", GREEN)
    style = SPOKEN if entry.whole else "dim"
    return Text(label, style=f"bold {colour}"), Text(clean(entry.text), style=style)


def show(recap: Recap, console: Console | None = None) -> None:
    # With NO_COLOR, Rich would still send bold and dim.
    plain = True if os.environ.get("NO_COLOR") else None
    (console or Console(highlight=False, force_terminal=False if plain else None)).print(
        panel(recap)
    )
