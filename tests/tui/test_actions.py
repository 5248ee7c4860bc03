"""The table of keys: every line of it leads somewhere, and other keys are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual._callback import invoke
from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widget import Widget

from hermes_store.errors import ConfigError
from hermes_tui.actions import ACTIONS, BY_ID, Action, Scope, bindings, checked, first_key, shown
from hermes_tui.app import HermesApp
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.browse.reading_pane import ReadingPane
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.browse.search_field import SearchField
from hermes_tui.browse.session_list_widget import SessionList
from hermes_tui.dialogs.help import help_text
from hermes_tui.transcript.view import Transcript
from tests.tui.running import drive, listed, main, make_app, press

OWNERS: dict[Scope, tuple[type[Widget], ...]] = {
    Scope.ANYWHERE: (BrowseScreen,),
    Scope.SEARCH: (SearchField,),
    Scope.MOVE: (SessionList, LineageTree, Transcript),
    Scope.LISTS: (SessionList, LineageTree),
    Scope.LIST: (ListPane,),
    Scope.READING: (ReadingPane,),
    Scope.TRANSCRIPT: (Transcript,),
    Scope.LINEAGE: (LineageTree,),
}
BROWSER = [action for action in ACTIONS if action.scope in OWNERS]


def test_every_scope_of_the_browser_is_known() -> None:
    assert {Scope.ANYWHERE, Scope.SEARCH, Scope.LIST} <= set(OWNERS)
    assert len(BROWSER) > 50


def test_names_are_unique() -> None:
    names = [action.id for action in ACTIONS]
    assert len(names) == len(set(names)) == len(BY_ID)


@pytest.mark.parametrize("action", BROWSER, ids=lambda action: action.id)
def test_every_action_exists_where_its_key_works(action: Action) -> None:
    place, name, arguments = parse(action.action)
    for owner in OWNERS[action.scope]:
        holders: dict[str, type[Any]] = {"screen": BrowseScreen, "app": HermesApp, "": owner}
        holder = holders[place]
        method = getattr(holder, f"action_{name}", None)
        assert callable(method), f"{holder.__name__} cannot {action.action}"
        assert method.__code__.co_argcount == 1 + len(arguments) or isinstance(
            getattr(App, f"action_{name}", None), type(method)
        )


@pytest.mark.parametrize("scope", Scope, ids=lambda scope: scope.name)
def test_no_key_means_two_things_in_one_place(scope: Scope) -> None:
    keys = [key for each in ACTIONS if each.scope is scope for key in each.keys.split(",")]
    assert len(keys) == len(set(keys))


def test_bindings_carry_the_names() -> None:
    made = bindings(Scope.LIST)
    assert [each.id for each in made if isinstance(each, Binding)] == [
        action.id for action in ACTIONS if action.scope is Scope.LIST
    ]


LEAVING = ("resume", "new-chat", "quit-now")
"""What ends the browser where there is no chat."""


def test_the_palette_runs_every_action(sample: Path) -> None:
    from hermes_tui.dialogs.palette import Actions, commands

    leaving = [BY_ID[name].about.rstrip(".") for name in LEAVING]

    async def script(pilot: Pilot[Any]) -> None:
        ran = 0
        async for hit in Actions(main(pilot)).discover():
            if any(str(hit.prompt).startswith(name) for name in leaving):
                continue
            await invoke(hit.command)
            await press(pilot)
            while pilot.app.screen is not main(pilot):
                await press(pilot, "escape")
            ran += 1
        assert ran == len([*commands()]) - len(LEAVING)

    drive(make_app(sample), script)


@pytest.mark.parametrize("name", LEAVING)
def test_the_palette_leaves(sample: Path, name: str) -> None:
    from hermes_tui.dialogs.palette import Actions

    async def script(pilot: Pilot[Any]) -> None:
        hits = [hit async for hit in Actions(main(pilot)).discover()]
        wanted = BY_ID[name].about.rstrip(".")
        hit = next(each for each in hits if str(each.prompt).startswith(wanted))
        await invoke(hit.command)
        assert pilot.app._exit

    choice = drive(make_app(sample), script)
    assert (choice is not None) == (name != "quit-now")


def test_the_palette_finds_by_what_an_action_does(sample: Path) -> None:
    from hermes_tui.dialogs.palette import Actions

    async def script(pilot: Pilot[Any]) -> None:
        provider = Actions(main(pilot))
        found = " ".join([str(hit.text) async for hit in provider.search("trash")])
        assert "Open the trash" in found
        assert "Sort by" not in found

    drive(make_app(sample), script)


# -- other keys --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"delet": "x"},
            "browse.keys has an unknown action 'delet'. Did you mean 'dele",
        ),
        ({"fly": "x"}, "browse.keys has an unknown action 'fly'"),
        ({"delete": "nokey"}, "browse.keys.delete has an unknown key 'nokey'"),
        ({"delete": "hyperspace+x"}, "has an unknown key 'hyperspace+x'"),
        ({"delete": "x,,y"}, "has an unknown key ''"),
        ({"delete": ""}, "has an unknown key ''"),
        ({"delete": "r"}, "uses the key 'r', which 'rename' already has"),
        ({"rename": "z", "delete": "z"}, "uses the key 'z'"),
    ],
)
def test_wrong_keys_are_refused_with_a_sentence(wanted: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        checked(wanted)
    assert sentence in str(error.value)
    assert str(error.value).endswith((".", "?"))


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"delete": "ctrl+x,backspace"},
        {"delete": "r", "rename": "R"},
        {"help-list": "f12"},
        {"select": "space"},
        {"sort": "$"},
    ],
)
def test_good_keys_are_taken(wanted: dict[str, str]) -> None:
    assert checked(wanted) == wanted


def test_another_key_works_and_the_old_one_does_not(sample: Path) -> None:
    keys = checked({"all-hidden": "w"})

    async def script(pilot: Pilot[Any]) -> None:
        before = len(listed(pilot))
        await press(pilot, "tab", "H")
        assert len(listed(pilot)) == before
        await press(pilot, "w")
        assert len(listed(pilot)) > before

    drive(make_app(sample, keys=keys), script)


def test_help_names_the_keys_in_force() -> None:
    text = help_text({"hidden": "w"}, 90).plain
    for action in ACTIONS:
        assert action.about.split()[0] in text
    line = next(line for line in text.splitlines() if line.endswith("  hidden"))
    assert line.split()[0] == "w"


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("ctrl+r", ["^r"]),
        ("f2", ["F2"]),
        ("question_mark", ["?"]),
        ("space,x", ["Space", "x"]),
        ("escape", ["Esc"]),
        ("shift+tab", ["⇧Tab"]),
        ("G", ["G"]),
    ],
)
def test_keys_read_as_people_write_them(keys: str, wanted: list[str]) -> None:
    assert list(shown(keys)) == wanted
    assert first_key(keys) == wanted[0]
