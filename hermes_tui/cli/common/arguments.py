"""Reading a command line: options are options wherever they stand, and a wrong one is named.

argparse alone ends the words of a search at the first option and takes `-heroku` for `-h`. So the
line is sorted first: options with their values, then everything else.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from hermes_store.records.safe_text import clean_line
from hermes_tui.cli.common.output import complain

_LONG = re.compile(r"--[A-Za-z]")
"""The beginning of an option; `-->` and a dash are text."""

_WORDS = (
    (re.compile(r"the following arguments are required: (.+)"), "missing: {}."),
    (re.compile(r"one of the arguments (.+) is required"), "missing: {}."),
    (re.compile(r"argument (\S+): expected one argument"), "{} needs a value."),
    (re.compile(r"argument (\S+): invalid int value: (.+)"), "{} must be a whole number, not {}."),
    (re.compile(r"argument (\S+): invalid float value: (.+)"), "{} must be a number, not {}."),
)
_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.+)\)")


class HelpText(argparse.HelpFormatter):
    """Help that fits the terminal: prose is wrapped, examples and lists stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import wrap

        lines: list[str] = []
        prose: list[str] = []

        def end_of_prose() -> None:
            lines.extend(wrap(" ".join(prose), max(20, width)))
            prose.clear()

        for line in text.splitlines():
            if line.strip() and not line.startswith(" ") and not line.endswith(":"):
                if lines and lines[-1] and not prose:
                    lines.append("")
                prose.append(line)
                continue
            end_of_prose()
            lines.append(line)
        end_of_prose()
        return "\n".join(f"{indent}{line}".rstrip() for line in lines) + "\n"


class Parser(argparse.ArgumentParser):
    """Parses a command line; its errors quote what was typed, but never send it raw."""

    def __init__(self, prog: str, description: str = "", epilog: str = "") -> None:
        super().__init__(prog, None, description, epilog, formatter_class=HelpText)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong on standard error, and exit with 2."""
        said = _in_words(clean_line(message))
        said = said[0].upper() + said[1:]
        end = "" if said.endswith((".", "?")) else "."
        complain(f"{said}{end}\n'{self.prog} --help' shows how to use it.")
        self.exit(2)


def _in_words(message: str) -> str:
    """Return an error of argparse as a person would say it."""
    for pattern, words in _WORDS:
        found = pattern.fullmatch(message)
        if found is not None:
            return words.format(*found.groups())
    found = _CHOICE.fullmatch(message)
    if found is None:
        return message
    name, typed, listed = found.groups()
    choices = [each.strip("' ") for each in listed.split(",")]
    return f"{name} takes {', '.join(choices)}, not '{typed}'.{meant(typed, choices)}"


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str], *, free_text: bool = False
) -> argparse.Namespace:
    """Parse the command line of a verb; with `free_text`, an unknown `-word` is text."""
    options, words = _sorted(parser, arguments, free_text=free_text)
    found, left = parser.parse_known_args([*options, *(["--", *words] if words else [])])
    if left:
        extra = " ".join(each for each in left if each != "--")
        parser.error(f"unexpected: {extra}")
    return found


def _sorted(
    parser: argparse.ArgumentParser, arguments: Sequence[str], *, free_text: bool
) -> tuple[list[str], list[str]]:
    """Return the options of a line with their values, and the other arguments."""
    options: list[str] = []
    words: list[str] = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if argument == "--":
            words += left
            break
        name = argument.split("=", 1)[0]
        if not _is_option(parser, argument, free_text=free_text):
            words.append(argument)
            continue
        action = _action(parser, name)
        options.append(argument)
        takes_value = action.nargs is None and name == argument
        if takes_value and left and not left[0].startswith("--"):
            options[-1] = f"{argument}={left.pop(0)}" if _LONG.match(argument) else argument
    return options, words


def _is_option(parser: argparse.ArgumentParser, argument: str, *, free_text: bool) -> bool:
    if " " in argument.split("=", 1)[0]:
        return False  # a quoted sentence
    if _LONG.match(argument) or argument in parser._option_string_actions:
        return True
    return not free_text and re.match(r"-[A-Za-z]", argument) is not None


def _action(parser: argparse.ArgumentParser, name: str) -> argparse.Action:
    """Return what an option does; the beginning of its name is enough if no other has it."""
    known = parser._option_string_actions
    if name in known:
        return known[name]
    longer = {id(action): action for each, action in known.items() if each.startswith(name)}
    if len(longer) == 1 and name.startswith("--"):
        return next(iter(longer.values()))
    if longer and name.startswith("--"):
        named = " or ".join(each for each in known if each.startswith(name))
        parser.error(f"{name} could mean {named}.")
    parser.error(f"there is no option {name}.{meant(name, _offered(parser))}")


def _offered(parser: argparse.ArgumentParser) -> Iterable[str]:
    return [
        name
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for name in action.option_strings
        if name.startswith("--")
    ]


def meant(name: str, known: Iterable[str]) -> str:
    """Return the question whether something else was meant; "" if nothing is like it."""
    import difflib  # hardly any command line needs it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""
