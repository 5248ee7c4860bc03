"""A browser beside others: agents that write, other browsers, missing and broken files, sizes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.e2e.conftest import HERMES, NUMBAT, Browse, Home, Open, go_to_list
from tests.e2e.terminal import PATIENCE, Terminal
from tests.support import raw

ROOT = Path(__file__).parent.parent.parent


def write(home: Home, code: str) -> None:
    """Let another process do something with the database, open as `db`."""
    script = "import sys\nfrom hermes_store import SessionDB\nwith SessionDB(sys.argv[1]) as db:\n"
    script += "".join(f"    {line}\n" for line in code.strip().splitlines())
    subprocess.run(
        [sys.executable, "-c", script, str(home.database)],
        check=True,
        cwd=ROOT,
        timeout=PATIENCE,
        env=home.environment(),
    )


def test_a_new_session_appears_by_itself(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    write(
        place,
        """
db.store.sessions.start("20260102_live", "cli")
db.append_message("20260102_live", "user", "A wombat walks in")
""",
    )
    terminal.wait_for("A wombat walks in", "34 conversations")
    lines = terminal.lines
    rows = [next(i for i, line in enumerate(lines) if name in line) for name in ("wombat", "Quok")]
    assert rows[0] < rows[1], "the newest comes first"
    terminal.wait_read("A wombat walks in")  # the first row is current until somebody moves


def test_a_row_that_was_chosen_stays_current(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.send("down", "up")
    terminal.wait_read("And the last word is eucalyptus.")
    write(
        place,
        """
db.store.sessions.start("20260102_live", "cli")
db.append_message("20260102_live", "user", "A wombat walks in")
""",
    )
    terminal.wait_for("A wombat walks in", "34 conversations")
    terminal.wait_read("And the last word is eucalyptus.")


def test_an_open_transcript_grows(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.send("down")
    terminal.wait_read("Numbats eat termites.")
    write(place, f'db.append_message("{NUMBAT}", "assistant", "They sleep in hollow logs.")')
    terminal.wait_for("They sleep in hollow logs.")
    terminal.wait_until(
        lambda screen: "Numbats" in screen.lines[5], "the conversation at the top of the list"
    )


def test_two_browsers_at_once(place: Home, browse: Browse) -> None:
    one, two = browse(place), browse(place)
    one.send("ctrl+d")
    one.wait_for("moved to trash")
    two.wait_gone("Quokka habitat")
    two.wait_read("Numbats eat termites.")
    two.send("ctrl+z")  # which the other one did not do
    two.wait_for("Nothing to undo.")
    two.send("f4")  # but it can bring it back
    two.wait_for("Trash", "Quokka habitat")
    two.send("enter")
    one.wait_for("Quokka habitat")
    for terminal in (one, two):
        terminal.send("ctrl+q")
        ended = terminal.finish()
        assert ended.code == 0 and ended.clean, ended.why


def test_a_first_run_invites_and_then_fills(bare: Home, browse: Browse) -> None:
    terminal = browse(bare, shows="No conversations yet")
    terminal.wait_for("--demo")
    for key in ("ctrl+r", "ctrl+d", "enter"):  # nothing to do it with, and no harm
        terminal.send(key)
    terminal.type("x")
    terminal.wait_for("There is no session database")
    terminal.send("escape")
    terminal.wait_gone("There is no session database")
    assert not bare.database.exists(), "looking creates nothing"
    with SessionDB(bare.database) as db:
        db.store.sessions.start("20260102_first", "cli")
        db.append_message("20260102_first", "user", "The very first words")
        terminal.wait_for("The very first words", "1 conversation")
    terminal.type("first")
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("ctrl+q")
    assert terminal.finish().clean


def test_a_demo_leaves_nothing_behind(bare: Home, browse: Browse) -> None:
    terminal = browse(bare, "--demo", shows="demo")
    terminal.wait_for("conversations", "● You")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert list(bare.folder.parent.iterdir()) == [bare.folder]
    assert not list(bare.folder.iterdir())


@pytest.mark.parametrize("damage", ["no database", "header", "cut off", "folder", "empty file"])
def test_a_broken_file_is_said_in_a_sentence(place: Home, browse: Browse, damage: str) -> None:
    for extra in place.folder.glob("state.db-*"):
        extra.unlink()
    if damage == "no database":
        place.database.write_bytes(b"these are not the sessions you are looking for\n" * 200)
    elif damage == "header":
        data = bytearray(place.database.read_bytes())
        data[100:8_000] = b"\xff" * 7_900
        place.database.write_bytes(data)
    elif damage == "cut off":
        place.database.write_bytes(place.database.read_bytes()[:20_000])
    elif damage == "folder":
        place.database.unlink()
        place.database.mkdir()
    else:
        place.database.write_bytes(b"")
    shows = "No conversations yet" if damage == "empty file" else "cannot be read"
    terminal = browse(place, shows=shows)
    terminal.type("quokka")
    terminal.wait_for("quokka")
    terminal.send("f4")
    terminal.wait_for("Trash")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, (ended.why, ended.after)
    assert b"Traceback" not in ended.output


def test_a_file_that_vanishes_and_comes_back(place: Home, browse: Browse, tmp_path: Path) -> None:
    _empty_log(place.database)
    terminal = browse(place)
    place.database.rename(tmp_path / "aside.db")
    terminal.wait_for("No conversations yet")
    (tmp_path / "aside.db").rename(place.database)
    terminal.wait_for("Quokka habitat")


def _empty_log(path: Path) -> None:
    """Bring everything into the file itself, so that it can be moved alone."""
    with raw(path) as con:
        con.pragma("wal_checkpoint", "truncate")


def test_a_file_that_is_replaced(place: Home, browse: Browse, tmp_path: Path) -> None:
    terminal = browse(place)
    other = tmp_path / "other.db"
    with SessionDB(other) as db:
        db.store.sessions.start("20260102_backup", "cli")
        db.append_message("20260102_backup", "user", "From a backup")
    _empty_log(other)
    for extra in ("-wal", "-shm"):
        place.database.with_name(f"state.db{extra}").unlink(missing_ok=True)
    other.rename(place.database)
    terminal.wait_for("From a backup", "1 conversation")
    terminal.wait_gone("Quokka")


# -- sizes -------------------------------------------------------------------------------------


def _fits(terminal: Terminal, columns: int) -> None:
    assert all(len(line) <= columns for line in terminal.lines)


def test_any_size_while_it_searches(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    for letter, size in zip("quokka", [(80, 24), (40, 12), (1, 1), (20, 3), (200, 60), (40, 12)],
                            strict=True):  # fmt: skip
        terminal.type(letter)
        terminal.resize(*size)
    terminal.resize(120, 36)
    terminal.wait_for("quokka", "1 message in 1 conversation", "Quokka habitat", "^r rename")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why


@pytest.mark.parametrize(("before", "after"), [((120, 36), (40, 12)), ((40, 12), (120, 36))])
def test_a_window_that_finds_its_size_while_the_browser_opens(
    place: Home, open_terminal: Open, before: tuple[int, int], after: tuple[int, int]
) -> None:
    terminal = open_terminal(place, HERMES, "sessions", "browse", size=before)
    terminal.wait_open()
    terminal.resize(*after)
    wide = after[0] > before[0]
    terminal.wait_until(
        lambda screen: "Quokka" in screen.text and ("Transcript" in screen.text) == wide,
        "the shape of the last size",
    )
    _fits(terminal, after[0])


def test_from_large_to_tiny_and_back_with_a_dialog_open(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.send("f2")
    terminal.wait_for("Potoroo, very old", "can be undone")
    for size in [(80, 24), (40, 12), (1, 1), (120, 36)]:
        terminal.resize(*size)
    terminal.wait_for("Potoroo, very old", "can be undone", "Delete old conversations")
    terminal.send("escape")
    terminal.wait_gone("Delete old conversations")


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
def test_small_terminals_are_complete(place: Home, browse: Browse, size: tuple[int, int]) -> None:
    terminal = browse(place, size=size)
    terminal.type("rottnest")
    terminal.wait_for("1 message")
    terminal.send("tab")
    terminal.wait_gone("^r rename")
    terminal.send("tab")
    terminal.wait_for("Where do quokkas live?")
    terminal.send("2")
    terminal.wait_for("Filler number 59")
    terminal.send("1")
    terminal.wait_for("Where do quokkas live?")
    terminal.send("escape")
    terminal.wait_for("Quokka")
    terminal.send("f2")
    terminal.wait_for("Delete old conversations", "Cancel", "Delete")
    terminal.send("escape")
    terminal.wait_gone("Delete old conversations")
    terminal.send("f1")
    terminal.wait_for("Type to filter", "Go to the")
    terminal.send("ctrl+q")
    assert terminal.finish().clean


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (200, 2), (2, 60)])
def test_a_tiny_terminal_does_no_harm(place: Home, browse: Browse, size: tuple[int, int]) -> None:
    terminal = browse(place, size=size, shows="")
    terminal.type("quokka")
    for key in ("tab", "2", "tab", "f1"):
        terminal.send(key)
    terminal.resize(120, 36)
    terminal.wait_for("Anywhere")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, (ended.why, ended.after)
