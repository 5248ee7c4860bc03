"""Showing a text in another program that takes over the terminal: a pager or an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

FALLBACKS = {"PAGER": ("less", "more"), "EDITOR": ("vi", "nano")}


def command(variable: str) -> list[str] | str:
    """Return the command that an environment variable names, or a sentence why there is none."""
    wanted = os.environ.get(variable, "").strip()
    if wanted:
        try:
            words = shlex.split(wanted)
        except ValueError:
            return f"${variable} is not a command: {wanted}"
        if words and shutil.which(words[0]):
            return words
        return f"${variable} names a program that was not found: {wanted}"
    for name in FALLBACKS[variable]:
        if shutil.which(name):
            return [name]
    return f"${variable} is not set, and {FALLBACKS[variable][0]} was not found."


def show(app: App[Any], words: Sequence[str], text: str) -> str | None:
    """Show a text in another program until it ends; return a sentence if that failed.

    The file with the text can be read by this user only, and is gone afterwards.
    """
    try:
        with _file(text) as path, app.suspend():
            # Textual does not come back from an error in here.
            return _run([*words, str(path)])
    except SuspendNotSupported:
        return "This terminal cannot be handed over to another program."
    except OSError as error:
        return f"A temporary file could not be written: {error.strerror}."


@contextmanager
def _file(text: str) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="hermes-", suffix=".md")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _run(words: list[str]) -> str | None:
    # Ctrl+C belongs to the other program. A handler, unlike SIG_IGN, is not handed down to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        subprocess.run(words, check=False)
    except OSError as error:
        return f"{words[0]} could not be started: {error.strerror}."
    finally:
        signal.signal(signal.SIGINT, before)
    return None
