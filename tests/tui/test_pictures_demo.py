"""Pictures of the demo as people see it: days, chips, completions, tabs, density, every size."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hermes_store.records.listing import Grouping, View
from hermes_tui.app import HermesApp
from hermes_tui.demo.sample import create
from hermes_tui.opening.kept_state import Kept
from hermes_tui.presentation import themes
from tests.tui.conftest import Snap, utc
from tests.tui.running import NOW, WIDE, Typed, make_app

SIZES = [(200, 50), WIDE, (80, 24), (40, 12)]
SHOWN = [WIDE, (80, 24), (40, 12)]


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's database, which nobody changes."""
    path = tmp_path_factory.mktemp("demo") / "state.db"
    with utc():
        create(path, NOW)
    return path


@pytest.fixture
def demo(demo_file: Path, tmp_path: Path) -> Path:
    """A copy of the demo's database, with what lies beside it."""
    for each in demo_file.parent.iterdir():
        if each.is_file():
            shutil.copy(each, tmp_path / each.name)
    return tmp_path / demo_file.name


def app(demo: Path, **opening: Any) -> HermesApp:
    return make_app(demo, view=View(group=Grouping.DATE), **opening)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_days(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_searching(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), Typed("docker"), size=size)


@pytest.mark.parametrize("theme", ["hermes-light", "ansi-dark", "ansi-light"])
def test_searching_in_other_colours(demo: Path, snap: Snap, theme: str) -> None:
    snap(app(demo, theme=theme), Typed("docker"), "tab")


def test_searching_without_colours(demo: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(app(demo, theme=themes.COLOURLESS), Typed("docker"), "tab")


@pytest.mark.parametrize("size", SHOWN, ids=str)
def test_chips(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), Typed("exit source:telegram after:30d"), size=size)


@pytest.mark.parametrize("size", SHOWN, ids=str)
def test_completions(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), Typed("docker source:"), "down", size=size)


@pytest.mark.parametrize("density", ["two", "table"])
@pytest.mark.parametrize("size", SHOWN, ids=str)
def test_density(demo: Path, snap: Snap, density: str, size: tuple[int, int]) -> None:
    snap(app(demo, kept=Kept(density=density)), "tab", size=size)


@pytest.mark.parametrize("size", SHOWN, ids=str)
def test_hidden_kinds(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), "tab", "h", size=size)


@pytest.mark.parametrize("size", SHOWN, ids=str)
def test_help_filtered(demo: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(app(demo), "tab", "question_mark", Typed("undo"), size=size)


def test_palette(demo: Path, snap: Snap) -> None:
    snap(app(demo), "ctrl+p", Typed("sort by"))
