"""The transcript: where it opens, what is folded, how it grows, how little of it is laid out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.records.message import Message
from hermes_store.sessions import messages, session_rows
from hermes_store.sessions.api import Messages
from hermes_tui.opening.start_options import State
from hermes_tui.presentation import messages as blocks
from tests.tui.running import NOW, Typed, drive, main, make_app, page, press, shown, until

LONG = 20_000
OPEN = State(tab="transcript")


def talk(path: Path, said: Sequence[dict[str, Any]], session_id: str = "talk") -> None:
    """Make a file with one conversation, a message every second until a minute ago."""
    start = NOW - 60 - len(said)
    with SessionDB(path) as db, db._db.write() as tx:
        session_rows.create(tx, session_id, "cli", started_at=start)
        for place, message in enumerate(said):
            messages.append(tx, session_id, message, start + place)


def users(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return messages that a person said."""
    return [{"role": "user", "content": text} for text in texts]


def test_it_opens_at_its_end(path: Path) -> None:
    talk(path, users([f"message number {place}" for place in range(300)]))

    async def script(pilot: Pilot[Any]) -> None:
        assert "message number 299" in shown(pilot)
        assert "message number 200" not in shown(pilot)

    drive(make_app(path, state=OPEN), script)


def test_it_opens_at_the_hit(path: Path) -> None:
    texts = [f"message number {place}" for place in range(300)]
    texts[150] = "here is the needle"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("needle"))
        view = main(pilot).reading.transcript
        assert view.cursor == 150
        top = view.laid_out.heights.top(150) - round(view.scroll_y)
        assert 0 < top < view.size.height // 2
        for near in ("message number 149", "here is the needle", "message number 151"):
            assert near in shown(pilot)

    drive(make_app(path, state=OPEN), script)


def test_matches_are_gone_through_in_a_circle(path: Path) -> None:
    places = (20, 150, 280)
    texts = [f"message number {place}" for place in range(300)]
    for place in places:
        texts[place] += " with a needle"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, Typed("needle"), "tab", "tab")
        begun = view.cursor
        assert begun in places
        seen = []
        for key in ("n", "n", "n", "N", "N"):
            await press(pilot, key)
            seen.append(view.cursor)
            assert f"message number {view.cursor} with a needle" in shown(pilot)
        first = places.index(begun)
        wanted = [places[(first + step) % 3] for step in (1, 2, 3, 2, 1)]
        assert seen == wanted
        assert f"match {(first + 1) % 3 + 1} of 3" in str(main(pilot).reading.border_subtitle)

    drive(make_app(path, state=OPEN), script)


def test_finding_as_one_types(path: Path) -> None:
    texts = [f"message number {place}" for place in range(100)]
    for place in (7, 20, 93):
        texts[place] += " is lucky"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        view = reading.transcript
        await press(pilot, "tab", "tab", "slash", Typed("luck"))
        assert view.cursor == 7, "from the end, it begins again at the top"
        assert "match 1 of 3" in shown(pilot)
        await press(pilot, "enter")
        assert view.cursor == 20 and "match 2 of 3" in shown(pilot)
        await press(pilot, "up", "up")
        assert view.cursor == 93
        await press(pilot, Typed("zzqqy"))
        assert "no matches" in shown(pilot)
        await press(pilot, *["backspace"] * 5, "enter")
        assert view.cursor == 20, "typing goes to the first match from where one was"
        await press(pilot, "escape")
        assert view.has_focus and view.cursor == 20
        assert "match" not in str(reading.border_subtitle) and not reading.finding
        await press(pilot, "escape")
        assert main(pilot).list.sessions.has_focus

    drive(make_app(path, state=OPEN), script)


def test_finding_nothing_returns_to_where_one_was(path: Path) -> None:
    talk(path, users([f"message number {place}" for place in range(100)]))

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, "tab", "tab", "home", "down", "down", "slash", Typed("zzqqy"))
        assert "no matches" in shown(pilot)
        await press(pilot, "escape")
        assert view.cursor == 2 and "message number 2" in shown(pilot)

    drive(make_app(path, state=OPEN), script)


def test_matches_do_not_outlive_their_search(path: Path) -> None:
    talk(path, users(["a needle", "hay", "needles"]))
    talk(path, users(["more hay"]), "other")

    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        await press(pilot, Typed("needle"))
        assert "of 2" in str(reading.border_subtitle)
        await press(pilot, "escape")
        assert "match" not in str(reading.border_subtitle)

    drive(make_app(path, state=OPEN), script)


def test_a_match_deep_in_a_long_message_is_in_sight(path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(400))
    talk(path, users(["hay", f"{long} needle", "hay", f"{long} needle", "hay"]))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("needle"))
        assert "needle" in "".join(line.rpartition("││")[2] for line in page(pilot))
        for key in ("tab", "tab", "n", "n"):
            await press(pilot, key)
            assert "needle" in "".join(line.rpartition("││")[2] for line in page(pilot))

    drive(make_app(path), script)


def test_a_match_stays_current_while_the_conversation_grows(path: Path) -> None:
    talk(path, users(["a needle", "hay"]))

    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        await press(pilot, Typed("needle"))
        assert reading.transcript.cursor == 0
        with SessionDB(path) as db:
            db.append_message("talk", "user", "more hay", timestamp=NOW)
        reading.refresh_page()
        await press(pilot)
        assert "more hay" in shown(pilot)
        assert reading.transcript.cursor == 0 and "match 1 of 1" in shown(pilot)

    drive(make_app(path), script)


def test_a_match_opens_the_transcript_by_itself(path: Path) -> None:
    talk(path, users(["a needle", "hay"]))

    async def script(pilot: Pilot[Any]) -> None:
        reading = main(pilot).reading
        assert reading.open_tab == "recap"
        await press(pilot, Typed("needle"))
        assert reading.open_tab == "transcript" and reading.transcript.cursor == 0
        await press(pilot, "tab", "tab", "2", "escape")
        assert reading.open_tab == "recap", "whoever wants another page has it"
        await press(pilot, "slash", Typed(" a"))
        assert reading.open_tab == "transcript", "another search, another match"
        await press(pilot, "escape")
        assert reading.open_tab == "recap" == reading.tab

    drive(make_app(path, state=State(tab="recap")), script)


def test_tools_and_thoughts_open_and_fold(path: Path) -> None:
    call = {"id": "1", "function": {"name": "terminal", "arguments": '{"command": "make all"}'}}
    talk(
        path,
        [
            {"role": "user", "content": "please build"},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning": "Hm.\nBuild."},
            {
                "role": "tool",
                "content": "line one\nline two",
                "tool_name": "terminal",
                "tool_call_id": "1",
            },
            {"role": "assistant", "content": "**Done**"},
        ],
    )

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "tab", "home", "down")
        folded = page(pilot)
        (line,) = (line for line in folded if "▸ terminal" in line)
        assert "make all" in line and "✓ 2 lines" in line
        assert any("◇ thought briefly" in line for line in folded)
        assert "line two" not in shown(pilot) and "Build." not in shown(pilot)
        await press(pilot, "enter")
        assert "Build." in shown(pilot) and "line two" not in shown(pilot)
        await press(pilot, "enter")
        assert page(pilot) == folded
        await press(pilot, "down", "enter")
        assert "▾ terminal" in shown(pilot) and "line two" in shown(pilot)
        await press(pilot, "enter", "Z")
        assert sum("line two" in line for line in page(pilot)) == 1
        assert "Build." in shown(pilot)
        await press(pilot, "Z", "up")
        assert page(pilot) == folded
        assert "**" not in shown(pilot), "answers are Markdown"

    drive(make_app(path, state=OPEN), script)


def test_copying_the_marked_message(path: Path) -> None:
    talk(path, users(["first", "second"]))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "tab", "home", "c")
        assert pilot.app.clipboard == "first"

    drive(make_app(path, state=OPEN), script)


@pytest.mark.usefixtures("watchful")
def test_at_its_end_it_grows_with_the_conversation(path: Path) -> None:
    talk(path, users([f"message number {place}" for place in range(50)]))

    async def script(pilot: Pilot[Any]) -> None:
        with SessionDB(path) as db:
            db.append_message("talk", "assistant", "the latest word", timestamp=NOW - 5)
        await until(pilot, lambda: "the latest word" in shown(pilot), "the new message")

    drive(make_app(path, state=OPEN), script)


@pytest.mark.usefixtures("watchful")
def test_further_up_it_stays_where_it_is(path: Path) -> None:
    talk(path, users([f"message number {place}" for place in range(50)]))

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, "tab", "tab", "home")
        before = round(view.scroll_y)
        with SessionDB(path) as db:
            db.append_message("talk", "assistant", "the latest word", timestamp=NOW - 5)

        def grown() -> bool:
            return view.outline is not None and len(view.outline.message_ids) == 51

        await until(pilot, grown, "the new message")
        assert round(view.scroll_y) == before and view.cursor == 0
        await press(pilot, "f")
        assert "the latest word" in shown(pilot)

    drive(make_app(path, state=OPEN), script)


def test_a_long_one_is_not_read_through(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening 20,000 messages reads and lays out a few screens of them."""
    talk(path, users([f"message number {place}" for place in range(LONG)]))
    read: list[int] = []
    laid_out: list[int] = []
    by_id, lay_out = Messages.by_id, blocks.lay_out

    def counting_read(self: Messages, ids: Sequence[int]) -> list[Message]:
        read.extend(ids)
        return by_id(self, ids)

    def counting_layout(message: Message, *more: Any) -> Any:
        laid_out.append(message.id)
        return lay_out(message, *more)

    monkeypatch.setattr(Messages, "by_id", counting_read)
    monkeypatch.setattr(blocks, "lay_out", counting_layout)

    async def script(pilot: Pilot[Any]) -> None:
        assert f"message number {LONG - 1}" in shown(pilot)
        assert 0 < len(read) < 300
        assert 0 < len(laid_out) < 300
        read.clear()
        laid_out.clear()
        await press(pilot, "tab", "tab", "home")
        assert "message number 0" in shown(pilot)
        assert len(read) < 300
        assert len(laid_out) < 300

    drive(make_app(path, state=OPEN), script)


def test_the_middle_of_a_long_one_is_reached(path: Path) -> None:
    texts = [f"message number {place}" for place in range(2_000)]
    texts[1_000] = "the needle"
    talk(path, users(texts))

    async def script(pilot: Pilot[Any]) -> None:
        view = main(pilot).reading.transcript
        await press(pilot, Typed("needle"), "tab", "tab", *["pageup"] * 3, *["pagedown"] * 3)
        assert "message number 999" in shown(pilot)
        await press(pilot, *["down"] * 12)
        assert f"message number {view.cursor}" in shown(pilot)
        await press(pilot, "end")
        assert "message number 1999" in shown(pilot)

    drive(make_app(path, state=OPEN), script)
