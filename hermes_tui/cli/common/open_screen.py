"""Opening the screens: settings and command line -> how to begin, and running it once."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_store.config.settings import Config
from hermes_store.errors import ConfigError
from hermes_store.records.recap import Limits
from hermes_store.records.sources import known_name
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain

if TYPE_CHECKING:
    from hermes_tui.start_options import Choice, Opening

SWITCH_SECONDS = 0.001


def limits(config: Config) -> Limits:
    """Return how much a recap shows, as config.yaml says."""
    display = config.display
    return Limits(
        exchanges=display.resume_exchanges,
        user_characters=display.resume_max_user_chars,
        assistant_characters=display.resume_max_assistant_chars,
        assistant_lines=display.resume_max_assistant_lines,
        skip_tool_only=display.resume_skip_tool_only,
    )


def opening_for(options: argparse.Namespace, context: Context, config: Config) -> Opening:
    """Return how to open the browser, from the command line and config.yaml."""
    from hermes_store.records.listing import Grouping, Hidden, Sort, View
    from hermes_tui.start_options import Opening, State

    wanted = config.browse
    kinds = {kind.value: kind for kind in Hidden}
    unknown = [name for name in wanted.show if name not in kinds]
    if unknown:
        names = ", ".join(kinds)
        raise ConfigError(f"browse.show names '{unknown[0]}', which is none of {names}.")
    view = View(
        source=known_name(options.source),
        shown=frozenset(kinds[name] for name in wanted.show),
        sort=Sort(wanted.sort),
        group=Grouping(wanted.group),
        limit=options.limit or None,
    )
    return Opening(
        database=context.database,
        clock=time.time,
        view=view,
        limits=limits(config),
        read_only=options.read_only,
        print_id=options.print_id,
        state=State(query=options.query, tab=wanted.pane),
        sessions_dir=context.home / "sessions",
        demo=options.demo,
    )


def show(opening: Opening, config: Config) -> tuple[Choice | None, int]:
    """Run the browser once; return what was chosen, or the exit code."""
    from hermes_tui.first_rows import FirstPage

    # Nothing becomes garbage until the first picture; looking for it would take a tenth as long.
    gc.disable()
    first = FirstPage(opening.database, opening.view, opening.clock())
    first.wait()
    # Threads that read the database should not wait long for the one that draws.
    sys.setswitchinterval(SWITCH_SECONDS)
    from textual.theme import BUILTIN_THEMES

    from hermes_tui import actions
    from hermes_tui.app import HermesApp
    from hermes_tui.presentation import themes
    from hermes_tui.store_access import Access

    available = {*BUILTIN_THEMES, *(theme.name for theme in themes.OWN)}
    opening = replace(
        opening,
        keys=actions.checked(config.browse.keys),
        theme=themes.chosen(config.browse.theme, available),
    )
    access = Access(opening.database, config, read_only=opening.read_only, reader=first.store)
    app = HermesApp(access, opening, first.head)
    choice = app.run(mouse=config.browse.mouse)
    if app.crash_log is not None:
        complain(
            f"The browser stopped because of a mistake in it. {app.crash_log} says more; "
            "your sessions are unharmed."
        )
        return None, 1
    return choice, app.return_code or 0
