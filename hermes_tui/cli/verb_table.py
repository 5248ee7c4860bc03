"""The verbs of `hermes sessions`: their names, one-line summaries and modules.

A verb is a module with `describe(parser)`, which adds its arguments, and `run(options, context)`,
which returns the exit code. Only the module of the requested verb is imported.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from hermes_tui.cli.common.context import add_options


class Verb(NamedTuple):
    """A verb: its module, its summary, and whether it has `--json`."""

    module: str
    about: str
    reports: bool = True
    reads: bool = True
    """Whether it reads sessions and should say that there may be newer ones elsewhere."""
    free_text: bool = False
    """Whether it takes words of which some begin with a dash, such as `-java`."""


VERBS: dict[str, Verb] = {
    "browse": Verb("browse", "browse and search your conversations, full screen", False, False),
    "list": Verb("list", "list recent conversations"),
    "search": Verb("search", "search all messages and titles", free_text=True),
    "recall": Verb("recall", "ask a question about earlier conversations", free_text=True),
    "show": Verb("show", "print a conversation from start to end"),
    "tree": Verb("tree", "show compressions, branches and sub-agents of a session"),
    "rename": Verb("rename", "change the title of a session"),
    "delete": Verb("delete", "delete conversations; they move to trash"),
    "prune": Verb("prune", "delete old conversations; they move to trash"),
    "auto-prune": Verb("auto_prune", "prune as config.yaml says, if it is due"),
    "restore": Verb("restore", "restore conversations from the trash"),
    "trash": Verb("trash", "list or empty the trash"),
    "archive": Verb("archive", "hide conversations from lists"),
    "unarchive": Verb("unarchive", "show archived conversations in lists again"),
    "pin": Verb("pin", "protect conversations from pruning"),
    "unpin": Verb("unpin", "remove the pin from conversations"),
    "pinned": Verb("pinned", "list pinned conversations"),
    "tag": Verb("tag", "add tags to a conversation"),
    "untag": Verb("untag", "remove tags from a conversation"),
    "export": Verb("export", "export sessions to a file", False),
    "import": Verb("import_", "import sessions from a file"),
    "push": Verb("push", "send sessions to a PostgreSQL server", reads=False),
    "pull": Verb("pull", "bring sessions from a PostgreSQL server", reads=False),
    "postgres": Verb("postgres", "index messages on a server; rights for roles", reads=False),
    "stats": Verb("stats", "show session and message counts and the database size"),
    "insights": Verb("insights", "show tokens, costs and usage, with charts"),
    "optimize": Verb("optimize", "shrink the database and speed up search"),
    "doctor": Verb("doctor", "check and repair the database", reads=False),
    "repair": Verb("repair", "repair the database, or only check it", reads=False),
    "config": Verb("config", "show and check config.yaml", reads=False),
    "completions": Verb("completions", "print a completion script for your shell", False, False),
}


def load(name: str) -> ModuleType:
    """Import the module of a verb."""
    return import_module(f"hermes_tui.cli.{VERBS[name].module}")


def describe(name: str, parser: argparse.ArgumentParser) -> ModuleType:
    """Add the description and arguments of a verb to a parser; return the module of the verb."""
    verb, module = VERBS[name], load(name)
    parser.description = verb.about[0].upper() + verb.about[1:] + "."
    module.describe(parser)
    add_options(parser, reports=verb.reports)
    return module


def describe_resuming(parser: argparse.ArgumentParser) -> None:
    """Add `-c` and `-r`, which resume a session without a verb."""
    parser.add_argument(
        "-c", "--continue", metavar="NAME", nargs="?", help="resume the last session, or this one"
    )
    parser.add_argument(
        "-r",
        "--resume",
        metavar="SESSION",
        help="resume by id, prefix or title, by its number in the last list, or the latest",
    )
    parser.add_argument("--in", metavar="DIR", dest="in_dir", help="resume in this folder")
    parser.add_argument(
        "--no-restore-cwd", action="store_true", help="stay here, not in the session's folder"
    )


EXAMPLES = """examples:
  hermes sessions list --source telegram
  hermes sessions search 'docker deploy after:7d'
  hermes sessions show "my project"
  hermes sessions rename 20250305_0915 refactoring auth
"""
