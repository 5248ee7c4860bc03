"""Copying text with the clipboard tool of the system, in addition to OSC 52.

No terminal reports whether it accepted the text, and tmux drops it by default.
"""

from __future__ import annotations

import os
import shutil
import subprocess

_TOOLS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("TMUX", ("tmux", "load-buffer", "-w", "-")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
SECONDS = 2.0


def tool() -> tuple[str, ...] | None:
    """Return the command that copies its input, if one is installed and usable."""
    for variable, command in _TOOLS:
        if (not variable or os.environ.get(variable)) and shutil.which(command[0]):
            return command
    return None


def copy_with_tool(text: str) -> bool:
    """Copy with a system tool; return whether that worked."""
    command = tool()
    if command is None:
        return False
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
