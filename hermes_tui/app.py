"""The application: theme, keys, style sheets, and what happens when something goes wrong."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from textual import events
from textual.binding import Binding
from textual.notifications import SeverityLevel
from textual.reactive import var
from textual.screen import Screen

from hermes_store.records.safe_text import clean
from hermes_store.records.upkeep_reports import MaintenanceReport
from hermes_tui import actions
from hermes_tui.browse.key_hints import scope_of
from hermes_tui.browse.resuming import OpenChat
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.crash_log import write_crash_log
from hermes_tui.opening.first_list_rows import Head
from hermes_tui.opening.kept_state import Kept, path_for, save
from hermes_tui.opening.start_options import Choice, Opening
from hermes_tui.presentation import themes
from hermes_tui.presentation.fit_text import short_path
from hermes_tui.presentation.numbers import plural
from hermes_tui.store_access import Access, Answer, Failed
from hermes_tui.textual_private import QuietApp
from hermes_tui.widgets.line_view import STYLES
from hermes_tui.widgets.notice import Keep

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.dom import DOMNode

    from hermes_tui.chat.screen import ChatScreen

SHEETS = ("app.tcss", "browse.tcss")
"""What the browser needs; dialogs, and the chat above it, bring their own when they open."""
HANG_UP_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""How long nobody must have touched anything before old conversations are pruned."""
LOOK_SECONDS = 15.0
REPAINT_SECONDS = 0.1
"""Longer than Textual waits for the last of several sizes."""


@runtime_checkable
class Talks(Protocol):
    """A screen with an answer that can be stopped, and a session to end before leaving."""

    def stop_answer(self) -> bool:
        """Stop the answer under way; tell whether there was one."""

    def interrupt(self) -> None:
        """Do what Ctrl+C means while no answer is coming."""

    def action_quit(self, code: int = 0) -> None:
        """Leave the program."""


@runtime_checkable
class HoldsKeys(Protocol):
    """A screen on which what was typed may have to be answered before the next key."""

    @property
    def holds_keys(self) -> bool:
        """Whether the next key has to wait."""


def _take_sizes_in_turn(loop: asyncio.AbstractEventLoop) -> None:
    """Have Textual look at a new size of the terminal only between two events.

    Its handler runs wherever the program happens to be, even inside itself: a window that is
    dragged could then leave an old size as the last word.
    """
    handler = signal.getsignal(signal.SIGWINCH)
    if callable(handler):
        look = partial(handler, signal.SIGWINCH, None)
        loop.add_signal_handler(signal.SIGWINCH, look)
        look()


def _palette() -> type[Provider]:
    """Return the palette's commands; loaded when the palette first opens."""
    from hermes_tui.dialogs.palette import Actions

    return Actions


class HermesApp(QuietApp[Choice]):
    """The browser."""

    TITLE = "Hermes sessions"
    COMPONENT_CLASSES = {f"line--{name}" for name in STYLES}  # noqa: RUF012
    COMMANDS = {_palette}  # noqa: RUF012
    # Below 72 columns list and right side take turns; below 18 lines frames are left out.
    HORIZONTAL_BREAKPOINTS = [(0, "-single"), (72, "-double")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]  # noqa: RUF012
    BINDINGS = [Binding("ctrl+c", "interrupt", show=False, priority=True)]  # noqa: RUF012

    kept: var[Kept] = var(Kept(), init=False)
    """What is remembered between two runs; widgets watch it, `keep` changes it."""

    class Pruned(Answer[MaintenanceReport]):
        """Old conversations were pruned automatically."""

    def __init__(self, access: Access, opening: Opening, head: Head | None = None) -> None:
        sheets = (*SHEETS, "chat.tcss") if opening.chat_first else SHEETS
        super().__init__(
            css_path=[themes.styles_folder() / name for name in sheets],
            # Textual chooses its filter for NO_COLOR here, before it knows the theme; for its
            # first theme that would be one that turns the terminal's own colours into black on
            # black.
            ansi_color=True if os.environ.get("NO_COLOR") else None,
        )
        self.access = access
        self._opening = opening
        self._head = head
        self.set_reactive(HermesApp.kept, opening.kept)
        self._keys = actions.with_kept(opening.keys, opening.kept.keys)
        """Other keys for actions, which the settings can change."""
        self.crash_log: Path | None = None
        self.report_crash = self._write_crash_log
        self._early: list[events.Key | events.Paste] | None = []
        """What was typed or pasted before there was anything to type into; None from then on."""
        self._used_at = time.monotonic()
        """When somebody last pressed a key or moved the mouse."""
        self._shape: frozenset[str] | None = None
        """The classes of the first screen as it was made."""
        for theme in themes.OWN:
            self.register_theme(theme)
        self.theme = opening.theme
        self.stylesheet.set_variables(self.get_css_variables())
        self.set_keymap(self._keys)

    def get_default_screen(self) -> Screen[Choice]:
        """Begin with the first screen, in the shape that fits: styling it twice takes time."""
        screen = self._first_screen()
        for room, steps in zip(
            self.size, (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS), strict=True
        ):
            screen.add_class([name for least, name in steps if room >= least][-1])
        self._shape = screen.classes
        return screen

    def refresh_css(self, animate: bool = True) -> None:
        """Style everything anew; before the first picture it is styled with this theme anyway."""
        if self._early is None:
            super().refresh_css(animate)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """Style a part anew; see `refresh_css`. A size that changes meanwhile changes the shape."""
        begun = self._early is None or not isinstance(node, Screen)
        if begun or node.classes != self._shape:
            super().update_styles(node, animate)

    def on_mount(self) -> None:
        """Give the terminal back when told to end, or when its window is closed."""
        if self.access.prunes and not self._opening.demo:
            self._caretaker = self.set_interval(LOOK_SECONDS, self._prune_when_idle)
        if os.name != "nt" and threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, partial(self.exit, return_code=128 + number))
            _take_sizes_in_turn(loop)
            if self.is_hung_up is not None:
                self.set_interval(HANG_UP_SECONDS, partial(self._leave_if, self.is_hung_up))

    def _prune_when_idle(self) -> None:
        """Prune as config.yaml says, once, while nobody uses the browser."""
        if time.monotonic() - self._used_at < IDLE_SECONDS:
            return
        self._caretaker.stop()
        self.access.auto_prune(self, self.Pruned, self._opening.sessions_dir)

    def on_hermes_app_pruned(self, event: Pruned) -> None:
        event.stop()
        report = event.value
        if report.error is not None:
            self._say(f"Automatic pruning stopped: {report.error}", error=True)
        elif report.pruned:
            self._say(
                f"Moved {plural(report.pruned, 'old session')} to trash (sessions.auto_prune). "
                "The trash (F4) restores them."
            )

    def on_failed(self, event: Failed) -> None:
        """Say why automatic pruning failed."""
        if event.question is self.Pruned:
            event.stop()
            self._say(str(event.error), error=True)

    def _say(self, sentence: str, *, error: bool = False) -> None:
        """Show a message in the status line of the browser, if it is open."""
        for screen in self.screen_stack:
            if isinstance(screen, BrowseScreen):
                screen.say(sentence, error=error)
                return
        self.notify(sentence, severity="warning" if error else "information")

    def _leave_if(self, is_hung_up: Callable[[], bool]) -> None:
        """Leave when the terminal is gone and the signal that says so went to somebody else."""
        if is_hung_up():
            self.exit(return_code=128 + signal.SIGHUP)

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed too early; Textual would lose it, or find the screen half made."""
        if isinstance(event, events.InputEvent):
            self._used_at = time.monotonic()
        interrupts = isinstance(event, events.Key) and event.key == "ctrl+c"
        typed = event if isinstance(event, events.Key | events.Paste) else None
        if self._early is not None and typed is not None and not interrupts:
            self._early.append(typed)
        else:
            await super().on_event(event)

    def on_resize(self) -> None:
        """Paint everything once more: a window dragged there and back has lost what was cut off."""
        if self._early is None:
            self.set_timer(REPAINT_SECONDS, self.refresh)

    def must_keys_wait(self) -> bool:
        """Tell whether something waits for the answer to what was typed before."""
        return isinstance(self.screen, HoldsKeys) and self.screen.holds_keys

    async def on_ready(self) -> None:
        """Hand over what was typed too early, and collect garbage again from here on."""
        gc.freeze()
        gc.enable()
        early, self._early = self._early or [], None
        for event in early:
            await super().on_event(event)

    def _first_screen(self) -> Screen[Choice]:
        opening = self._opening
        if opening.chat_first and opening.open_chat is not None:
            return self._chat(opening.state.session_id)
        return BrowseScreen(self.access, opening, self._keys, self._head)

    def _chat(self, session_id: str | None) -> ChatScreen:
        from hermes_tui.chat.screen import ChatScreen

        assert self._opening.open_chat is not None
        return ChatScreen(self.access, self._opening, self._opening.open_chat, session_id)

    def on_open_chat(self, event: OpenChat) -> None:
        """Open the chat above the browser."""
        self.push_screen(self._chat(event.session_id), event.then)

    def on_chat_screen_open_browser(self, event: ChatScreen.OpenBrowser) -> None:
        """Open the browser above the chat."""
        screen = BrowseScreen(self.access, self._opening.choosing(event.query), self._keys)
        self.push_screen(screen, event.then)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a message at the edge of the screen; it is text, never markup."""
        super().notify(
            clean(message), title=clean(title), severity=severity, timeout=timeout, markup=False
        )

    async def on_unmount(self) -> None:
        """Close the store once everything is written, without holding up the screen."""
        await asyncio.to_thread(self.access.close)

    def action_help(self) -> None:
        """Show all keys."""
        from hermes_tui.dialogs.help import HelpScreen

        scope = scope_of(self.focused) if isinstance(self.screen, BrowseScreen) else None
        self.push_screen(HelpScreen(self._keys, scope))

    def action_stats(self) -> None:
        """Show figures; a day that is chosen there is searched for."""
        from hermes_tui.figures.screen import FiguresScreen

        below = self.screen

        def search(day: date | None) -> None:
            if day is not None and isinstance(below, BrowseScreen):
                below.search.text = f"on:{day.isoformat()}"
                below.search.field.focus()

        now, demo = self._opening.clock(), self._opening.demo
        self.push_screen(FiguresScreen(self.access, now, demo=demo), search)

    def action_settings(self) -> None:
        """Choose theme, keys and what the list looks like; the dialog says `Keep`."""
        from hermes_tui.dialogs.settings import IN_DEMO, NOT_SAVED, SettingsDialog

        opening = self._opening
        saved = f"Saved in {short_path(path_for(opening.database))}"
        saved = IN_DEMO if opening.demo else saved if opening.keeps else NOT_SAVED
        self.push_screen(SettingsDialog(self.kept, opening.keys, saved))

    def watch_kept(self, before: Kept, now: Kept) -> None:
        """Use other keys at once; the dictionary is the one that the screens have."""
        if before.keys != now.keys:
            self._keys.clear()
            self._keys.update(actions.with_kept(self._opening.keys, now.keys))
            self.set_keymap(self._keys)

    def on_keep(self, event: Keep) -> None:
        """Remember what a widget says was chosen."""
        event.stop()
        self.keep(**event.changes)

    def keep(self, **changes: Any) -> None:
        """Remember a choice, given as fields of `Kept`, for the next time."""
        changed = {name for name, value in changes.items() if getattr(self.kept, name) != value}
        if not changed:
            return
        kept = self.kept = replace(self.kept, **changes)
        if self._opening.keeps:
            path = path_for(self._opening.database)
            self.access.note(lambda: save(path, kept, frozenset(changed)))

    def action_interrupt(self) -> None:
        """Copy a selection, or go one step back: the answer, the chat, the program."""
        screen = self.screen
        if isinstance(screen, Talks) and screen.stop_answer():
            return
        selected = screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
        elif isinstance(screen, Talks):
            screen.interrupt()
        elif isinstance(screen, BrowseScreen) and screen.opening.chooser:
            screen.dismiss(None)
        else:
            self._leave(130)

    async def action_quit(self) -> None:
        """Leave, in the way of the screen: the key is the application's before it is a screen's."""
        self._leave(0)

    def _leave(self, code: int) -> None:
        """Leave the program; a chat, even below other screens, ends its session first."""
        talk = next((each for each in self.screen_stack[::-1] if isinstance(each, Talks)), None)
        if talk is not None:
            talk.action_quit(code)
        else:
            self.exit(return_code=code)

    def _write_crash_log(self, error: Exception) -> None:
        if self.crash_log is None:  # later errors only follow from the first
            home = None if self._opening.demo else self.access.database.parent
            self.crash_log = write_crash_log(error, home)
