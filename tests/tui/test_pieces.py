"""Small parts by themselves: copying, themes, crash logs."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from hermes_store.errors import ConfigError
from hermes_store.version import __version__
from hermes_tui.crash_log import write_crash_log
from hermes_tui.presentation import themes
from hermes_tui.widgets import clipboard
from tests.tui import stock
from tests.tui.running import drive, listed, main, make_app, press, shown

AVAILABLE = {*BUILTIN_THEMES, *(theme.name for theme in themes.OWN)}

# -- copying -----------------------------------------------------------------------------------


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, beside a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def make_tool(folder: Path, name: str, script: str) -> None:
    """Put an executable of this name on PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


TAKE = 'printf "%s " "$0" "$@" >"$HOME/copied"; while IFS= read -r line; do printf "%s\\n" "$line"'
TAKE += ' >>"$HOME/copied"; done'


@pytest.mark.parametrize(
    ("variable", "name", "arguments"),
    [
        ("WAYLAND_DISPLAY", "wl-copy", ""),
        ("DISPLAY", "xclip", "-selection clipboard "),
        ("DISPLAY", "xsel", "--clipboard --input "),
        ("TMUX", "tmux", "load-buffer -w - "),
        ("", "pbcopy", ""),
        ("", "clip.exe", ""),
    ],
)
def test_the_tool_that_fits_gets_the_text(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    variable: str, name: str, arguments: str,
) -> None:  # fmt: skip
    make_tool(tools, name, TAKE)
    if variable:
        assert clipboard.tool() is None, "without its display it would fail"
        monkeypatch.setenv(variable, ":0")
    assert clipboard.copy_with_tool("grüße\n世界\n")
    head = f"{tools / name} {arguments}"
    assert (tmp_path / "copied").read_text(encoding="utf-8") == f"{head}grüße\n世界\n"


def test_without_a_tool_nothing_is_copied(tools: Path) -> None:
    assert clipboard.tool() is None
    assert not clipboard.copy_with_tool("text")


def test_a_tool_that_fails_is_not_believed(tools: Path) -> None:
    make_tool(tools, "pbcopy", "exit 3")
    assert not clipboard.copy_with_tool("text")


def test_a_tool_that_hangs_is_left(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "SECONDS", 0.2)
    make_tool(tools, "pbcopy", "while :; do :; done")
    assert not clipboard.copy_with_tool("text")


def test_a_tool_that_cannot_run_is_no_crash(tools: Path) -> None:
    make_tool(tools, "pbcopy", "")
    (tools / "pbcopy").write_bytes(b"\x7fELF no program at all")
    assert not clipboard.copy_with_tool("text")


# -- themes ------------------------------------------------------------------------------------


def test_our_themes_are_there(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        assert {themes.DARK, themes.LIGHT, themes.COLOURLESS} <= set(pilot.app.available_themes)

    drive(make_app(sample), script)


@pytest.mark.parametrize(
    ("wanted", "environment", "chosen"),
    [
        ("auto", {}, themes.DARK),
        ("auto", {"TEXTUAL_THEME": "nord"}, "nord"),
        ("auto", {"TEXTUAL_THEME": "no-such-theme"}, themes.DARK),
        ("nord", {}, "nord"),
        (themes.LIGHT, {"TEXTUAL_THEME": "nord"}, themes.LIGHT),
        ("nord", {"NO_COLOR": "1"}, themes.COLOURLESS),
        ("nord", {"NO_COLOR": ""}, "nord"),
    ],
)
def test_which_theme_it_is(
    wanted: str, environment: dict[str, str], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert themes.chosen(wanted, AVAILABLE) == chosen


@pytest.mark.parametrize(
    ("wanted", "hint"), [("nrod", "Did you mean 'nord'?"), ("qqqqq", "Available: ansi-dark, ")]
)
def test_a_theme_that_is_not_there(wanted: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"has an unknown theme '{wanted}'") as error:
        themes.chosen(wanted, AVAILABLE)
    assert hint in str(error.value)


# -- when something goes wrong -----------------------------------------------------------------


def test_a_crash_log_says_what_went_wrong(tmp_path: Path) -> None:
    try:
        raise RuntimeError("what somebody said \ud800")
    except RuntimeError as error:
        path = write_crash_log(error, tmp_path)
    assert path is not None and path.parent == tmp_path / "logs"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"hermes-sessions {__version__}\n")
    assert "RuntimeError" in text
    assert "what somebody said" not in text.replace('raise RuntimeError("what somebody said', "")
    assert "test_a_crash_log_says_what_went_wrong" in text


def test_where_there_is_no_room_it_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be", encoding="utf-8")
    other = tmp_path / "elsewhere"
    monkeypatch.setenv("TMPDIR", str(other))
    path = write_crash_log(ValueError("x"), tmp_path)
    assert path is not None and path.parent == other


def test_without_any_place_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "logs"
    blocker.write_text("", encoding="utf-8")
    monkeypatch.setenv("TMPDIR", str(blocker / "below"))
    assert write_crash_log(ValueError("x"), tmp_path) is None


def test_a_mistake_in_a_job_is_told_and_written_down(path: Path) -> None:
    stock.one(path)

    def fail(store: Any, stopped: Any) -> str:
        raise ZeroDivisionError("a mistake in the browser")

    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        screen.access.ask(screen.changes, screen.changes.Finished, fail)
        await press(pilot)
        assert "because of a bug in this program" in shown(pilot)
        assert listed(pilot), "the browser goes on"

    app = make_app(path)
    drive(app, script)
    assert app.crash_log is None
    [story] = (path.parent / "logs").iterdir()
    assert "builtins.ZeroDivisionError" in story.read_text(encoding="utf-8")
    assert story.stat().st_mode & 0o077 == 0
