"""The conditions of `prune` and `archive`, pins, repair, and durations."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput
from hermes_store.records.workspace import Place
from hermes_tui.cli.common import ages
from tests.cli.command import hermes
from tests.store import versions
from tests.store.engines.test_versions import Program

HOUR, DAY = 3_600, 86_400


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Conversations that differ in age, place, cost and size."""
    now = time.time()
    home = tmp_path / "home"
    home.mkdir()
    with SessionDB(home / "state.db") as db:
        for name, days, place, cost in (
            ("fresh", 0.1, Place("/src/shop", "/src/shop", "main"), 0.1),
            ("week", 6, Place("/src/shop/ci", "/src/shop", "fix-oom"), 2.0),
            ("month", 30, Place("/home/notes"), 0.5),
            ("year", 300, Place(), 9.0),
        ):
            start = now - days * DAY
            db.store.sessions.start(name, "cli", place=place, started_at=start, model="sonnet")
            db.append_message(name, "user", "hello", timestamp=start + 60)
            db.update_token_counts(
                name, input_tokens=int(1_000 * cost), actual_cost_usd=cost, api_call_count=1,
                billing_provider="OpenRouter" if name != "year" else "anthropic",
            )  # fmt: skip
            with db._db.write() as tx:
                tx.run(
                    "UPDATE sessions SET ended_at = ?, end_reason = 'done' WHERE id = ?",
                    (start + 90, name),
                )
    return home


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("", "year"),
        ("--older-than 5h", "year month week"),
        ("--older-than 20d", "year month"),
        ("--older-than 2w --newer-than 60", "month"),
        ("--newer-than 1w", "week fresh"),
        ("--before 1w", "year month"),
        ("--after 8d", "week fresh"),
        ("--workspace shop", "week fresh"),
        ("--cwd /src/shop/ci/", "week"),
        ("--cwd /src", "week fresh"),
        ("--branch OOM", "week"),
        ("--provider openrouter --min-cost 0.4", "month week"),
        ("--max-cost 0.2", "fresh"),
        ("--min-tokens 1000", "year week"),
        ("--max-tool-calls 0 --max-tokens 100", "fresh"),
        ("--end-reason done --model SONN --older-than 100", "year"),
        ("--end-reason other", ""),
        ("--user nobody", ""),
        ("--chat-id x", ""),
        ("--never-active", ""),
        ("--min-messages 0 --min-cost 0", "year"),
    ],
)
def test_conditions_choose_as_in_the_agent(home: Path, conditions: str, expected: str) -> None:
    done = hermes(home, "sessions", "prune", "--dry-run", "--json", *conditions.split()).json()
    assert done["sessions"] == expected.split()


def test_many_are_archived_and_pruned_at_once(home: Path) -> None:
    refused = hermes(home, "sessions", "archive")
    assert refused.code == 2 and "--older-than 60d" in refused.err
    both = hermes(home, "sessions", "archive", "week", "--older-than", "1d")
    assert both.code == 2 and "not both" in both.err
    shown = hermes(home, "sessions", "archive", "--workspace", "shop", "--dry-run")
    assert "Would archive 2 conversations" in shown.out
    done = hermes(home, "sessions", "archive", "--workspace", "shop", "--yes")
    assert "Archived 2 conversations" in done.out
    assert "week" not in hermes(home, "sessions", "list").out
    pruned = hermes(home, "sessions", "prune", "--newer-than", "1y", "--yes", "--json").json()
    assert pruned["pruned"] == 2  # those that are archived stay
    assert hermes(home, "sessions", "restore", "--last").code == 0


@pytest.mark.parametrize("flag", ["--title", "--workspace", "--cwd", "--branch", "--source",
                                  "--provider", "--where", "--user"])  # fmt: skip
def test_a_blank_condition_is_refused(home: Path, flag: str) -> None:
    """A script whose variable is not set must not get everything."""
    for verb in ("prune", "archive"):
        refused = hermes(home, "sessions", verb, flag, " ", "--older-than", "1h", "--yes")
        assert refused.code == 2 and f"{flag} is empty" in refused.err
    assert hermes(home, "sessions", "list", "--json").json()["sessions"][3]["id"] == "year"


def test_naming_what_to_archive_can_be_tried(home: Path) -> None:
    done = hermes(home, "sessions", "archive", "year", "--dry-run")
    assert done.out == "Would archive year. Nothing was changed.\n"
    assert "year" in hermes(home, "sessions", "list").out


def test_eight_digits_are_a_date(home: Path) -> None:
    day = time.strftime("%Y%m%d", time.localtime(time.time() - 10 * DAY))
    done = hermes(home, "sessions", "prune", "--dry-run", "--json", "--after", day).json()
    assert done["sessions"] == ["week", "fresh"]
    refused = hermes(home, "sessions", "prune", "--dry-run", "--newer-than", "999999")
    assert refused.code == 2


def test_a_path_may_end_with_a_slash_or_begin_with_a_dot(home: Path) -> None:
    done = hermes(home, "sessions", "prune", "--dry-run", "--json", "--workspace", "/src/shop/")
    assert done.json()["sessions"] == ["week", "fresh"]
    assert hermes(home, "sessions", "prune", "--dry-run", "--cwd", ".").code == 0


def test_an_empty_time_is_refused(home: Path) -> None:
    done = hermes(home, "sessions", "prune", "--older-than", "1d", "--newer-than", "2h")
    assert done.code == 2 and "--newer-than" in done.err
    done = hermes(home, "sessions", "prune", "--before", "tomorrowish")
    assert done.code == 2 and "2026-07-05" in done.err


def test_chats_that_nobody_used_are_pruned_although_they_never_ended(tmp_path: Path) -> None:
    versions.make(tmp_path / "state.db", 22)
    program = Program(tmp_path / "state.db")
    old = time.time() - 40 * DAY
    program.session("unused", old, session_key="agent:main:x", message_count=0)
    program.session("unkeyed", old, message_count=0)
    program.session("named", old, session_key="k", message_count=0, title="Mine")
    program.session("miscounted", old, session_key="k3", message_count=0)
    program.say("miscounted", "but somebody did", old)
    program.session("young", time.time() - DAY, session_key="k2", message_count=0)
    program.close()
    done = hermes(tmp_path, "sessions", "prune", "--never-active", "--yes", "--json").json()
    assert done["sessions"] == ["unused"] and done["pruned"] == 1


def test_pins_are_listed(home: Path) -> None:
    assert "No pinned conversations" in hermes(home, "sessions", "pinned").out
    assert hermes(home, "sessions", "pin", "year").code == 0
    assert hermes(home, "sessions", "pinned").out.splitlines()[-1].endswith("year")
    (row,) = hermes(home, "sessions", "pinned", "--json").json()["sessions"]
    assert row["id"] == "year" and row["message_count"] == 1
    kept = hermes(home, "sessions", "prune", "--dry-run", "--json").json()
    assert kept["sessions"] == [] and kept["spared"][0]["reason"] == "It is pinned."


def test_repair_can_only_look(home: Path) -> None:
    before = (home / "state.db").read_bytes()
    done = hermes(home, "sessions", "repair", "--check-only")
    assert done.code == 0 and "All pages and indexes are intact." in done.out
    assert (home / "state.db").read_bytes() == before
    assert "nothing to repair" in hermes(home, "sessions", "repair").out


@pytest.mark.parametrize(
    ("text", "days"),
    [("5h", 5 / 24), ("30m", 30 / 1440), ("2d", 2), ("1w", 7), ("90", 90), ("1.5 days", 1.5),
     ("6mo", 180), ("1y", 365), ("10 minutes", 10 / 1440), ("3 hrs", 3 / 24)],
)  # fmt: skip
def test_durations(text: str, days: float) -> None:
    assert ages.days(text) == pytest.approx(days)
    assert ages.moment(text, "--before", 1e9) == pytest.approx(1e9 - days * DAY)


@pytest.mark.parametrize("text", ["", "h", "5x", "-3d", "5 s m", "next week", "1e3", "٣d"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(InvalidInput, match="30m, 5h, 2d, 1w"):
        ages.days(text)


def test_a_date_is_a_point_in_time() -> None:
    assert ages.moment("2026-07-05T14:30:00+00:00", "--before", 0) == 1_783_261_800
    assert ages.moment("2026-07-05 14:30", "--before", 0) - ages.moment(
        "2026-07-05", "--before", 0
    ) == pytest.approx(14.5 * HOUR)
