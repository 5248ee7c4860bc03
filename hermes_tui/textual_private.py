"""Everything that relies on parts of Textual that it does not promise to keep.

Each part gives its reason, and `tests/tui/test_textual_private.py` tests each against the
installed version. `pyproject.toml` holds Textual below its next major version.
"""

from __future__ import annotations

import asyncio
import select
import termios
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from textual import constants, events
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message_pump import MessagePump

TAKE_SCREEN = "\x1b[?1049h"
LOCAL_MODES, SPECIAL_CHARACTERS = 3, 6
PATIENCE = 3.0
"""Seconds after which a key no longer waits for the key before it."""
OFTEN, PAUSE = 200, 0.002
"""How many times to look at once whether a key is done, and the seconds between later looks."""
WAYS_OUT = ("escape", "ctrl+c", "ctrl+q")
Result = TypeVar("Result")


class KeysFirst(LinuxDriver):
    """A driver that reads single keys from the moment it takes the screen.

    Textual takes the screen first. Keys typed in between are still treated as a line of text:
    Ctrl+D ends it and is swallowed, and Enter becomes another key.
    """

    _before: list[Any] | None = None
    """The terminal's settings from before; Textual would remember ours instead."""

    def write(self, data: str) -> None:
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
            return  # the terminal is gone; Textual finds out for itself
        self._before = before

    def is_hung_up(self) -> bool:
        """Tell whether the terminal is gone; reading from it would then return at once forever."""
        look = select.poll()
        look.register(self.fileno, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in look.poll(0))

    def start_application_mode(self) -> None:
        self._before = None
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._before is not None:
            self.attrs_before = self._before


def _is_idle(pump: MessagePump) -> bool:
    """Tell whether a part of the screen waits for its next message and has none."""
    queue: Any = pump._message_queue
    waits = queue.empty() and bool(queue.ready_event._waiters)
    return waits and pump._pending_message is None and not pump._next_callbacks


class KeysInOrder(App[Result]):
    """An application in which each key is done before the next one begins.

    Textual hands all keys of one read out at once. A field inserts letters right away, while keys
    with a binding, such as Backspace, travel up to the application first: `xyz⌫⌫⌫abc` becomes
    `xyz`, and letters typed after a key that opens a dialog or moves the focus miss it
    (Textualize/textual #6605). A key is done when every part of the screen is idle again.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._typed: deque[events.Key | events.Paste] = deque()
        """What was typed or pasted and still waits for what was typed before."""
        self._handed_out = 0
        """How many keys and pasted texts there were so far."""
        self._asked_at = -1
        self._waiting_since = 0.0
        self._looks = 0

    def must_keys_wait(self) -> bool:
        """Tell whether a key has started something in the background that later keys rely on."""
        return False

    def is_asked_twice(self) -> bool:
        """Tell whether the very key before this one asked the same."""
        before, self._asked_at = self._asked_at, self._handed_out
        return before == self._handed_out - 1

    async def on_event(self, event: events.Event) -> None:
        """Take what is typed in turn, and everything else as it comes."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.append(event)
            if len(self._typed) == 1:
                self._begin_waiting()
        else:
            await super().on_event(event)

    def _begin_waiting(self) -> None:
        self._waiting_since, self._looks = time.monotonic(), 0
        asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        """Hand the next key out once the one before is done; otherwise look again soon."""
        if not self._typed:
            return
        if self._is_done() or time.monotonic() - self._waiting_since > PATIENCE:
            self.call_later(self._hand_out)
            return
        self._looks += 1
        pause = 0 if self._looks < OFTEN else PAUSE
        asyncio.get_running_loop().call_later(pause, self._look)

    async def _hand_out(self) -> None:
        if not self._typed:
            return
        self._handed_out += 1
        await super().on_event(self._typed[0])
        self._typed.popleft()
        if self._typed:
            self._begin_waiting()

    def _is_done(self) -> bool:
        if not self.screen_stack or not _is_idle(self):
            return False
        parts = self.screen.walk_children(with_self=True)
        return all(_is_idle(each) for each in parts) and not self._is_held()

    def _is_held(self) -> bool:
        event = self._typed[0]
        leaves = isinstance(event, events.Key) and event.key in WAYS_OUT
        return not leaves and self.must_keys_wait()


class QuietApp(KeysInOrder[Result]):
    """An application that tells nobody what people write.

    It hands an unexpected error over instead of printing pages of code; Textual has no public hook
    for an error that nothing caught. And it ignores TEXTUAL_LOG and TEXTUAL=devtools, with which
    Textual writes every event, pasted text included, to a file or to another program.
    """

    report_crash: Callable[[Exception], None] | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        setattr(constants, "LOG_FILE", None)  # noqa: B010  (declared final)
        super().__init__(*arguments, **options)
        self.devtools = None
        self._devtools_redirector = None

    def get_driver_class(self) -> type[Driver]:
        """Return `KeysFirst`, unless the environment names another driver."""
        found = super().get_driver_class()
        return KeysFirst if found is LinuxDriver else found

    @property
    def is_hung_up(self) -> Callable[[], bool] | None:
        """The way to find out whether the terminal is gone, if there is one."""
        return self._driver.is_hung_up if isinstance(self._driver, KeysFirst) else None

    def _handle_exception(self, error: Exception) -> None:
        if self._exit:
            return  # on the way out Textual mounts nothing more, and parts miss each other
        if self.report_crash is not None:
            self.report_crash(error)
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        self._exit_renderables.clear()
