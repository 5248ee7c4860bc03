"""Dispatches the command line to a verb; the one place that turns errors into exit codes.

Commands of other programs go unchanged to the next `hermes` on PATH (see `common.agent`).
"""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hermes_store.config import paths
from hermes_store.errors import BadFile, InvalidInput, StoreError, TitleError
from hermes_store.records.safe_text import shorten
from hermes_store.version import __version__
from hermes_tui.cli import verb_table
from hermes_tui.cli.common import context as surroundings
from hermes_tui.cli.common.arguments import Parser, parse
from hermes_tui.cli.common.output import ComplainingHandler, complain
from hermes_tui.cli.verb_table import EXAMPLES, VERBS
from hermes_tui.crash_log import BUG, write_crash_log

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130
_SHOWN = 100


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    _accept_any_text()
    # What Python would print to the terminal if nobody had set up logging.
    logging.lastResort = ComplainingHandler(logging.WARNING)
    try:
        return _dispatch(list(arguments))
    except StoreError as error:
        complain(str(error))
        # A title that is taken or a file that is not an export: understood, and refused.
        usage = isinstance(error, InvalidInput) and not isinstance(error, TitleError | BadFile)
        return USAGE if usage else REFUSED
    except KeyboardInterrupt:
        complain("Interrupted. Finished changes are kept; nothing was left half done.")
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            path = shorten(str(error.filename), _SHOWN)
            complain(f"{path} cannot be used: {error.strerror}. Check the path.")
            return REFUSED
        _forget_output()
        if isinstance(error, BrokenPipeError):  # `| head` has closed the pipe
            return DONE
        complain(f"Cannot write the output: {error.strerror or error}.")
        return REFUSED
    # The last resort: a traceback would quote stored text, and help nobody at a prompt.
    except Exception as error:
        log = write_crash_log(error, _home())
        complain(f"{BUG} Details are in {log}." if log is not None else BUG)
        return REFUSED


def _accept_any_text() -> None:
    """Print a question mark for what the locale has no character for, such as in LC_ALL=C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="replace")


def _home() -> Path | None:
    """Return the home folder; None if it is unknown."""
    try:
        return paths.hermes_home()
    except InvalidInput:
        return None


def _forget_output() -> None:
    """Keep the interpreter from flushing into a broken output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if Path(sys.argv[0]).stem == "hermes-sessions" and not _is_whole_command(arguments):
        arguments = ["sessions", *arguments]
    first = arguments[0] if arguments else ""
    if first in ("--version", "-V"):
        print(f"hermes-sessions {__version__}")
        return DONE
    if first in ("--help", "-h"):
        _overview().print_help()
        return DONE
    if first == "sessions":
        return _sessions(arguments[1:])
    if first == "insights":
        return _verb("insights", "hermes insights", arguments[1:])
    from hermes_tui.cli import resume
    from hermes_tui.cli.common import hermes_agent

    gc.enable()
    if resume.is_meant(arguments):
        return resume.run(arguments)
    if first == "chat" or (not arguments and hermes_agent.agent_command() is None):
        from hermes_tui.cli import chat

        return chat.run(arguments[1:])
    return hermes_agent.take_over(arguments)


def _is_whole_command(arguments: list[str]) -> bool:
    """Return whether arguments of `hermes-sessions` begin with a command, not with a verb."""
    known = ("sessions", "chat", "--version", "-V", "--home", "--profile", "--db")
    return bool(arguments) and (
        arguments[0] in known
        or arguments[0].split("=")[0] in ("-c", "--continue", "-r", "--resume")
    )


def _overview() -> Parser:
    parser = Parser(
        "hermes",
        description="Browse, search and manage your conversations with Hermes Agent.",
        epilog="All other commands are passed on to the installed Hermes Agent.\n\n" + EXAMPLES,
    )
    parser.add_argument("--version", "-V", action="store_true", help="print the version")
    verb_table.describe_resuming(parser)
    commands = parser.add_argument_group("commands")
    commands.add_argument("sessions", nargs="?", help="manage your sessions; see sessions -h")
    commands.add_argument("chat", nargs="?", help="chat with a model; see chat -h")
    commands.add_argument("insights", nargs="?", help="show tokens, costs and usage, with charts")
    return parser


def _sessions(arguments: list[str]) -> int:
    if (not arguments and not _has_terminal()) or (arguments and arguments[0] in ("-h", "--help")):
        return _list_verbs()
    if not arguments or arguments[0].startswith("-"):
        return _verb("browse", "hermes sessions browse", arguments)
    name, *rest = arguments
    if name not in VERBS:
        import difflib

        near = difflib.get_close_matches(name, VERBS, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else "'hermes sessions --help' lists all verbs."
        complain(f"Unknown verb '{name}'. {hint}")
        return USAGE
    return _verb(name, f"hermes sessions {name}", rest)


def _has_terminal() -> bool:
    """Return whether there is somebody to open the browser for."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def _list_verbs() -> int:
    print("usage: hermes sessions [VERB] …\n\nWithout a verb, the browser opens.\n\nverbs:")
    width = max(map(len, VERBS))
    for name, verb in VERBS.items():
        print(f"  {name:<{width}}  {verb.about}")
    print(f"\nRun 'hermes sessions VERB --help' for details.\n\n{EXAMPLES}", end="")
    return DONE


def _verb(name: str, usage: str, arguments: list[str]) -> int:
    parser = Parser(usage)
    module = verb_table.describe(name, parser)
    options = parse(parser, arguments, free_text=verb_table.VERBS[name].free_text)
    context = surroundings.from_options(options)
    gc.enable()
    if verb_table.VERBS[name].reads:
        surroundings.say_if_elsewhere(context)
    code: int = module.run(options, context)
    context.printer.flush()
    return code
