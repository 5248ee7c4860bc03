"""The demo's database: always the same, in order of time, and with one of everything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store.records.listing import Hidden, Status, View
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.sources import KNOWN
from hermes_store.store import Store
from hermes_tui.demo.conversation_file import conversations
from hermes_tui.demo.sample import SAVED_SEARCHES, create
from hermes_tui.demo.token_costs import PRICES

NOW = 1_790_000_000.0
DAY = 86_400
EVERYTHING = View(shown=frozenset(Hidden))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo at a fixed time."""
    path = tmp_path_factory.mktemp("demo") / "state.db"
    create(path, NOW)
    return path


@pytest.fixture
def demo(database: Path) -> Iterator[Store]:
    with Store(database, read_only=True) as store:
        yield store


def _dump(store: Store) -> list[tuple[object, ...]]:
    with store.snapshot() as view:
        sessions = list(view.rows("SELECT * FROM sessions ORDER BY id"))
        return sessions + list(view.rows("SELECT * FROM messages ORDER BY id"))


def test_the_same_time_gives_the_same_database(demo: Store, tmp_path: Path) -> None:
    create(tmp_path / "again.db", NOW)
    with Store(tmp_path / "again.db", read_only=True) as again:
        assert _dump(again) == _dump(demo)
        assert again.trash.list() == demo.trash.list()


@pytest.mark.parametrize("now", [NOW + 3_600 * hour for hour in range(0, 24, 5)])
def test_nothing_is_in_the_future_at_any_hour(tmp_path: Path, now: float) -> None:
    create(tmp_path / "state.db", now)
    with Store(tmp_path / "state.db", read_only=True) as store, store.snapshot() as view:
        assert view.value("SELECT MAX(timestamp) FROM messages") <= now
        assert view.value("SELECT MAX(started_at) FROM sessions") <= now
        assert view.value("SELECT MAX(ended_at) FROM sessions") <= now


def test_time_goes_forward_in_sessions_and_along_chains(demo: Store) -> None:
    with demo.snapshot() as view:
        late = view.rows(
            "SELECT a.session_id FROM messages a JOIN messages b ON b.session_id = a.session_id "
            "AND b.id > a.id AND b.timestamp < a.timestamp"
        )
        assert list(late) == []
        backwards = view.rows(
            "SELECT c.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id "
            "WHERE c.started_at < p.started_at OR c.ended_at < c.started_at"
        )
        assert list(backwards) == []


def test_there_is_one_of_everything(demo: Store) -> None:
    ids = [each for each in demo.lists.entries(EVERYTHING, now=NOW) if isinstance(each, str)]
    rows = demo.lists.rows(ids, now=NOW)
    assert 34 <= len([row for row in rows if row.source != "cron" and not row.archived]) <= 50
    assert {row.status for row in rows} >= {
        Status.LIVE, Status.DONE, Status.INTERRUPTED, Status.ERROR,
    }  # fmt: skip
    assert {row.source for row in rows} <= set(KNOWN)
    assert len({row.source for row in rows}) >= 10
    assert any(row.segments == 3 for row in rows)
    assert any(row.pinned for row in rows) and any(row.archived for row in rows)
    assert sum(row.source == "cron" for row in rows) >= 3
    with demo.snapshot() as view:
        edges = {edge for (edge,) in view.rows("SELECT edge FROM session_activity")}
    assert edges == {edge.value for edge in Edge}
    assert len(demo.trash.list()) == 2
    assert {each.name for each in demo.saved_searches.list()} == set(SAVED_SEARCHES)
    assert len(demo.marks.tags()) >= 5


def test_times_are_filled_in(demo: Store) -> None:
    with demo.snapshot() as view:
        left = view.rows("SELECT content FROM messages WHERE content LIKE '%<\\%%' ESCAPE '\\'")
        assert list(left) == []


def test_titles_are_a_persons(demo: Store) -> None:
    with demo.snapshot() as view:
        titles = [title for (title,) in view.rows("SELECT title FROM sessions") if title]
    assert "Fix CI out-of-memory kill" in titles
    assert {f"Onboarding mail draft{n}" for n in ("", " #2", " #3")} <= set(titles)
    assert not [title for title in titles if re.search(r"\(\d+\)$", title)]


def test_a_year_of_days_is_alive(demo: Store) -> None:
    with demo.snapshot() as view:
        days = {
            int(NOW - moment) // DAY for (moment,) in view.rows("SELECT timestamp FROM messages")
        }
    assert max(days) > 320
    assert len(days) >= 80
    assert {day // 30 for day in days} >= set(range(11))


def test_every_call_is_answered_in_the_form_of_the_agent(demo: Store) -> None:
    with demo.snapshot() as view:
        stored = list(view.rows("SELECT role, tool_calls, tool_call_id, tool_name, content "
                                "FROM messages ORDER BY id"))  # fmt: skip
    asked = {c["id"] for _, calls, *_ in stored if calls for c in json.loads(calls)}
    answered = {call_id for role, _, call_id, *_ in stored if role == "tool"}
    assert asked == answered
    results = [(n, json.loads(c)) for role, _, _, n, c in stored if role == "tool"]
    codes = {found["exit_code"] for name, found in results if name == "terminal"}
    assert {0, 1} < codes
    diffs = [found["diff"] for name, found in results if name == "patch"]
    assert len(diffs) >= 8
    for diff in diffs:
        lines = diff.splitlines()
        assert lines[0].startswith("--- a/") and lines[1].startswith("+++ b/")
        assert all(line[:1] in ("+", "-", " ", "@") for line in lines[2:] if line), diff
        assert any(line.startswith("+") for line in lines[2:])
        assert _counted(lines[2:]) == [line for line in lines if line.startswith("@@")]


def _counted(lines: list[str]) -> list[str]:
    """Return the heads of a diff's hunks with the numbers of lines that really follow."""
    counted = []
    for hunk in re.split(r"^(?=@@ )", "\n".join(lines), flags=re.MULTILINE)[1:]:
        head, *body = hunk.rstrip("\n").split("\n")
        old = sum(not line.startswith("+") for line in body)
        new = sum(not line.startswith("-") for line in body)
        counted.append(re.sub(r"(\d+),\d+ \+(\d+),\d+", rf"\1,{old} +\2,{new}", head))
    return counted


def test_costs_are_those_of_a_private_person(demo: Store) -> None:
    with demo.snapshot() as view:
        rows = list(view.rows("SELECT model, estimated_cost_usd, input_tokens, output_tokens, "
                              "cache_read_tokens FROM sessions"))  # fmt: skip
    assert {model for model, *_ in rows} == set(PRICES)
    for model, cost, read, written, _ in rows:
        assert 0 <= cost < 2 and (cost > 0) == (PRICES[model].read > 0)
        assert read > 1_000 and written > 0
    assert any(cached > read for _, _, read, _, cached in rows)


def test_files_have_heads_that_are_understood() -> None:
    known = {
        "title", "source", "model", "workspace", "branch", "when", "tags", "pinned", "archived",
        "trashed", "ended", "summary",
    }  # fmt: skip
    for written in conversations():
        for part in written.parts:
            assert set(part.head) <= known, written.name
            assert part.blocks, written.name
