"""Everything that relies on parts of Textual that it does not promise to keep.

Each part gives its reason, and `tests/tui/test_textual_private.py` tests each against the
installed version. `pyproject.toml` holds Textual below its next major version.
"""

from __future__ import annotations

import select
import termios
from collections.abc import Callable
from typing import Any, TypeVar

from textual import constants
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

TAKE_SCREEN = "\x1b[?1049h"
LOCAL_MODES, SPECIAL_CHARACTERS = 3, 6
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


class QuietApp(App[Result]):
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
