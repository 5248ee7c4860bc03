"""Whatever is stored, it is text: no control character and no markup reaches the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge
from hermes_store.sessions import messages, session_rows
from hermes_store.store import Store
from hermes_tui.dialogs.delete import DeleteDialog
from hermes_tui.opening.start_options import State
from tests.support import raw
from tests.tui.running import NOW, Typed, drive, main, make_app, page, press, said, text_of

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = (
    "needle [/x] [bold]b[/bold] [@click=app.quit]q[/] [$primary]p\\[ "
    "\x1b]0;PWNED\x07\x1b[31mred\x9b2J \u202egnp.exe\u2066 nul\x00 tab\there\r\nnext\x7f 👩‍👩‍👧 "
)
HUGE_LINE = "needle " + "x" * 5_000_000
MANY_LINES = "needle\n" + "\n".join(f"\x1b[{place}m [line {place}]" for place in range(10_000))
ID = "evil\x1b[31m\u202e[/x]id"


def hostile(path: Path, text: str) -> None:
    """Make a file in which everything that can be a text is this one."""
    short = text[:300]
    call = {"id": short, "function": {"name": short, "arguments": json.dumps({"path": short})}}
    spoken: list[dict[str, Any]] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": text, "reasoning": text, "tool_calls": [call]},
        {"role": "tool", "content": text, "tool_name": short},
        {"role": "system", "content": text},
        {"role": "assistant", "content": f"# {text}\n\n```\n{text}\n```\n\n| {short} |"},
    ]
    with SessionDB(path) as db, db._db.write() as tx:
        session_rows.create(tx, ID, "cli", model=short, started_at=NOW - 900)
        for place, message in enumerate(spoken):
            messages.append(tx, ID, message, NOW - 900 + place)
        session_rows.end(tx, ID, short, NOW - 600)
        session_rows.create(
            tx, f"{ID}2", "cli", parent_session_id=ID, edge=Edge.AGENT, started_at=NOW - 800
        )
        messages.append(tx, f"{ID}2", {"role": "user", "content": text}, NOW - 790)
    # The store would clean a title; a file from elsewhere need not be clean.
    with raw(path) as con:
        con.execute("UPDATE sessions SET title = ?, source = ?, user_id = ?", (None, short, short))
        con.execute("UPDATE sessions SET title = ? WHERE id = ?", (short, ID))


def assert_harmless(pilot: Pilot[Any]) -> None:
    """Look at every line on the screen, and at the texts behind them."""
    for line in page(pilot):
        found = UNSAFE.search(line)
        assert found is None, f"{found[0]!r} in {line!r}"
    screen = main(pilot)
    for widget in (screen.reading.recap, screen.reading.info, screen.header, screen.list.empty):
        content = widget.render()
        assert isinstance(content, Content)
        found = UNSAFE.search(content.plain.replace("\n", "").replace("\t", ""))
        assert found is None, f"{found[0]!r} in {widget}"


@pytest.mark.parametrize("size", [(120, 36), (40, 12)], ids=["wide", "tiny"])
def test_list_and_pages(path: Path, size: tuple[int, int]) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        assert main(pilot).list.sessions.count == 1
        assert_harmless(pilot)
        await press(pilot, "tab", "right")
        for key in "1234":
            await press(pilot, key)
            assert_harmless(pilot)
            await press(pilot, "down")
            assert_harmless(pilot)
            await press(pilot, "tab", "Z", "home")
            assert_harmless(pilot)
            await press(pilot, "z")
            assert_harmless(pilot)
            await press(pilot, "z")
            await press(pilot, "end", "escape", "up")
            assert main(pilot).list.sessions.has_focus

    drive(make_app(path), script, size)


def test_it_is_shown_and_not_obeyed(path: Path) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        for part in ("[/x] [bold]b[/bold] [@click=app.quit]q[/]", "␛]0;PWNED", "[$primary]p\\["):
            assert part in text_of(main(pilot).reading.recap)

    drive(make_app(path, state=State(tab="recap")), script)


@pytest.mark.parametrize("tab", ["recap", "transcript"])
def test_snippets(path: Path, tab: str) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("needle"))
        assert main(pilot).list.sessions.count >= 1
        assert_harmless(pilot)
        await press(pilot, "tab", "tab", "n")
        assert_harmless(pilot)

    drive(make_app(path, state=State(tab=tab)), script)


def test_dialogs(path: Path) -> None:
    hostile(path, EVIL)
    with raw(path) as con:
        con.execute("UPDATE sessions SET started_at = 1, ended_at = 2, end_reason = 'compression'")
        con.execute("UPDATE messages SET timestamp = 1.5")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("needle [/x] [bold]"), "tab")
        for key in ("r", "e", "p", "t", "f3", "f6", "ctrl+p"):
            await press(pilot, key)
            assert pilot.app.screen is not main(pilot), f"{key} opened nothing"
            assert_harmless(pilot)
            await press(pilot, "escape")
            assert pilot.app.screen is main(pilot)
        main(pilot).list.sessions.focus()
        await press(pilot, "right", "down", "d")
        assert isinstance(pilot.app.screen, DeleteDialog)
        assert_harmless(pilot)
        await press(pilot, "escape")

    drive(make_app(path), script)


def test_trash(path: Path) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")
        assert_harmless(pilot)
        assert "moved to trash" in said(pilot)[0]
        await press(pilot, "f4")
        assert_harmless(pilot)
        await press(pilot, "d")
        assert_harmless(pilot)
        await press(pilot, "escape", "enter")
        assert main(pilot).list.sessions.count == 1
        assert_harmless(pilot)

    drive(make_app(path), script)


def test_renaming_what_has_such_a_title(path: Path) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r")
        assert_harmless(pilot)
        await press(pilot, Typed("a\x1b[31m \u202ename"), "enter")
        assert_harmless(pilot)

    drive(make_app(path), script)
    with Store(path, read_only=True) as store:
        title = store.sessions.get(ID).title
    assert title == "a␛[31m name"


def test_such_a_live_session_cannot_be_deleted(path: Path) -> None:
    hostile(path, EVIL)
    with raw(path) as con:
        con.execute("UPDATE sessions SET ended_at = NULL, started_at = ?", (NOW - 10,))
        con.execute("UPDATE messages SET timestamp = ?", (NOW - 5,))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+d")
        assert_harmless(pilot)

    drive(make_app(path), script)


@pytest.mark.parametrize("text", [HUGE_LINE, MANY_LINES], ids=["5 MB line", "10,000 lines"])
def test_enormous_messages(path: Path, text: str) -> None:
    hostile(path, text)

    async def script(pilot: Pilot[Any]) -> None:
        assert_harmless(pilot)
        await press(pilot, "tab", "tab", "Z", "home", "down", "end")
        assert_harmless(pilot)

    drive(make_app(path, state=State(tab="transcript")), script)


def test_what_is_typed(path: Path) -> None:
    hostile(path, EVIL)

    async def script(pilot: Pilot[Any]) -> None:
        main(pilot).search.text = EVIL
        await press(pilot, "f6")
        assert_harmless(pilot)

    drive(make_app(path), script)
