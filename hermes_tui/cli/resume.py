"""`hermes -c` and `hermes -r`: find the session, show a recap, hand over.

A name is an id, an id prefix, or a title (which means its newest continuation), and needs no
quotes. `resume.command` or the installed Hermes Agent continues the session.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_store.config import paths
from hermes_store.config.settings import Config
from hermes_store.errors import DatabaseMissing, InvalidInput, NotFound
from hermes_store.records.recap import Recap
from hermes_store.records.session import Session
from hermes_store.sessions.workspaces import place_here
from hermes_store.store import Store
from hermes_tui.cli import chat
from hermes_tui.cli.common import context as surroundings
from hermes_tui.cli.common import hermes_agent as neighbour
from hermes_tui.cli.common import last_list
from hermes_tui.cli.common.builtin_chat import uses_builtin
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.open_screen import limits
from hermes_tui.cli.common.output import complain
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import plural

BUILTIN = "--builtin"
KEEP_FOLDER, IN = "--no-restore-cwd", "--in"
LATEST = "latest"
"""The name that means the last session; one with this title is found with -c."""
KEEPS_FOLDER_SINCE = 22
"""The schema version of the first agent that goes to a session's folder itself."""
CONTINUE, RESUME = ("-c", "--continue"), ("-r", "--resume")
_OWN_WITH_VALUE = ("--home", "--profile", "--db")


@dataclass(frozen=True, slots=True)
class Wish:
    """A parsed command line that resumes a session."""

    name: str | None
    """The session's id, id prefix or title; None for the last session."""
    options: argparse.Namespace
    rest: tuple[str, ...]
    """Arguments for the program that continues the session."""
    numbered: bool = False
    """Whether the name may be a number in the last list."""


def is_meant(arguments: Sequence[str]) -> bool:
    """Return whether a command line resumes a session: `-c`, `-r`, also after `chat`."""
    left = list(arguments)
    while left and left[0] in _OWN_WITH_VALUE:
        del left[:2]
    if left and left[0] == "chat":
        return any(_flag(argument) for argument in left)
    return bool(left) and _flag(left[0]) is not None


def _flag(argument: str) -> str | None:
    name = argument.split("=", 1)[0]
    return name if name in CONTINUE + RESUME else None


def parse(arguments: Sequence[str]) -> Wish:
    """Parse a command line that resumes a session."""
    options = argparse.Namespace(
        home=None, profile=None, db=None, print=False, in_dir=None, no_restore_cwd=False
    )
    words: list[str] = []
    rest: list[str] = []
    left = [argument for argument in arguments if argument != "chat"]
    naming = False
    while left:
        argument = left.pop(0)
        if _flag(argument):
            naming = True
            words += argument.split("=", 1)[1:]
        elif argument == "--print":
            options.print, naming = True, False
        elif argument == KEEP_FOLDER:
            options.no_restore_cwd, naming = True, False
        elif argument == IN:
            if not left:
                raise InvalidInput("--in needs a folder.")
            options.in_dir, naming = Path(left.pop(0)), False
        elif argument.startswith(f"{IN}="):
            options.in_dir, naming = Path(argument.removeprefix(f"{IN}=")), False
        elif argument in _OWN_WITH_VALUE and left:
            value = left.pop(0)
            setattr(options, argument[2:], Path(value) if argument == "--home" else value)
            naming = False
        elif naming and not argument.startswith("-"):
            words.append(argument)
        else:
            rest.append(argument)
            naming = False
    name = " ".join(words).strip() or None
    resumed = any(_flag(argument) in RESUME for argument in arguments)
    if resumed and name is not None and name.lower() == LATEST:
        return Wish(None, options, tuple(rest))
    if resumed and name is not None and last_list.is_number(name):
        return Wish(name, options, tuple(rest), numbered=True)
    if name is None and resumed:
        raise InvalidInput(
            "-r needs a session: its id, id prefix or title, its number in the last list, or "
            "'latest'."
        )
    return Wish(name, options, tuple(rest))


def run(arguments: Sequence[str]) -> int:
    wish = parse(arguments)
    return resume(wish, surroundings.from_options(wish.options))


def resume(wish: Wish, context: Context) -> int:
    """Show the recap and hand over; with --print, only show the recap."""
    config = context.config()
    _refuse_unknown(wish, builtin=uses_builtin(config) or BUILTIN in wish.rest)
    if wish.options.in_dir is not None:
        _enter(paths.expanded(wish.options.in_dir))
    try:
        with context.store() as store:
            session = _find(store, context, wish)
            if session is None:
                return 1
            recap = store.transcripts.recap(session.id, limits(config))
            agent_moves = store.capabilities().version >= KEEPS_FOLDER_SINCE
    except DatabaseMissing as error:
        complain(str(error))
        return 1
    if wish.options.print:
        _show(context, config, session, recap, "Session")
        return 0
    stays = wish.options.no_restore_cwd or wish.options.in_dir is not None
    if uses_builtin(config) or BUILTIN in wish.rest:
        _go_back(context, session, stays=stays)
        return chat.go_on(context, config, session.id)
    command = successor(config, session.id)
    if stays and agent_moves and not config.resume.command:
        command.append(KEEP_FOLDER)
    _go_back(context, session, stays=stays)
    with context.store(read_only=False) as store:
        store.sessions.reopen(session.id)
    _show(context, config, session, recap, "↻ Resumed session")
    return neighbour.hand_over([*command, *wish.rest])


def _refuse_unknown(wish: Wish, *, builtin: bool) -> None:
    """Refuse arguments that nobody would understand: the built-in chat takes none."""
    unknown = [each for each in wish.rest if each != BUILTIN]
    if unknown and (builtin or wish.options.print):
        raise InvalidInput(f"Unknown argument '{unknown[0]}'. 'hermes --help' lists all options.")


def _enter(folder: Path) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise InvalidInput(f"Cannot go to {folder}: {error.strerror}.") from None


def _go_back(context: Context, session: Session, *, stays: bool) -> None:
    """Go to the folder in which a session took place, unless the user wants to stay."""
    folder = (session.cwd or "").strip()
    if stays or not folder:
        return
    try:
        here = Path.cwd()
    except OSError:
        here = None
    try:
        if here is not None and os.path.realpath(folder) == os.path.realpath(here):
            return
        os.chdir(folder)
    except (OSError, ValueError):
        complain(f"The folder of this session is gone: {plain(folder)}. Staying in {here}.")
        return
    context.printer.line(f"↪ {plain(folder)}")


def _find(store: Store, context: Context, wish: Wish) -> Session | None:
    if wish.numbered and wish.name is not None:
        return last_list.find(store, context.database, wish.name)
    if wish.name is not None:
        return store.sessions.find_to_resume(wish.name)
    last = _last_here(store) or store.lists.recent_ids("cli", limit=1)
    if not last:
        complain(
            "There is no terminal session to continue. "
            "'hermes sessions list' shows sessions from other sources."
        )
        return None
    return store.sessions.find_to_resume(last[0])


def _last_here(store: Store) -> list[str]:
    """Return the last terminal session of the workspace that this is."""
    place = place_here()
    here = store.lists.workspace_here(place) if place is not None else None
    return [] if here is None else store.lists.recent_ids("cli", limit=1, here=here)


def _show(
    context: Context, config: Config, session: Session, recap: Recap, said_of_it: str
) -> None:
    title = f' "{plain(session.title)}"' if session.title else ""
    if not recap.messages:
        context.printer.line(f"Session {plain(session.id)}{title} has no messages yet.")
        return
    if config.display.resume_display == "full" and recap.entries:
        from hermes_tui.cli.common import recap_panel

        recap_panel.show(recap)
    said = plural(recap.user_messages, "user message")
    total = f"{recap.messages} total messages"
    context.printer.line(f"{said_of_it} {plain(session.id)}{title} ({said}, {total})")


def successor(config: Config, session_id: str) -> list[str]:
    """Return the command that continues a session; NotFound says what to configure."""
    wanted = config.resume
    if wanted.command:
        program = wanted.command[0]
        if shutil.which(program) is None:
            raise NotFound(
                f"Cannot start '{program}': no such program. Check resume.command in config.yaml."
            )
        return [part.replace("{session_id}", session_id) for part in wanted.command]
    if wanted.with_ != "builtin":
        agent = neighbour.agent_command()
        if agent is not None:
            return [*agent, "--resume", session_id]
    raise NotFound(
        "This session cannot be resumed: no Hermes Agent is installed. Install it, or set a "
        "command in config.yaml, for example\n"
        "resume:\n  command: [my-agent, --resume, '{session_id}']\n"
        f"'hermes -r {session_id} --print' shows the recap."
    )
