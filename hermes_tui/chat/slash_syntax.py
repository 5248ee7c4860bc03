"""The slash commands of a chat: names, arguments and summaries."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from hermes_store.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Command:
    """A command and its summary."""

    name: str
    takes: str
    """Its argument, as shown to the user."""
    about: str

    @property
    def usage(self) -> str:
        """The command with its argument."""
        return f"/{self.name} {self.takes}".strip()


COMMANDS = (
    Command("title", "[name]", "show or set the title"),
    Command("compress", "", "replace older messages with a summary"),
    Command("resume", "[name]", "resume another conversation, by title, id or number"),
    Command("sessions", "", "open the browser"),
    Command("search", "words", "search all conversations in the browser"),
    Command("new", "", "start a new conversation"),
    Command("branch", "[name]", "continue in a copy; this conversation stays unchanged"),
    Command("undo", "", "undo your last message and its answer"),
    Command("retry", "", "ask for a new answer to your last message"),
    Command("export", "[file]", "export this conversation to a file"),
    Command("help", "", "show commands and keys"),
    Command("quit", "", "quit Hermes"),
)
BY_NAME = {command.name: command for command in COMMANDS}
KEYS = (
    "Enter sends, Shift+Enter or Ctrl+J starts a new line, Up recalls earlier messages. Esc "
    "stops an answer or leaves, and keeps what you typed; Ctrl+C also clears the field first. "
    "PgUp and PgDn scroll, Ctrl+T shows the recap."
)
ALIASES = {"exit": "quit", "q": "quit", "compact": "compress", "history": "sessions", "?": "help"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """A command as typed."""

    name: str
    rest: str


def parse(text: str) -> Spoken | None:
    """Return the command in a text; None for a message. InvalidInput for an unknown command.

    A text of several lines, or one that starts with a path, is a message.
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
    hint = f"Did you mean /{near[0]}?" if near else "/help shows all commands."
    raise InvalidInput(f"Unknown command /{name}. {hint}")


def matching(text: str) -> list[Command]:
    """Return the commands that start with the typed text."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return []
    return [command for command in COMMANDS if command.name.startswith(text[1:].lower())]


def is_whole(text: str) -> bool:
    """Return whether a text is the whole name of a command."""
    name = text.removeprefix("/").lower()
    return name in BY_NAME or name in ALIASES


def completion(command: Command) -> str:
    """Return the text for the field, ready for an argument if there is one."""
    return f"/{command.name} " if command.takes else f"/{command.name}"


def worth_keeping(text: str) -> str:
    """Return a text as a draft: nothing of blanks or of the beginning of a command."""
    return text if text.strip() and not matching(text) else ""


def help_text() -> str:
    """Return the commands and keys, for /help."""
    lines = [command.usage.ljust(17) + command.about for command in COMMANDS]
    return "\n".join([KEYS, "", *lines])
