"""`list`: its order, its filters, its columns, and what it says when it stops."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import View
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.workspace import Place
from tests.cli.command import hermes, on_terminal
from tests.store import newer
from tests.support import add, raw

NOW = time.time()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Thirty conversations that differ in size, cost, title and place."""
    home = tmp_path / "home"
    with SessionDB(home / "state.db") as db:
        for number in range(30):
            name, start = f"s{number:02}", NOW - (60 - number) * 60
            place = Place("/src/shop") if number % 2 else Place()
            db.store.sessions.start(name, "cli", started_at=start, place=place)
            for turn in range(1 + number % 3):
                db.append_message(name, "user", f"word{number} 部署", timestamp=start + turn)
            db.set_session_title(name, f"Title {99 - number}")
            db.update_token_counts(
                name, output_tokens=(number * 7) % 30, actual_cost_usd=(number * 11) % 30
            )
        db.store.marks.tag("s03", "work")
        db.store.marks.tag("s04", "work", "later")
    return home


def _listed(home: Path, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hermes(home, "sessions", "list", "--json", *options).json()[
        "sessions"
    ]
    return found


ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "activity": lambda row: -row["last_active"],
    "start": lambda row: -row["started_at"],
    "messages": lambda row: (-row["message_count"], -row["last_active"]),
    "title": lambda row: row["title"],
    "cost": lambda row: -row["cost_usd"],
    "tokens": lambda row: (-row["tokens"], -row["last_active"]),
}


@pytest.mark.parametrize("sort", ORDERS)
def test_every_order(home: Path, sort: str) -> None:
    rows = _listed(home, "--sort", sort, "--all")
    assert len(rows) == 30
    assert rows == sorted(rows, key=ORDERS[sort])
    assert _listed(home, "--sort", sort, "--limit", "3") == rows[:3]


def test_it_says_when_it_stops(home: Path) -> None:
    done = hermes(home, "sessions", "list")
    assert len(done.out.splitlines()) == 2 + 20
    assert done.err == "hermes: 20 of 30 conversations; --all shows all.\n"
    as_json = hermes(home, "sessions", "list", "--json")
    assert as_json.json()["total"] == 30 and "20 of 30" in as_json.err
    for options in (("--all",), ("--limit", "0"), ("--limit", "5"), ("--source", "slack")):
        assert hermes(home, "sessions", "list", *options).err == ""
    assert "5 of 30 conversations" in on_terminal(home, "sessions", "list", "--limit", "5").out


def test_a_file_of_a_newer_hermes_is_not_counted_to_the_end(tmp_path: Path) -> None:
    newer.make(tmp_path / "state.db")
    with raw(tmp_path / "state.db") as con:
        for number in range(25):
            con.execute(
                "INSERT INTO sessions(id, source, started_at) VALUES (?, 'cli', ?)",
                (f"s{number}", NOW - number),
            )
    done = hermes(tmp_path, "sessions", "list")
    assert len(done.out.splitlines()) == 22 and "there are more. --all shows all." in done.err
    assert hermes(tmp_path, "sessions", "list", "--json").json()["total"] is None
    assert hermes(tmp_path, "sessions", "list", "--json", "--all").json()["total"] == 25


def test_filters_choose(home: Path) -> None:
    def ids(*options: str) -> list[str]:
        return [row["id"] for row in _listed(home, *options, "--all")]

    assert ids("--tag", "work") == ["s04", "s03"]
    assert ids("--tag", "work", "--tag", "later") == ["s04", "s03"]
    assert ids("--tag", "later") == ["s04"]
    assert ids("--query", "word7 OR word9") == ["s09", "s07"]
    assert ids("--query", "word4", "--tag", "work") == ["s04"]
    assert ids("--query", "title:9", "--sort", "start", "--workspace", "shop")[0] == "s09"
    assert len(ids("--workspace", "shop")) == 15
    assert hermes(home, "sessions", "list", "--query", "xyzzy").out == "Nothing matches.\n"


def test_a_header_can_be_left_out(home: Path) -> None:
    lines = hermes(home, "sessions", "list", "--no-header", "--limit", "2").out.splitlines()
    assert [line.split()[-1] for line in lines] == ["s29", "s28"]
    shown = on_terminal(home, "sessions", "list", "--no-header", "--limit", "2").out
    assert "Title " in shown and "NUMBER" not in shown and "─" not in shown


def test_a_list_shows_the_figure_it_is_sorted_by(home: Path) -> None:
    lines = hermes(home, "sessions", "list", "--sort", "cost", "--limit", "1").out.splitlines()
    assert lines[0].split() == ["Title", "Source", "Cost", "Active", "ID"]
    assert "$29.00" in lines[2]
    wide = hermes(home, "sessions", "list", "--limit", "1", more={"COLUMNS": "120"}).out
    assert wide.split()[:5] == ["Title", "Workspace", "Source", "Messages", "Active"]
    assert " shop " in wide
    narrow = on_terminal(home, "sessions", "list", "--limit", "1", size=(40, 12)).out
    assert "s29" not in narrow and "#" in narrow  # its number is enough to resume it


def test_counts_agree_with_the_browser_and_with_prune(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        add(db, "a", "x", "y", ended=NOW - 2, at=NOW - 99, reason="compression")
        add(db, "b", "z", parent="a", edge=Edge.COMPRESSION, at=NOW - 2, ended=NOW - 1)
        add(db, "helper", "1", "2", parent="a", at=NOW - 50, ended=NOW - 40)
        shown = db.store.lists.rows(
            [each for each in db.store.lists.entries(View(), now=NOW) if isinstance(each, str)],
            now=NOW,
        )
    assert [(row.id, row.message_count) for row in shown] == [("a", 3)]
    (listed,) = _listed(tmp_path)
    assert (listed["id"], listed["root_id"], listed["message_count"]) == ("b", "a", 3)
    plan = hermes(tmp_path, "sessions", "prune", "--dry-run", "--min-messages", "1")
    assert re.search(r"\b3\b +a$", plan.out.splitlines()[2])
    assert "1 conversation (3 sessions, 3 messages" in plan.out


def test_profiles_are_merged_in_the_order_of_the_list(home: Path) -> None:
    with SessionDB(home / "profiles" / "work" / "state.db") as db:
        db.create_session("w", "cli")
        db.append_message("w", "user", "hello")
        db.set_session_title("w", "Title 75x")
    rows = _listed(home, "--all-profiles", "--sort", "title", "--all")
    titles = [row["title"] for row in rows]
    assert titles == sorted(titles) and rows[titles.index("Title 75x")]["profile"] == "work"
    shown = hermes(home, "sessions", "list", "--all-profiles").out
    assert shown.startswith("Profile") and "w" in shown.split()


def test_what_one_profile_has_is_enough_for_all(home: Path) -> None:
    with SessionDB(home / "profiles" / "work" / "state.db") as db:
        db.create_session("w", "smoke-signal")
        db.append_message("w", "user", "hello")
        db.store.marks.tag("w", "fire")
    for options in (("--source", "smoke-signal"), ("--tag", "fire")):
        (only,) = _listed(home, "--all-profiles", *options)
        assert only["id"] == "w"
    found = hermes(
        home, "sessions", "search", "hello", "--all-profiles", "--source", "smoke-signal"
    )
    assert found.code == 0 and "work: " in found.out
    for verb in (("list",), ("search", "hello")):
        wrong = hermes(home, "sessions", *verb, "--all-profiles", "--source", "telgram")
        assert wrong.code == 2 and "Did you mean telegram?" in wrong.err
