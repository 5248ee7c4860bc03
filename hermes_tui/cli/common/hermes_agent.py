"""Hands commands that are not ours to the installed Hermes Agent.

The agent is the next `hermes` on PATH that is not this program, or the one in the same
environment, found through the entry point of its console script.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hermes_tui.cli.common.output import complain

NAME = "hermes"
AGENT_DISTRIBUTION = "hermes-agent"
_VISITED = "HERMES_SESSIONS_VISITED"
"""Lists our own files for the program we start, so that two installations never call each other
in circles."""
OWN = ("sessions", "insights", "chat", "--continue", "--resume", "--version", "--help")


def agent_command() -> list[str] | None:
    """Return the command that starts the installed agent, or None."""
    found = _next_on_path()
    if found is not None:
        return [str(found)]
    return _in_this_environment()


def _visited() -> list[str]:
    return [path for path in os.environ.get(_VISITED, "").split(os.pathsep) if path]


def _own_files() -> set[Path]:
    """Return the files that start this program."""
    script = Path(sys.argv[0])
    own = {script.resolve(), *(Path(path) for path in _visited())}
    folder = Path(sys.executable).parent
    own |= {(folder / name).resolve() for name in (NAME, "hermes-sessions")}
    return own


def _next_on_path() -> Path | None:
    own = _own_files()
    names = [NAME, f"{NAME}.exe"] if os.name == "nt" else [NAME]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in names:
            candidate = Path(folder or ".") / name
            if not (candidate.is_file() and os.access(candidate, os.X_OK)):
                continue
            if candidate.resolve() not in own:
                return candidate
    return None


def _in_this_environment() -> list[str] | None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        points = distribution(AGENT_DISTRIBUTION).entry_points
    except PackageNotFoundError:
        return None
    for point in points:
        if point.group == "console_scripts" and point.name == NAME:
            start = (
                f"import sys; sys.argv[0] = {NAME!r}; from {point.module} import {point.attr}; "
                f"sys.exit({point.attr}())"
            )
            return [sys.executable, "-c", start]
    return None


def hand_over(command: Sequence[str]) -> int:
    """Replace this program with another one, which gets the terminal and sets the exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    visited = os.pathsep.join(str(path) for path in sorted(_own_files()))
    environment = os.environ | {_VISITED: visited}
    if os.name == "nt":
        return subprocess.run(command, env=environment, check=False).returncode
    try:
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        complain(f"Cannot start '{command[0]}': {error.strerror}.")
        return 1


def take_over(arguments: Sequence[str]) -> int:
    """Hand a command that is not ours to the agent; without an agent, report a usage error."""
    command = agent_command()
    if command is not None:
        return hand_over([*command, *arguments])
    if not arguments:
        complain(
            "No Hermes Agent is installed. 'hermes sessions browse' shows your conversations, "
            "'hermes --help' lists all commands."
        )
        return 1
    near = difflib.get_close_matches(arguments[0], OWN, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else "'hermes --help' lists all commands."
    complain(f"Unknown command '{arguments[0]}', and no Hermes Agent to pass it to. {hint}")
    return 2
