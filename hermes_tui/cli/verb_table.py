"""The verbs of `hermes sessions`: their names, one line about each, and where they live.

A verb is a module with `describe(parser)`, which adds its arguments, and `run(options, context)`,
which returns the exit code. Only the module of the verb that is used is imported.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from hermes_tui.cli.common.context import add_options


class Verb(NamedTuple):
    """A verb: the module that has it, what it does, and whether it answers as JSON."""

    module: str
    about: str
    reports: bool = True


VERBS: dict[str, Verb] = {
    "browse": Verb("browse", "look through all sessions, full screen", False),
    "list": Verb("list", "list recent sessions"),
    "search": Verb("search", "find messages in all sessions"),
    "recall": Verb("recall", "ask what earlier conversations say about something"),
    "show": Verb("show", "read a whole conversation"),
    "tree": Verb("tree", "show what a session grew out of and into"),
    "rename": Verb("rename", "give a session a title"),
    "delete": Verb("delete", "put conversations into the trash"),
    "prune": Verb("prune", "let old conversations go"),
    "restore": Verb("restore", "bring back what was deleted"),
    "trash": Verb("trash", "see or empty the trash"),
    "archive": Verb("archive", "hide conversations from lists"),
    "unarchive": Verb("unarchive", "show them in lists again"),
    "pin": Verb("pin", "keep conversations from being pruned"),
    "unpin": Verb("unpin", "take the pin off"),
    "tag": Verb("tag", "give a conversation tags"),
    "untag": Verb("untag", "take tags off"),
    "export": Verb("export", "write sessions to a file", False),
    "import": Verb("import_", "bring in exported sessions"),
    "stats": Verb("stats", "count sessions and messages, measure the file"),
    "insights": Verb("insights", "tokens, costs and habits, with charts"),
    "optimize": Verb("optimize", "make the file small and search fast"),
    "doctor": Verb("doctor", "see whether the file is well, and mend it"),
    "config": Verb("config", "show and check config.yaml"),
    "completions": Verb("completions", "print completions for your shell", False),
}


def load(name: str) -> ModuleType:
    """Import the module of a verb."""
    return import_module(f"hermes_tui.cli.{VERBS[name].module}")


def describe(name: str, parser: argparse.ArgumentParser) -> ModuleType:
    """Give a parser all that a verb says of itself and takes; return the module of the verb."""
    verb, module = VERBS[name], load(name)
    parser.description = verb.about[0].upper() + verb.about[1:] + "."
    module.describe(parser)
    add_options(parser, reports=verb.reports)
    return module


def describe_resuming(parser: argparse.ArgumentParser) -> None:
    """Add the two ways to resume a session, which need no verb."""
    parser.add_argument(
        "-c", "--continue", metavar="NAME", nargs="?", help="resume the last, or a named one"
    )
    parser.add_argument("-r", "--resume", metavar="SESSION", help="resume by id, prefix or title")


EXAMPLES = """examples:
  hermes sessions list --source telegram
  hermes sessions search 'docker deploy after:7d'
  hermes sessions show "my project"
  hermes sessions rename 20250305_0915 refactoring auth
"""
