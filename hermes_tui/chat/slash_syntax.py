"""Slash commands of a chat: their names, what they take, and what they mean."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from hermes_store.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Command:
    """A command and how it is used."""

    name: str
    takes: str
    """What may follow, for people."""
    about: str

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.takes}".strip()


COMMANDS = (
    Command("title", "[name]", "show the title, or give one"),
    Command("compress", "", "put a summary in the place of what was said long ago"),
    Command("resume", "[name]", "go on with another session"),
    Command("sessions", "", "open the browser"),
    Command("search", "words", "search all conversations in the browser"),
    Command("new", "", "begin a new session"),
    Command("branch", "[name]", "go on in a copy; this session stays as it is"),
    Command("undo", "", "take back what you said last, and the answer"),
    Command("retry", "", "ask for the last answer again"),
    Command("export", "[file]", "write this conversation to a file"),
    Command("help", "", "show the commands and keys"),
    Command("quit", "", "leave"),
)
BY_NAME = {command.name: command for command in COMMANDS}
KEYS = (
    "Enter sends, Shift+Enter or Ctrl+J starts a new line, Up brings back what you said, Esc "
    "stops an answer or leaves, PgUp and PgDn scroll, Ctrl+T shows the recap."
)
ALIASES = {"exit": "quit", "q": "quit", "compact": "compress", "history": "sessions", "?": "help"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """A command as it was typed."""

    name: str
    rest: str


def parse(text: str) -> Spoken | None:
    """Return the command in a text; None if it is none. InvalidInput for one that is not known.

    A text of several lines, or one that begins with a path, is something to say.
    """
    stripped = text.strip()
    if not stripped.startswith("/") or "\n" in stripped:
        return None
    name, _, rest = stripped[1:].partition(" ")
    wanted = ALIASES.get(name.lower(), name.lower())
    if wanted in BY_NAME:
        return Spoken(wanted, rest.strip())
    if "/" in name or not name:
        return None
    near = difflib.get_close_matches(wanted, BY_NAME, n=1)
    hint = f"Did you mean /{near[0]}?" if near else "/help shows all."
    raise InvalidInput(f"There is no command /{name}. {hint}")


def matching(text: str) -> list[Command]:
    """Return the commands that a text begins to name."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return []
    return [command for command in COMMANDS if command.name.startswith(text[1:].lower())]


def help_text() -> str:
    """Return all commands and keys."""
    lines = [command.usage.ljust(20) + command.about for command in COMMANDS]
    return "\n".join([*lines, "", KEYS])
