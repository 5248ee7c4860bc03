"""`hermes sessions completions`: completion scripts for bash, zsh and fish.

shtab makes the scripts from the real arguments of every command. Values from the database come
from the hidden option `--values`, which only reads, and prints no errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_store.config import paths
from hermes_store.errors import StoreError
from hermes_store.records.workspace import short_name
from hermes_tui.cli import verb_table
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain

if TYPE_CHECKING:
    from hermes_store.store import Store

SHELLS = ("bash", "zsh", "fish")
KINDS = ("sessions", "sources", "tags", "searches", "workspaces", "branches", "profiles")
SESSIONS = 100
"""How many recent sessions to offer; a longer list is of no use."""

_HERMES, _SHORT = "hermes", "hermes-sessions"
# The prefix of shell names for each command. That of `hermes sessions` would be hermes_sessions.
_PREFIXES = {_HERMES: "hermes", _SHORT: "sessions_of_hermes"}

_KIND_OF = {
    "session": "sessions",
    "session_id": "sessions",
    "continue": "sessions",
    "resume": "sessions",
    "source": "sources",
    "tags": "tags",
    "tag": "tags",
    "workspace": "workspaces",
    "branch": "branches",
    "profile": "profiles",
}
"""The kind of values to offer for an argument, by its name."""
_SEARCHING = ("browse", "list", "search")
"""The verbs whose `query` is a search; elsewhere it is a question to a model."""


def describe(parser: argparse.ArgumentParser) -> None:
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("shell", nargs="?", choices=SHELLS)
    wanted.add_argument("--values", choices=KINDS, help=argparse.SUPPRESS)
    parser.usage = f"{parser.prog} [-h] {{{','.join(SHELLS)}}}"
    parser.epilog = (
        "examples:\n"
        "  source <(hermes sessions completions bash)\n"
        '  hermes sessions completions zsh > "${fpath[1]}/_hermes"\n'
        "  hermes sessions completions fish | source\n"
        "Each script completes both hermes and hermes-sessions."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    if options.values is None:
        context.printer.write(script(options.shell).rstrip() + "\n")
        return 0
    try:
        found = list(_values(options.values, context))
    except (StoreError, OSError):
        return 0  # a shell at its prompt has no place for a message
    for value in found:
        # A value that is shown altered, or looks like a flag, would not work when typed.
        if value and plain(value) == value and not value.startswith("-"):
            context.printer.line(value)
    return 0


# -- values --------------------------------------------------------------------------------------


def _values(kind: str, context: Context) -> Iterator[str]:
    if kind == "profiles":
        yield from ("default", *paths.profiles(context.home))
        return
    with context.store() as store:
        if kind == "sessions":
            yield from _sessions(store)
        elif kind == "sources":
            yield from store.lists.sources()
        elif kind == "tags":
            yield from (name for name, _ in store.marks.tags())
        elif kind == "workspaces":
            yield from dict.fromkeys(short_name(each) for each in store.lists.workspaces())
        elif kind == "branches":
            yield from store.lists.branches()
        else:
            yield from (each.text for each in store.saved_searches.list())


def _sessions(store: Store) -> Iterator[str]:
    found = store.lists.as_dictionaries(limit=SESSIONS)
    yield from (row["title"] for row in found if row["title"])
    yield from (row["id"] for row in found)


# -- scripts -------------------------------------------------------------------------------------


def script(shell: str) -> str:
    """Return one script that completes both commands."""
    import shtab

    made = {
        command: shtab.complete(
            _tree(command), shell, root_prefix=prefix, preamble=_preamble(shell)
        )
        for command, prefix in _PREFIXES.items()
    }
    return _for_zsh(made) if shell == "zsh" else "\n\n".join(made.values())


def _tree(command: str) -> argparse.ArgumentParser:
    """Return the parser of a whole command, with all its subcommands."""
    from hermes_tui.cli import chat

    root = argparse.ArgumentParser(prog=command)
    root.add_argument("--version", "-V", action="store_true", help="print the version")
    verb_table.describe_resuming(root)
    _offer(root)
    commands = root.add_subparsers()
    if command == _HERMES:
        below = commands.add_parser("sessions", help="manage sessions").add_subparsers()
        _add(commands, "insights")
    else:
        below = commands
    for name in verb_table.VERBS:
        _add(below, name)
    talk = commands.add_parser("chat", help="chat with a model")
    chat.describe(talk)
    verb_table.describe_resuming(talk)
    _offer(talk)
    return root


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str) -> None:
    parser = commands.add_parser(name, help=verb_table.VERBS[name].about)
    verb_table.describe(name, parser)
    _offer(parser, searching=name in _SEARCHING)


def _offer(parser: argparse.ArgumentParser, *, searching: bool = False) -> None:
    """Set what a shell offers for each argument of a parser."""
    import shtab

    files = {"file": shtab.FILE, "db": shtab.FILE, "home": shtab.DIRECTORY}
    for action in parser._actions:
        kind = "searches" if searching and action.dest == "query" else _KIND_OF.get(action.dest)
        if kind is not None:
            action.complete = _hook(kind)  # type: ignore[attr-defined]
        elif action.dest in files:
            action.complete = files[action.dest]  # type: ignore[attr-defined]


def _hook(kind: str) -> dict[str, str]:
    """Return the function that offers values of a kind, by shell; see `_preamble`."""
    name = f"_hermes_offer_{kind}"
    return {"bash": name, "zsh": name, "fish": f"({name})"}


def _preamble(shell: str) -> str:
    """Return the shell functions that fetch values.

    They call `hermes-sessions`, because `hermes` may be the agent.
    """
    return _COMMON[shell] + "".join(_EACH[shell].replace("KIND", kind) for kind in KINDS)


# Bash inserts a candidate verbatim, so it must be quoted. In a word that begins with a quotation
# mark only values are offered in which nothing can end the quotation or be evaluated inside it;
# inside other quotations, none.
_COMMON = {
    "bash": r"""
_hermes_offer() {
  local word="$2" unsafe='' value
  case "$word" in
    \"*) unsafe='\\"$`!' word="${word:1}" ;;
    \'*) unsafe=\' word="${word:1}" ;;
    *)
      [[ "${word//\\?/}" != *[\"\']* ]] || return 0
      word="${word//\\/}"
      ;;
  esac
  while IFS= read -r value; do
    if [[ "$value" != "$word"* ]]; then
      continue
    elif [ -z "$unsafe" ]; then
      printf '%q\n' "$value"
    elif [[ "$value" != *[$unsafe]* ]]; then
      printf '%s\n' "$value"
    fi
  done < <(hermes-sessions completions --values "$1" 2>/dev/null </dev/null)
}
""",
    "zsh": r"""
_hermes_offer() {
  local -a values
  values=(${(f)"$(hermes-sessions completions --values $1 2>/dev/null </dev/null)"})
  shift
  compadd "$@" -a values
}
""",
    "fish": "",
}
_EACH = {
    "bash": '_hermes_offer_KIND() { _hermes_offer KIND "$1"; }\n',
    "zsh": '_hermes_offer_KIND() { _hermes_offer KIND "$@"; }\n',
    "fish": (
        "function _hermes_offer_KIND\n"
        "  hermes-sessions completions --values KIND 2>/dev/null </dev/null\nend\n"
    ),
}


def _for_zsh(made: dict[str, str]) -> str:
    """Return one file for both commands; it can be autoloaded for either, or evaluated."""
    parts = [f"#compdef {' '.join(made)}"]
    for command, text in made.items():
        parts.append(f"if [[ $zsh_eval_context[-1] == eval || $service == {command} ]]; then")
        parts += [text, "fi"]
    return "\n".join(parts)
