"""Textual's way to the terminal on Unix, with the keys taken over before the screen is."""

from __future__ import annotations

import select
import termios
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

TAKE_SCREEN = "\x1b[?1049h"
LOCAL_MODES, SPECIAL_CHARACTERS = 3, 6


class KeysFirst(LinuxDriver):
    """Reads single keys from the moment the screen is taken.

    Textual takes the screen first. What a person types at it in between is still treated as a
    line of text: Ctrl+D, its end, is swallowed, and Enter becomes another key.
    """

    _before: list[Any] | None = None
    """How the terminal was set before; Textual would remember our setting instead."""

    def write(self, data: str) -> None:
        """Write to the terminal."""
        if data == TAKE_SCREEN:
            self._take_keys()
        super().write(data)

    def _take_keys(self) -> None:
        try:
            before = termios.tcgetattr(self.fileno)
            wanted = termios.tcgetattr(self.fileno)
            wanted[0] = self._patch_iflag(wanted[0])
            wanted[LOCAL_MODES] = self._patch_lflag(wanted[LOCAL_MODES])
            wanted[SPECIAL_CHARACTERS][termios.VMIN] = 1
            termios.tcsetattr(self.fileno, termios.TCSANOW, wanted)
        except termios.error:
            return  # no terminal any more; Textual finds out for itself
        self._before = before

    def is_hung_up(self) -> bool:
        """Tell whether the terminal is gone; reading from it then ends at once, again and again."""
        look = select.poll()
        look.register(self.fileno, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in look.poll(0))

    def start_application_mode(self) -> None:
        """Take over the terminal."""
        self._before = None
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._before is not None:
            self.attrs_before = self._before
