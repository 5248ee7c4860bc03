"""Opens the screens with what config.yaml and the command line ask for."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_store.config.settings import BrowseConfig, Config
from hermes_store.errors import ConfigError
from hermes_store.records.recap import Limits
from hermes_store.records.sources import known_name
from hermes_tui.cli.common import last_list
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.opening import kept_state

if TYPE_CHECKING:
    from hermes_store.records.workspace import Place
    from hermes_tui.opening.start_options import Choice, Opening

SWITCH_SECONDS = 0.001


def limits(config: Config) -> Limits:
    """Return the recap limits of config.yaml."""
    display = config.display
    return Limits(
        exchanges=display.resume_exchanges,
        user_characters=display.resume_max_user_chars,
        assistant_characters=display.resume_max_assistant_chars,
        assistant_lines=display.resume_max_assistant_lines,
        skip_tool_only=display.resume_skip_tool_only,
    )


def kept_for(context: Context, config: Config) -> kept_state.Kept:
    """Return what the browser remembers, as far as config.yaml says nothing newer."""
    return kept_state.load(kept_state.path_for(context.database)).under(_said(config.browse))


def opening_for(options: argparse.Namespace, context: Context, config: Config) -> Opening:
    """Return how to open the browser, given the command line and config.yaml."""
    from hermes_store.records.listing import Grouping, Hidden, Sort, View
    from hermes_tui.opening.start_options import Opening, State

    wanted = config.browse
    kept = kept_for(context, config)
    kinds = {kind.value: kind for kind in Hidden}
    unknown = [name for name in wanted.show if name not in kinds]
    if unknown:
        names = ", ".join(kinds)
        raise ConfigError(f"browse.show contains '{unknown[0]}'; allowed are {names}.")
    view = View(
        source=known_name(options.source),
        workspace=options.workspace,
        shown=frozenset(
            kinds[name] for name in (wanted.show if kept.shown is None else kept.shown)
        ),
        sort=Sort(kept.sort or wanted.sort),
        group=Grouping(kept.group or wanted.group),
        limit=options.limit or None,
    )
    return Opening(
        database=context.database,
        address=context.address,
        clock=time.time,
        view=view,
        limits=limits(config),
        read_only=options.read_only,
        print_id=options.print_id,
        state=State(query=options.query, tab=kept.page or wanted.pane),
        sessions_dir=context.home / "sessions",
        demo=options.demo,
        kept=kept,
        keeps=not options.read_only,
        find_session=lambda store, name: last_list.find(store, context.database, name),
        place=_place(options),
        scoped=config.browse.scope == "here" and options.workspace is None,
    )


def _said(wanted: BrowseConfig) -> dict[str, str]:
    """Return what config.yaml says about what can also be chosen inside the browser."""
    return {
        "theme": wanted.theme,
        "page": wanted.pane,
        "sort": wanted.sort,
        "group": wanted.group,
        "shown": ",".join(wanted.show),
    }


def _place(options: argparse.Namespace) -> Place | None:
    """Return the folder in which the browser is opened; None if it says nothing."""
    from hermes_store.sessions.workspaces import place_here

    return None if options.demo else place_here()


def show(opening: Opening, config: Config) -> tuple[Choice | None, int]:
    """Run the browser once; return the choice and the exit code."""
    from hermes_tui.opening.first_list_rows import FirstPage

    # Until the first frame nothing becomes garbage; collecting would take a tenth of the time.
    gc.disable()
    first = FirstPage(
        opening.database,
        opening.view,
        opening.clock(),
        opening.place,
        scoped=opening.scoped,
        address=opening.address,
    )
    first.wait()
    opening = replace(opening, view=first.view, here=first.here)
    odd = first.store.unknown_layout() if first.store is not None else None
    if odd is not None:
        opening = replace(opening, notice=odd, read_only=True)
    # Threads that read the database should not wait long for the drawing thread.
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
        theme=themes.chosen(config.browse.theme, available, opening.kept.theme),
    )
    access = Access(
        opening.database,
        config,
        read_only=opening.read_only,
        reader=first.store,
        address=opening.address,
    )
    app = HermesApp(access, opening, first.head)
    choice = app.run(mouse=config.browse.mouse)
    if app.crash_log is not None:
        complain(
            f"The browser crashed. Details are in {app.crash_log}; your sessions are unharmed."
        )
        return None, 1
    return choice, app.return_code or 0
