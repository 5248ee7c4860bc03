"""What the browser remembers between two runs."""

from __future__ import annotations

import argparse
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store.config import paths
from hermes_store.config.settings import BrowseConfig, Config
from hermes_store.errors import ConfigError
from hermes_tui import actions
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.open_screen import opening_for
from hermes_tui.cli.common.output import Printer
from hermes_tui.opening.kept_state import Kept, load, path_for, save
from hermes_tui.opening.start_options import Opening
from hermes_tui.presentation import themes
from tests.tui.running import NOW, drive, main, make_app, press

NO_CHANGE = Kept()


def opened(home: Path, config: Config | None = None, **options: Any) -> Opening:
    """Return how the browser of a home opens."""
    line = {"source": None, "workspace": None, "limit": 0, "read_only": False, "print_id": False,
            "query": "", "demo": False}  # fmt: skip
    context = Context(home, home / "state.db", Printer(), NOW)
    return opening_for(argparse.Namespace(**{**line, **options}), context, config or Config())


def everything() -> frozenset[str]:
    """Return the names of all fields."""
    return frozenset(Kept.__dataclass_fields__) - {"over"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return path_for(tmp_path / "state.db")


def test_what_is_saved_is_read_again(file: Path) -> None:
    kept = Kept(theme="nord", keys={"delete": "x"}, sort="title", group="source",
                shown=("cron", "empty"), page="info", density="table", search_order="relevance",
                split=40, over={"theme": "auto", "sort": "activity"})  # fmt: skip
    save(file, kept, everything())
    assert load(file) == kept
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"{}" + b" " * 600_000],
)
def test_a_file_that_is_no_state_is_passed_over(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert load(file) == NO_CHANGE
    save(file, Kept(theme="nord"), frozenset({"theme"}))
    assert load(file).theme == "nord"


@pytest.mark.parametrize(
    ("name", "value"),
    [("theme", 7), ("keys", ["x"]), ("keys", {"delete": 1}), ("sort", "colour"), ("sort", {}),
     ("group", None), ("page", "cover"), ("density", "three"), ("split", "40"), ("split", 99),
     ("split", True), ("shown", "cron"), ("over", []), ("over", {"theme": None})],
)  # fmt: skip
def test_a_wrong_value_is_its_default_and_the_rest_stays(
    file: Path, name: str, value: object
) -> None:
    file.write_text(json.dumps({"search_order": "relevance", name: value}))
    assert load(file) == Kept(search_order="relevance")


def test_unknown_kinds_are_left_out_and_unknown_fields_stay_in_the_file(file: Path) -> None:
    file.write_text(json.dumps({"shown": ["cron", "ghosts", 3], "of_a_later_version": [1]}))
    assert load(file).shown == ("cron",)
    save(file, Kept(split=40), frozenset({"split"}))
    assert json.loads(file.read_text())["of_a_later_version"] == [1]


def test_two_browsers_do_not_undo_each_other(file: Path) -> None:
    save(file, Kept(sort="title", split=40), frozenset({"sort", "split"}))
    save(file, Kept(theme="nord", split=30), frozenset({"theme", "split"}))
    assert load(file) == Kept(theme="nord", sort="title", split=30)


def test_a_home_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    save(tmp_path / "home" / "browser-state.json", Kept(split=40), frozenset({"split"}))
    assert load(tmp_path / "home" / "browser-state.json") == NO_CHANGE


def test_exports_do_not_overwrite_it(file: Path) -> None:
    assert file in paths.own_files(file.parent / "state.db")


def test_it_decides_how_the_browser_opens(tmp_path: Path, file: Path) -> None:
    save(file, Kept(sort="title", group="source", shown=("cron",), page="info", split=40),
         frozenset({"sort", "group", "shown", "page", "split"}))  # fmt: skip
    opening = opened(tmp_path)
    view = opening.view
    assert (view.sort.value, view.group.value) == ("title", "source")
    assert [kind.value for kind in view.shown] == ["cron"]
    assert (opening.state.tab, opening.kept.split) == ("info", 40)


def test_a_later_edit_of_the_configuration_wins(tmp_path: Path, file: Path) -> None:
    said = opened(tmp_path).kept.over
    save(file, Kept(theme="nord", page="info", over=said), frozenset({"theme", "page"}))
    assert opened(tmp_path).kept.theme == "nord"
    edited = opened(tmp_path, Config(browse=BrowseConfig(theme="dracula")))
    assert edited.kept.theme is None and edited.kept.page == "info"
    assert edited.kept.over["theme"] == "dracula"


def test_a_theme_that_is_gone_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert themes.chosen("auto", {"nord"}, "nord") == "nord"
    assert themes.chosen("auto", {"nord"}, "gone") == themes.DARK
    monkeypatch.setenv("NO_COLOR", "1")
    assert themes.chosen("auto", {"nord"}, "nord") == themes.COLOURLESS


def test_kept_keys_go_over_those_of_the_configuration() -> None:
    assert actions.with_kept({"delete": "x,delete", "select": "space"}, {"rename": "R"}) == {
        "delete": "x,delete",
        "select": "space",
        "rename": "R",
    }
    # 'u' belongs to undo by now, and 'fly' is an action of another version.
    assert actions.with_kept({"undo": "U"}, {"fly": "f", "rename": "U", "tag": "T"}) == {
        "undo": "U",
        "tag": "T",
    }
    with pytest.raises(ConfigError, match="fly"):
        actions.with_kept({"fly": "f"}, {})


def test_the_page_comes_back_after_a_restart(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+t", "ctrl+t")
        assert main(pilot).reading.tab == "lineage"

    drive(make_app(sample), script)
    opening = opened(sample.parent)
    assert opening.kept.page == opening.state.tab == "lineage"
    assert load(path_for(sample)) == Kept(page="lineage", over={})


@pytest.mark.parametrize("keeps", [True, False])
def test_a_browser_for_reading_only_keeps_nothing(sample: Path, keeps: bool) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+t")

    assert opened(sample.parent, read_only=not keeps).keeps is keeps
    drive(make_app(sample, keeps=keeps), script)
    assert path_for(sample).exists() is keeps
