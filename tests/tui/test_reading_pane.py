"""The keys of the reading pane: turns, tool calls, code blocks, copying, links, zoom, programs."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.errors import StoreError
from hermes_store.records.message import SUMMARY_MARK, Message
from hermes_store.sessions import messages, session_rows
from hermes_store.store import Store
from hermes_tui.opening.kept_state import PAGES
from hermes_tui.opening.start_options import State
from hermes_tui.store_access import Access
from hermes_tui.transcript import parts
from hermes_tui.widgets import outside_program
from tests.tui.running import (
    NOW,
    Typed,
    drive,
    main,
    make_app,
    page,
    press,
    said,
    shown,
    text_of,
    until,
)
from tests.tui.test_transcript import talk, users

OPEN = State(tab="transcript")
READ = ("tab", "tab", "home")


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_name": "terminal", "tool_call_id": call_id}


CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "first question, see https://a.org/x."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            call("1", "terminal", command="make all"),
            call("2", "patch", path="x.py", old_string="old", new_string="new"),
        ],
    },
    result("1", '{"output": "one\\ntwo", "exit_code": 0}'),
    result("2", '{"success": true}'),
    {"role": "assistant", "content": "Try:\n\n```sh\nmake\n```\n\nor\n\n```py\nx = 1\n```"},
    {"role": "user", "content": "second question"},
    {"role": "assistant", "content": "second answer", "tool_calls": [call("3", "sleep", s="9")]},
]


@pytest.fixture
def talked(path: Path) -> Path:
    talk(path, CONVERSATION)
    return path


def test_calls_belong_to_hermes(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ)
        lines = [line for line in page(pilot) if "│" in line]
        text = "\n".join(line.rsplit("││", 1)[-1] for line in lines)
        assert text.count("◆ Hermes") == 2
        first, second = text.index("◆ Hermes"), text.index("second question")
        for each in ("▸ terminal  make all", "▸ patch     x.py", "│ + new", "Try:"):
            assert first < text.index(each) < second
        assert "no result" in text[text.index("second answer") :]

    drive(make_app(talked, state=OPEN), script)


def test_a_summary_begins_no_turn_of_yours(path: Path) -> None:
    talk(path, users(["question", f"{SUMMARY_MARK}\n\nAll is well.", "more"]))

    async def script(pilot: Pilot[Any]) -> None:
        assert shown(pilot).count("● You") == 2 and "◈ Summary" in shown(pilot)
        assert "turn 2 of 2" in str(main(pilot).reading.border_subtitle)

    drive(make_app(path, state=OPEN), script)


def test_going_from_turn_to_turn_and_call_to_call(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, *READ)
        assert "turn 1 of 2" in str(main(pilot).reading.border_subtitle)
        seen = []
        for key in ("right_square_bracket", "left_square_bracket", "t", "t", "T"):
            await press(pilot, key)
            seen.append(view.cursor)
        assert seen == [5, 0, 2, 3, 2]
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert said(pilot)[-1] == "No turns further down."
        assert "turn 2 of 2" in str(main(pilot).reading.border_subtitle)

    drive(make_app(talked, state=OPEN), script)


def test_an_answer_that_only_calls_is_never_current(path: Path) -> None:
    talk(
        path,
        [
            {"role": "user", "content": "question"},
            {"role": "assistant", "content": "", "tool_calls": [call("1", "one", command="a")]},
            result("1", "needle"),
            {"role": "assistant", "content": "", "tool_calls": [call("2", "two", command="b")]},
            result("2", "fine"),
            {"role": "assistant", "content": "answer"},
        ],
    )

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, *READ)
        seen = [view.cursor]
        for _ in range(4):
            await press(pilot, "down")
            seen.append(view.cursor)
        # The first call begins the turn of Hermes, so that there is a line to be on.
        assert seen == [0, 1, 2, 4, 5]
        await press(pilot, "up", "up", "up")
        assert view.cursor == 1

    drive(make_app(path, state=OPEN), script)


def test_copying_a_command_a_diff_and_blocks(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        app = pilot.app
        await press(pilot, *READ, "t", "c")
        assert app.clipboard == "make all" and said(pilot)[-1] == "Copied “make all”."
        await press(pilot, "C")
        assert app.clipboard == "one\ntwo"
        await press(pilot, "b", "C")
        assert app.clipboard == "--- a/x.py\n+++ b/x.py\n-old\n+new"
        await press(pilot, "b", "c")
        assert app.clipboard == "make", "c copies the block that is marked"
        await press(pilot, "b", "C")
        assert app.clipboard == "x = 1"
        await press(pilot, "B", "B", "C")
        assert app.clipboard == "--- a/x.py\n+++ b/x.py\n-old\n+new"
        await press(pilot, "b", "b", "b")
        assert said(pilot)[-1] == "No code blocks further down."

    drive(make_app(talked, state=OPEN), script)


def test_a_code_block_far_away_is_reached(path: Path) -> None:
    texts = [f"message number {place}" for place in range(1_000)]
    texts[30] = "```\nfar away\n```"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "tab", "B")
        view = main(pilot).reading.transcript
        assert view.cursor == 30 and "far away" in shown(pilot)

    drive(make_app(path, state=OPEN), script)


def test_only_links_are_opened(talked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def script(pilot: Pilot[Any]) -> None:
        monkeypatch.setattr(pilot.app, "open_url", opened.append)
        await press(pilot, *READ, "L")
        assert opened == ["https://a.org/x"]
        await press(pilot, "right_square_bracket", "L")
        assert said(pilot)[-1] == "No link in this message."

    drive(make_app(talked, state=OPEN), script)
    text = "[a](https://a.org/(b)) (http://c.org), file:///etc javascript:x MAILTO:me@d.org"
    message = Message(1, "s", "user", NOW, text)
    assert parts.links(message) == ["https://a.org/(b)", "http://c.org", "MAILTO:me@d.org"]


def test_a_click_opens_a_call(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ)
        ((y, line),) = [(y, line) for y, line in enumerate(page(pilot)) if "▸ terminal" in line]
        await pilot.click(offset=(line.index("▸ terminal"), y))
        await press(pilot)
        assert "▾ terminal" in shown(pilot) and "│ two" in shown(pilot)

    drive(make_app(talked, state=OPEN), script)


def test_text_is_selected_with_the_mouse(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ)
        lines = page(pilot)
        ((first, line),) = [(y, line) for y, line in enumerate(lines) if "▸ terminal" in line]
        column = line.index("make all")
        await pilot.mouse_down(offset=(column, first))
        await pilot.hover(offset=(column + 3, first + 1))
        await pilot.mouse_up(offset=(column + 3, first + 1))
        selected = pilot.app.screen.get_selected_text()
        assert selected is not None and selected.split("\n")[0].split() == [
            "make",
            "all",
            "✓",
            "2",
            "lines",
        ]
        assert selected.split("\n")[1].startswith("▸ patch")
        assert "▾" not in shown(pilot), "selecting opens nothing"
        await press(pilot, "ctrl+c")
        assert pilot.app.clipboard == selected

    drive(make_app(talked, state=OPEN), script)


def test_zoom_takes_the_whole_screen(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        await press(pilot, "tab", "z")
        assert screen.reading.size.width > 110 and screen.reading.transcript.size.width <= 98
        assert screen.reading.transcript.has_focus and not screen.list.display
        assert page(pilot)[1].rstrip("│ ").endswith("turn 2 of 2")
        await press(pilot, "slash", "escape")
        assert screen.reading.zoomed, "Esc leaves finding first"
        await press(pilot, "escape")
        assert not screen.reading.zoomed and screen.list.sessions.has_focus
        await press(pilot, "tab", "z", "z")
        assert not screen.reading.zoomed and screen.reading.page.has_focus

    drive(make_app(talked), script)


def test_the_title_of_the_zoom_is_that_of_the_page(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("about"), "down", "ctrl+u", "tab", "tab", "z")
        name = main(pilot).list.sessions.current_id()
        assert f"title of {name}" in page(pilot)[1] and name == "three"

    drive(make_app(three, state=State(tab="info")), script)


def test_zoom_on_a_tiny_screen(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "z")
        assert "second answer" in shown(pilot)
        await press(pilot, "escape", "z", "tab")
        assert not main(pilot).reading.zoomed, "going to another pane ends it"

    drive(make_app(talked), script, (40, 12))


@pytest.mark.parametrize("tab", PAGES)
def test_a_failure_is_said_on_every_page(
    three: Path, monkeypatch: pytest.MonkeyPatch, tab: str
) -> None:
    fails = threading.Event()
    read = Access._read

    def broken(self: Access) -> Store:
        if fails.is_set():
            raise StoreError("The disk is gone.")
        return read(self)

    monkeypatch.setattr(Access, "_read", broken)

    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        fails.set()
        await pilot.app.screen.run_action(f"show_tab({tab!r})")
        await press(pilot)
        assert "The disk is gone." in text_of(reading.trouble) and reading.trouble.display
        fails.clear()
        await press(pilot, "tab", "down")
        assert not reading.trouble.display and "The disk" not in shown(pilot)

    drive(make_app(three), script)


def test_pages_by_number_inside_the_pane(talked: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        await press(pilot, "tab", "tab")
        for key, tab in (("2", "recap"), ("4", "info"), ("3", "lineage"), ("1", "transcript")):
            await press(pilot, key)
            assert reading.open_tab == tab and reading.page.has_focus
        await press(pilot, "2", "slash", Typed("second"))
        assert reading.open_tab == "transcript" and "match 2 of 2" in shown(pilot)

    drive(make_app(talked), script)


# -- other programs ----------------------------------------------------------------------------


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the terminal be handed over, though there is none."""

    @contextmanager
    def suspend(app: Any) -> Iterator[None]:
        yield

    monkeypatch.setattr("textual.app.App.suspend", suspend)


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize(("key", "variable"), [("P", "PAGER"), ("E", "EDITOR")])
def test_the_conversation_in_another_program(
    talked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, variable: str
) -> None:
    seen = tmp_path / "seen.json"
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, sys\n"
        "option, target, path = sys.argv[1:]\n"
        "text = open(path, encoding='utf-8').read()\n"
        "json.dump([option, path, os.stat(path).st_mode, text], open(target, 'w'))\n"
    )
    monkeypatch.setenv(variable, f"{sys.executable} {program} --option {seen}")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ, key)
        assert said(pilot) == []

    drive(make_app(talked, state=OPEN), script)
    option, path, mode, text = json.loads(seen.read_text())
    assert option == "--option" and "first question" in text and "second answer" in text
    assert stat.S_IMODE(mode) == 0o600
    assert not os.path.exists(path)


def test_a_program_that_is_not_there(talked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "no-such-program -R")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ, "P")
        assert said(pilot)[-1] == "$PAGER names a program that was not found: no-such-program -R"
        monkeypatch.delenv("PAGER")
        monkeypatch.setenv("PATH", "")
        await press(pilot, "P")
        assert said(pilot)[-1] == "$PAGER is not set, and less was not found."

    drive(make_app(talked, state=OPEN), script)


def test_a_terminal_that_cannot_be_handed_over(
    talked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", sys.executable)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *READ, "P")
        assert said(pilot)[-1] == "This terminal cannot be handed over to another program."

    drive(make_app(talked, state=OPEN), script)


def test_quotes_that_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "vi 'x")
    assert outside_program.command("EDITOR") == "$EDITOR is not a command: vi 'x"


def test_the_model_of_each_segment(path: Path) -> None:
    with SessionDB(path) as db, db._db.write() as tx:
        session_rows.create(tx, "talk", "cli", started_at=NOW - 99, model="lab/model-one")
        for number, each in enumerate(users(["question"])):
            messages.append(tx, "talk", each, NOW - 99 + number)
        messages.append(tx, "talk", {"role": "assistant", "content": "answer"}, NOW - 90)

    async def script(pilot: Pilot[Any]) -> None:
        (name,) = (line for line in page(pilot) if "◆ Hermes" in line)
        assert "◆ Hermes · model-one" in name and "· 9 s" in name

    drive(make_app(path, state=OPEN), script)


@pytest.mark.usefixtures("watchful")
def test_a_reader_is_not_moved_by_what_is_added(path: Path) -> None:
    texts = [f"message number {place}" for place in range(60)]
    texts[30] += " with a needle"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, Typed("needle"), "tab", "tab", "home")
        assert view.cursor == 0
        with SessionDB(path) as db:
            db.append_message("talk", "assistant", "another needle", timestamp=NOW - 5)

        def grown() -> bool:
            return view.outline is not None and len(view.outline.message_ids) == 61

        await until(pilot, grown, "the new message")
        await press(pilot)
        assert view.cursor == 0 and "message number 0" in shown(pilot)

    drive(make_app(path), script)
