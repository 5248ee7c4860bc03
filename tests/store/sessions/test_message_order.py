"""What compacting in place leaves behind is read once, where it was said, under its state."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines import message_states
from hermes_store.records.message import DIVIDERS, State
from hermes_tui.presentation.laid_out import Look
from hermes_tui.transcript.layout import Layout
from tests.store import versions
from tests.store.engines.test_versions import Program
from tests.support import LONG_AGO


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    """Eight turns of which compacting keeps the first and the last two, around a summary."""
    path = tmp_path / "state.db"
    versions.make(path, 22)
    program = Program(path)
    program.session("a", LONG_AGO, message_count=6)
    for number in range(1, 9):
        program.say("a", f"turn {number}", LONG_AGO + number, active=0, compacted=1)
    for text, at in (("turn 1", 1), ("the summary", 20), ("turn 7", 7), ("turn 8", 8)):
        program.say("a", text, LONG_AGO + at)
    program.say("a", "something new", LONG_AGO + 30)
    program.say("a", "yes", LONG_AGO + 31)
    program.close()
    return path


@pytest.fixture
def db(compacted: Path) -> Iterator[SessionDB]:
    with SessionDB(compacted) as store:
        yield store


READ = [*(f"turn {number}" for number in range(1, 9)), "the summary", "something new", "yes"]


def test_each_turn_is_read_once_where_it_was_said(db: SessionDB) -> None:
    found = db.store.messages.of("a")
    assert [each.text for each in found] == READ
    summarised = [each.text for each in found if each.state is State.SUMMARISED]
    assert summarised == [f"turn {number}" for number in range(2, 7)]
    sent = [each["content"] for each in db.get_messages_as_conversation("a")]
    assert sent == ["turn 1", "the summary", "turn 7", "turn 8", "something new", "yes"]


def test_a_hit_on_a_copy_opens_where_it_is_shown(db: SessionDB) -> None:
    page = db.store.transcripts.outline("a")
    layout = Layout(lambda opened, spans: Look(60, opened, True, lambda name: None, spans))  # type: ignore[arg-type,return-value]
    layout.show(page, page.message_ids[:0], None)
    for number in range(1, 9):
        (hit,) = db.store.search.run(f'"turn {number}"').hits
        assert layout.place(hit.message_id) == number - 1
    # Even a copy that search does not show has a place.
    assert [layout.place(copy) for copy in (1, 7, 8)] == [0, 6, 7]


def test_all_of_them_count(db: SessionDB) -> None:
    (row,) = db.store.lists.rows(["a"], now=LONG_AGO + 9_999)
    assert row.message_count == len(READ)
    assert db.store.transcripts.quick_recap("a").messages == len(READ)


@pytest.mark.parametrize("fmt", ["markdown", "html"])
def test_an_export_says_what_is_no_longer_sent(db: SessionDB, fmt: str) -> None:
    sink = io.StringIO()
    db.store.transfer.export(sink, fmt, ["a"])
    text = sink.getvalue()
    places = [text.index(each) for each in READ]
    assert places == sorted(places)
    divider = text.index(DIVIDERS[State.SUMMARISED])
    assert places[0] < divider < places[1]
    assert places[5] < text.index(DIVIDERS[State.SENT], divider + 60) < places[6]


def test_lines_of_json_keep_the_marks_and_come_back(db: SessionDB, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    db.store.transfer.export_file(target)
    (line,) = (json.loads(each) for each in target.read_text().splitlines())
    marks = [(each["active"], each["compacted"]) for each in line["messages"]]
    assert marks == [(1, 0), *[(0, 1)] * 5, *[(1, 0)] * 5]
    other = tmp_path / "other.db"
    versions.make(other, 26)
    with SessionDB(other) as newer:
        report = newer.store.transfer.import_file(target)
        assert [each.outcome.value for each in report.sessions] == ["added"]
        assert [each.text for each in newer.store.messages.of("a")] == READ
        assert len(newer.get_messages("a")) == 6
        again = newer.store.transfer.import_file(target)
        assert [each.outcome.value for each in again.sessions] == ["already there"]


def test_where_there_is_no_column_for_it_nothing_is_lost(db: SessionDB, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with db._db.write() as tx:
        tx.run("UPDATE messages SET active = 0 WHERE content = 'yes'")
    db.store.transfer.export_file(target, everything=True)
    with SessionDB(tmp_path / "own.db") as own:
        (report,) = own.store.transfer.import_file(target).sessions
        assert report.note == "Messages that were taken back were left out: 1."
        assert [each.text for each in own.store.messages.of("a")] == READ[:-1]


def test_the_order_of_a_newer_file_counts_before_ids(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    versions.make(path, 28)
    program = Program(path)
    program.session("a", LONG_AGO)
    for text, order, identity, active in (
        ("second", 20, "two", 0), ("first", 10, "one", 1), ("second", 20, "two", 1),
        ("third", 30, None, 1),
    ):  # fmt: skip
        program.say("a", text, LONG_AGO + order, display_order=order, display_identity=identity,
                    active=active, compacted=1 - active)  # fmt: skip
    program.close()
    with SessionDB(path, read_only=True) as db:
        found = db.store.messages.of("a")
        assert [(each.text, each.state) for each in found] == [
            (text, State.SENT) for text in ("first", "second", "third")
        ]


def test_what_was_taken_back_is_read_when_asked_for(db: SessionDB) -> None:
    with db._db.write() as tx:
        tx.run("UPDATE messages SET active = 0 WHERE content = 'something new'")
    page = db.store.transcripts.outline("a")
    assert page.left_out == {State.REWOUND: 1}
    page = db.store.transcripts.outline("a", everything=True)
    assert page.left_out == {}
    texts = [each.text for each in db.store.messages.by_id(page.message_ids)]
    assert texts == READ
    assert [each.state for each in page.stretches] == [State.SUMMARISED, State.REWOUND]


def test_importing_everything_again_adds_nothing(db: SessionDB, tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    versions.make(path, 26)
    program = Program(path)
    program.session("a", LONG_AGO, message_count=2)
    program.say("a", "said", LONG_AGO + 1)
    program.say("a", "unseen", LONG_AGO + 2, display_kind="hidden")
    program.say("a", "taken back", LONG_AGO + 3, active=0)
    program.close()
    target = tmp_path / "all.jsonl"
    with SessionDB(path) as newer:
        newer.store.transfer.export_file(target, everything=True)
        for _ in range(2):
            (done,) = newer.store.transfer.import_file(target).sessions
            assert done.outcome.value == "already there"
        assert newer.message_count("a") == 3


def test_many_messages_of_one_time_are_not_compared_with_each_other(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    versions.make(path, 22)
    program = Program(path)
    program.session("a", LONG_AGO, message_count=0)
    for number in range(message_states.CROWD + 1):
        program.say("a", f"turn {number}", LONG_AGO, active=0, compacted=1)
    program.close()
    with SessionDB(path, read_only=True) as db:
        (row,) = db.store.lists.rows(["a"], now=LONG_AGO)
        assert row.message_count == message_states.CROWD + 1
