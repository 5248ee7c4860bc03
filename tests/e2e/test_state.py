"""What is chosen in one run is there in the next."""

from __future__ import annotations

from hermes_tui.opening.kept_state import load, path_for
from tests.e2e.conftest import Browse, Home
from tests.e2e.terminal import Terminal


def leave(terminal: Terminal) -> None:
    """Quit, and see that it ended well."""
    terminal.send("ctrl+q")
    assert terminal.finish().code == 0


def test_page_and_theme_survive_a_restart(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.send("ctrl+t", "ctrl+t", "ctrl+t")
    terminal.wait_for("Last active")
    terminal.send("f9")
    terminal.wait_for("Settings", "hermes-dark")
    terminal.send("right")
    terminal.wait_for("hermes-light", "Saved in")
    terminal.send("escape")
    terminal.wait_gone("Saved in")
    leave(terminal)
    kept = load(path_for(place.database))
    assert (kept.page, kept.theme) == ("info", "hermes-light")
    terminal = browse(place)
    terminal.wait_for("Last active")
    terminal.send("f9")
    terminal.wait_for("Settings", "hermes-light")
    terminal.send("escape")
    leave(terminal)


def test_figures_open_and_close(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.send("f3")
    terminal.wait_for("Figures", "All time", "Last 30 days")
    terminal.send("escape")
    terminal.wait_gone("All time")
    leave(terminal)


def test_a_state_that_is_no_state_changes_nothing(place: Home, browse: Browse) -> None:
    path_for(place.database).write_text('{"theme": 7, "keys": {"fly": "f"}, "page": [')
    terminal = browse(place)
    leave(terminal)
    assert path_for(place.database).read_text().startswith('{"theme": 7')
