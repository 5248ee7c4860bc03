"""Runs a program in a terminal of its own: a pseudo-terminal, its bytes, and what they show.

Nothing here sleeps for a fixed time: everything waits for something, with a deadline.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.recording import recording
from tests.e2e.screen import ALTERNATE, Screen

PATIENCE = 60.0
"""Seconds after which something that should happen counts as not happening."""

# A session of its own with this terminal as the controlling one, so that Ctrl+C, hang-up and
# window changes arrive as they do in real life, also when the tests themselves run in the
# background, where a shell has Ctrl+C ignored. Not a preexec_fn: the test has threads.
_START = (
    "import fcntl, os, signal, sys, termios; os.setsid(); fcntl.ioctl(2, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execvpe(sys.argv[1], sys.argv[1:], os.environ)"
)

KEYS = {
    "enter": b"\r", "escape": b"\x1b", "tab": b"\t", "shift+tab": b"\x1b[Z", "space": b" ",
    "backspace": b"\x7f", "delete": b"\x1b[3~", "up": b"\x1b[A", "down": b"\x1b[B",
    "right": b"\x1b[C", "left": b"\x1b[D", "home": b"\x1b[H", "end": b"\x1b[F",
    "pageup": b"\x1b[5~", "pagedown": b"\x1b[6~", "f1": b"\x1bOP", "f2": b"\x1bOQ",
    "f3": b"\x1bOR", "f4": b"\x1bOS", "f6": b"\x1b[17~", "f9": b"\x1b[20~",
}  # fmt: skip
KEYS |= {f"ctrl+{letter}": bytes([ord(letter) - 96]) for letter in "abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program left its terminal."""

    code: int
    """As a shell says it: 128 and the signal for a program that a signal ended."""
    output: bytes
    clean: bool
    """Main screen, visible cursor, no mouse, no paste mode, and the line settings as before."""
    why: str
    """What is not clean."""
    after: str
    """What stands on the main screen."""


class Terminal:
    """One program in one terminal."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        *,
        size: tuple[int, int] = (120, 36),
        folder: Path | None = None,
        stdout: int | None = None,
        stdin: int | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        self._wake = os.pipe()
        self._is_open = True
        self.screen = Screen(*size)
        self._set_size(*size)
        self._before = _line_settings(self._master)
        self._output = bytearray()
        self._recording = recording(size)
        self._news = threading.Condition()
        self._trouble: BaseException | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, *map(str, command)],
            stdin=slave if stdin is None else stdin,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            env=dict(environment),
            cwd=folder,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._wake[0]], [], [])
            if self._master not in ready:
                return
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # EIO: everybody has closed the terminal
                data = b""
            with self._news:
                try:
                    self.screen.feed(data)
                except BaseException as error:
                    self._trouble = error
                self._output += data
                if self._recording is not None:
                    self._recording.output(data)
                self._news.notify_all()
            if not data or self._trouble is not None:
                return

    # -- input -----------------------------------------------------------------------------

    def send(self, *keys: str) -> None:
        """Press keys by name, one after the other.

        Escape can only be the last one: what follows at once would make it Alt.
        """
        assert "escape" not in keys[:-1]
        for key in keys:
            self.send_raw(KEYS[key] if key in KEYS else key.encode())

    def type(self, text: str) -> None:
        """Type text."""
        self.send_raw(text.encode())

    def send_raw(self, data: bytes) -> None:
        """Write bytes as a keyboard or a mouse does."""
        while data:
            select.select([], [self._master], [], PATIENCE)
            data = data[os.write(self._master, data) :]

    def click(self, column: int, row: int) -> None:
        """Press and release the left button on a cell, counted from zero."""
        for end in "Mm":
            self.send_raw(f"\x1b[<0;{column + 1};{row + 1}{end}".encode())

    def wheel(self, column: int, row: int, *, down: bool = True) -> None:
        """Turn the wheel by one notch."""
        self.send_raw(f"\x1b[<{65 if down else 64};{column + 1};{row + 1}M".encode())

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal larger or smaller."""
        with self._news:
            self.screen.resize(columns, rows)
            self._set_size(columns, rows)
            if self._recording is not None:
                self._recording.resized(columns, rows)

    def _set_size(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    # -- output ----------------------------------------------------------------------------

    @property
    def output(self) -> bytes:
        """All bytes that were written so far."""
        with self._news:
            return bytes(self._output)

    @property
    def text(self) -> str:
        """What is on screen now."""
        with self._news:
            return self.screen.text

    @property
    def lines(self) -> list[str]:
        """What is on screen now, row by row."""
        with self._news:
            return self.screen.lines

    def wait_for(self, *texts: str, seconds: float = PATIENCE) -> None:
        """Wait until all texts are on screen at once."""
        self.wait_until(
            lambda screen: all(text in screen.text for text in texts), repr(texts), seconds
        )

    def wait_read(self, text: str) -> None:
        """Wait until the reading pane, at the right, shows a text."""
        self.wait_until(
            lambda screen: any(text in line.rpartition("││")[2] for line in screen.lines),
            f"{text!r} at the right",
        )

    def wait_gone(self, *texts: str, seconds: float = PATIENCE) -> None:
        """Wait until none of the texts is on screen."""
        self.wait_until(
            lambda screen: not any(text in screen.text for text in texts),
            f"no {texts!r}",
            seconds,
        )

    def wait_until(
        self, test: Callable[[Screen], bool], what: str, seconds: float = PATIENCE
    ) -> None:
        """Wait until the screen passes a test."""
        with self._news:
            deadline = time.monotonic() + seconds
            while not test(self.screen):
                if self._trouble is not None:
                    raise self._trouble
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    raise AssertionError(f"{what} did not appear on\n{self.screen.text}")
                self._news.wait(min(left, 0.5))

    def wait_open(self, seconds: float = PATIENCE) -> None:
        """Wait until the program has taken the whole screen."""
        self.wait_until(lambda screen: ALTERNATE in screen.modes, "the screen", seconds)

    def wait_written(self, data: bytes, seconds: float = PATIENCE) -> None:
        """Wait until some bytes were written."""
        with self._news:
            assert self._news.wait_for(lambda: data in self._output, seconds), data

    # -- the end ---------------------------------------------------------------------------

    def has_ended(self, seconds: float) -> bool:
        """Tell whether the program ends within some time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def hang_up(self, seconds: float = PATIENCE) -> int:
        """Close the window: the terminal vanishes. Return the exit code of the program."""
        self._shut()
        return _code(self.process.wait(seconds))

    def _shut(self) -> None:
        if self._is_open:
            self._is_open = False
            os.write(self._wake[1], b"!")
            self._reader.join(PATIENCE)
            for descriptor in (self._master, *self._wake):
                os.close(descriptor)
            if self._recording is not None:
                self._recording.close()

    def finish(self, seconds: float = PATIENCE) -> Ended:
        """Wait for the end of the program and say how it left the terminal."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program does not end:\n{self.text}") from None
        self._reader.join(seconds)
        assert not self._reader.is_alive(), "somebody still holds the terminal"
        if self._trouble is not None:
            raise self._trouble
        line = _line_settings(self._master) == self._before
        modes = sorted(self.screen.modes ^ {25, 7})
        why = "" if line else "line settings differ; "
        why += f"modes: {modes}" if not self.screen.is_clean else ""
        return Ended(
            code=_code(code),
            output=self.output,
            clean=line and self.screen.is_clean,
            why=why,
            after=self.text,
        )

    def close(self) -> None:
        """End the program if it still runs, and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        self._shut()


def _line_settings(descriptor: int) -> list[Any]:
    return termios.tcgetattr(descriptor)


def _code(code: int) -> int:
    return code if code >= 0 else 128 - code
