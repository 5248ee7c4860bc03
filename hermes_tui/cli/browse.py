"""`hermes sessions browse`: the full-screen browser, or a plain list without a terminal."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config.settings import Config
from hermes_store.errors import DatabaseMissing, StoreError
from hermes_store.records.sources import known_name
from hermes_tui.cli.common import farewell, hermes_agent, source_option, workspace_option
from hermes_tui.cli.common.builtin_chat import conversation_maker, demo_maker, uses_builtin
from hermes_tui.cli.common.context import Context, elsewhere
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.open_screen import kept_for, opening_for, show
from hermes_tui.cli.common.output import complain

if TYPE_CHECKING:
    from hermes_tui.chat.turn_loop import Conversation
    from hermes_tui.opening.start_options import Choice


def describe(parser: argparse.ArgumentParser) -> None:
    source_option.add(parser, "show")
    workspace_option.add(parser, "show")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="show only the newest N (default: all)"
    )
    parser.add_argument("--query", default="", metavar="TEXT", help="start with this search")
    parser.add_argument("--read-only", action="store_true", help="disable all changes")
    parser.add_argument("--print-id", action="store_true", help="print the id instead of resuming")
    parser.add_argument("--demo", action="store_true", help="browse sample conversations")
    parser.epilog = (
        "examples:\n  hermes sessions browse --demo\n"
        "  hermes sessions browse --source telegram --query 'docker after:7d'\n"
        '  hermes -r "$(hermes sessions browse --print-id)"\n\n'
        "In the browser, F1 or ? shows all keys."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--limit", options.limit, least=0)
    if not options.demo:
        return _browse(options, context)
    from hermes_tui.demo.sample import create

    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as folder:
        path = Path(folder) / "state.db"
        create(path, context.now)
        place = replace(context, home=Path(folder), database=path, address=None)
        return _browse(options, place, demo_maker(path, place.config()))


def _browse(
    options: argparse.Namespace,
    context: Context,
    demo: Callable[[str | None], Conversation] | None = None,
) -> int:
    if options.source is not None:
        options.source = _source(options.source, context)
    # Textual draws on standard error; with --print-id, standard output may be a pipe.
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not terminal or not (sys.stdout.isatty() or options.print_id):
        return _plain(options, context)
    if os.environ.get("TERM") == "dumb":
        return _plain(options, context)
    config = context.config()
    opening = opening_for(options, context, config)
    opening = replace(
        opening,
        open_chat=demo or conversation_maker(context.database, config, address=context.address),
        # The agent cannot see the sessions of a demo.
        is_taken_over=lambda: demo is None and not uses_builtin(config),
        starts_elsewhere=lambda: demo is None and _agent_starts(config),
    )
    if demo is None:
        opening = replace(opening, notice=elsewhere(context))
    while True:
        choice, code = show(opening, config)
        if choice is None:
            return code
        if choice.left:
            if demo is None:
                farewell.say(context, choice)
            return code
        if choice.session_id is None:
            return hermes_agent.take_over([])
        if options.print_id:
            context.printer.value(choice.session_id)
            context.printer.flush()
            return 0
        trouble = _resume(choice, context)
        kept = kept_for(context, config)
        opening = replace(opening, state=choice.state, notice=trouble, kept=kept)


def _agent_starts(config: Config) -> bool:
    """Return whether the agent starts new conversations: a command can only resume them."""
    return not uses_builtin(config) and hermes_agent.agent_command() is not None


def _source(typed: str, context: Context) -> str | None:
    try:
        with context.store() as store:
            return source_option.chosen(store, typed)
    except DatabaseMissing:
        return known_name(typed)


def _plain(options: argparse.Namespace, context: Context) -> int:
    from hermes_tui.cli import list as plain_list

    options.query = options.query or None
    options.limit = options.limit or None
    defaults = argparse.ArgumentParser(add_help=False)
    plain_list.describe(defaults)
    defaults.parse_args([], options)
    code = plain_list.run(options, context)
    if not context.printer.as_json:
        complain(
            "The browser needs a terminal, so this is a plain list. In scripts, use "
            "'hermes sessions list --json' or 'hermes sessions search --json'."
        )
    return code


def _resume(choice: Choice, context: Context) -> str:
    """Hand the terminal to the program that resumes a session; return why that failed."""
    from hermes_tui.cli import resume

    options = argparse.Namespace(print=False, in_dir=None, no_restore_cwd=False)
    try:
        resume.resume(resume.Wish(choice.session_id, options, ()), context)
    except StoreError as error:
        return str(error)
    return "The session could not be resumed. Quit to see the reason in the terminal."
