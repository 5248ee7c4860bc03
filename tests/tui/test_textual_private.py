"""Parts of Textual that it does not promise to keep, tested against the installed version."""

from __future__ import annotations

import ast
import asyncio
import os
import pty
import re
import sys
import termios
import time
from collections.abc import Callable, Iterable
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
import textual
from packaging.requirements import Requirement
from textual import constants, events
from textual.app import App
from textual.binding import Binding
from textual.drivers.linux_driver import LinuxDriver
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from hermes_tui import textual_private
from hermes_tui.textual_private import LOCAL_MODES, TAKE_SCREEN, KeysFirst, QuietApp
from tests.house import ROOT

PRIVATE = re.compile(r"_[a-z]\w*")


class Plain(QuietApp[None]):
    """An application that shows nothing."""


def drive(app: App[Any], script: Any) -> None:
    async def run() -> None:
        async with app.run_test() as pilot:
            await script(pilot)

    asyncio.run(run())


def test_nothing_is_written_to_the_log_of_textual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        pilot.app.post_message(events.Paste("a secret"))
        await pilot.pause()

    log = tmp_path / "textual.log"
    monkeypatch.setattr(constants, "LOG_FILE", str(log))
    drive(App(), script)
    assert "a secret" in log.read_text(encoding="utf-8")
    log.unlink()
    drive(Plain(), script)
    assert not log.exists()


def test_nothing_is_told_to_the_tools_of_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = ModuleType("textual_dev.client")
    client.DevtoolsClient = lambda _: object()
    redirect: Any = ModuleType("textual_dev.redirect_output")
    redirect.StdoutRedirector = lambda _: object()
    for module in (ModuleType("textual_dev"), client, redirect):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("TEXTUAL", "devtools")
    assert App().devtools is not None
    assert Plain().devtools is None


def test_an_error_is_handed_over_and_prints_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Exception] = []
    app = Plain()
    app.report_crash = told.append

    def fail() -> None:
        raise ZeroDivisionError("something unexpected")

    async def script(pilot: Pilot[None]) -> None:
        app.call_later(fail)
        await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        drive(app, script)
    assert [type(error) for error in told] == [ZeroDivisionError]
    assert app.return_code == 1
    app._print_error_renderables()
    assert "something unexpected" not in "".join(capsys.readouterr())


def test_an_error_on_the_way_out_is_not_handed_over() -> None:
    told: list[Exception] = []
    app = Plain()
    app.report_crash = told.append

    async def script(pilot: Pilot[None]) -> None:
        app.exit()
        app._handle_exception(ZeroDivisionError("too late"))

    drive(app, script)
    assert not told
    assert app.return_code == 0


def test_the_driver_is_ours_unless_another_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Plain().get_driver_class() is KeysFirst
    monkeypatch.setattr(
        "textual.constants.DRIVER", "textual.drivers.headless_driver:HeadlessDriver"
    )
    assert Plain().get_driver_class().__name__ == "HeadlessDriver"


class Wire:
    """Where the driver sends what it writes."""

    def __init__(self, look: Callable[[], bool]) -> None:
        self.by_lines: dict[str, bool] = {}
        self._look = look

    def write(self, text: str) -> None:
        self.by_lines[text] = self._look()


def test_keys_are_taken_before_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    terminal = os.fdopen(theirs, "rb", buffering=0)
    monkeypatch.setattr("sys.__stdin__", terminal)
    wire = Wire(lambda: bool(termios.tcgetattr(theirs)[LOCAL_MODES] & termios.ICANON))

    async def script() -> None:
        driver = KeysFirst(Plain())
        monkeypatch.setattr(driver, "_writer_thread", wire)
        before = termios.tcgetattr(theirs)
        driver.write("nothing special")
        driver.write(TAKE_SCREEN)
        assert wire.by_lines == {"nothing special": True, TAKE_SCREEN: False}
        assert driver._before == before
        assert not driver.is_hung_up()
        os.close(ours)
        assert driver.is_hung_up()

    asyncio.run(script())
    terminal.close()


def test_textual_still_takes_the_screen_with_the_same_text() -> None:
    source = Path(textual.__file__).parent / "drivers" / "linux_driver.py"
    assert repr(TAKE_SCREEN)[1:-1] in source.read_text(encoding="utf-8")
    for name in ("_patch_iflag", "_patch_lflag", "attrs_before"):
        assert hasattr(LinuxDriver, name) or f"self.{name}" in source.read_text(encoding="utf-8")


class Question(ModalScreen[str]):
    """A dialog with a field."""

    def compose(self) -> Iterable[Widget]:
        yield Input("before")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Typing(QuietApp[None]):
    """An application with two fields and a dialog."""

    BINDINGS: ClassVar = [Binding("ctrl+g", "ask", priority=True), Binding("f2", "area")]
    waits = False

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[str | None] = []

    def compose(self) -> Iterable[Widget]:
        yield Input()
        yield TextArea()

    def must_keys_wait(self) -> bool:
        return self.waits

    def action_ask(self) -> None:
        self.push_screen(Question(), self.answers.append)

    def action_area(self) -> None:
        self.query_one(TextArea).focus()

    def send(self, *keys: str) -> None:
        """Deliver keys as if they came in one read."""
        for key in keys:
            self.post_message(events.Key(key, key if len(key) == 1 else None))

    async def done(self, pilot: Pilot[None]) -> None:
        """Wait until every key was handed out and handled."""
        deadline = time.monotonic() + 60
        while self._typed:
            assert time.monotonic() < deadline, "keys are held"
            await pilot.pause(0.01)
        await pilot.pause()


def test_each_key_is_done_before_the_next_begins() -> None:
    app = Typing()

    async def script(pilot: Pilot[None]) -> None:
        app.send(*"xyz", *["backspace"] * 3, *"abc", "left", "d")
        app.send("ctrl+g", *"new", "backspace", "x", "enter", "e")
        app.send("f2", *"one", "enter", "backspace", "home", "t", "ctrl+z", "t")
        await app.done(pilot)
        assert app.query_one(Input).value == "abdec"
        assert app.answers == ["nex"]
        assert app.query_one(TextArea).text == "tone"
        app.send("a")
        app.post_message(events.Paste("pasted"))
        app.send("left", "b")
        await app.done(pilot)
        assert app.query_one(TextArea).text == "tapastebdone"
        assert app._handed_out == 33

    drive(app, script)


def test_keys_wait_for_what_an_earlier_one_began_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Typing()

    async def script(pilot: Pilot[None]) -> None:
        monkeypatch.setattr(textual_private, "PATIENCE", 60.0)
        app.waits = True
        app.send("a")
        await pilot.pause(0.1)
        assert app.query_one(Input).value == ""
        app.waits = False
        await app.done(pilot)
        assert app.query_one(Input).value == "a"
        app.waits = True
        app.send("escape", "b")
        deadline = time.monotonic() + 30
        while app._handed_out < 2:
            assert time.monotonic() < deadline
            await pilot.pause(0.01)
        await pilot.pause(0.1)
        assert app._handed_out == 2, "Escape does not wait"
        monkeypatch.setattr(textual_private, "PATIENCE", 0.0)
        await app.done(pilot)
        assert app.query_one(Input).value == "ab"

    drive(app, script)


def test_there_is_an_upper_bound_on_textual() -> None:
    [wanted] = [
        found
        for found in map(Requirement, requires("hermes-sessions") or ())
        if found.name == "textual"
    ]
    assert any(each.operator == "<" for each in wanted.specifier)


def _private_names_of_textual() -> set[str]:
    """Return the private methods and attributes of everything the program subclasses."""
    found: set[str] = set()
    for name in ("app.py", "screen.py", "widget.py", "dom.py", "message_pump.py", "driver.py"):
        text = (Path(textual.__file__).parent / name).read_text(encoding="utf-8")
        found.update(re.findall(r"(?:def|self\.)\s*(_[a-z]\w*)", text))
    return found


def _uses(path: Path, private: set[str]) -> list[str]:
    """Return private names of Textual that a module overrides, or uses without owning them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    own = functions | {each.attr for each in attributes if isinstance(each.ctx, ast.Store)}
    found = [
        each.attr
        for each in attributes
        if each.attr in private and (each.attr not in own or ast.unparse(each.value) == "super()")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
            found += [part for part in f"{node.module}".split(".") if PRIVATE.fullmatch(part)]
            found += [each.name for each in node.names if PRIVATE.fullmatch(each.name)]
    return found


def test_private_parts_are_used_in_one_module_only() -> None:
    private = _private_names_of_textual()
    uses = {
        path.relative_to(ROOT).as_posix(): found
        for path in sorted((ROOT / "hermes_tui").rglob("*.py"))
        if (found := _uses(path, private))
    }
    assert list(uses) == ["hermes_tui/textual_private.py"], uses
    assert {"_driver", "_exit", "_handle_exception"} <= set(uses["hermes_tui/textual_private.py"])
