"""What `search` prints: conversations once, in the order it names, no more than asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.search import Snippet
from hermes_tui.cli.search import fitted
from tests.cli.command import hermes

START = 1_790_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three conversations that take turns, one of them with a matching title."""
    home = tmp_path / "home"
    with SessionDB(home / "state.db") as db:
        for place, name in enumerate(("early", "late", "titled")):
            db.store.sessions.start(name, "cli", started_at=START + place)
        for turn in range(4):
            for place, name in enumerate(("early", "late")):
                db.append_message(
                    name, "user", f"kiwi {name} {turn}", timestamp=START + 10 * turn + place
                )
        db.append_message("early", "assistant", "Yes.", timestamp=START + 90)
        db.append_message("late", "assistant", "A kiwi, then.", timestamp=START + 91)
        db.append_message("late", "assistant", "A kiwi, then.", timestamp=START + 92)
        db.append_message("titled", "user", "Birds.", timestamp=START + 1)
        db.append_message("titled", "user", "kiwifruit", timestamp=START + 99)
        db.set_session_title("titled", "About the kiwi")
        db.set_session_title("early", "Early one")
        db.set_session_title("late", "Late one")
    return home


def _lines(home: Path, *arguments: str) -> list[str]:
    return hermes(home, "sessions", "search", *arguments).out.splitlines()


def _heads(lines: list[str]) -> list[str]:
    return [line.split()[-2] for line in lines if line.endswith("  Terminal")]


def test_each_conversation_is_printed_once(home: Path) -> None:
    lines = _lines(home, "kiwi")
    assert _heads(lines) == ["titled", "late", "early"]
    assert len(set(lines)) == len(lines)
    assert sum("»kiwi«, then. (×2)" in line for line in lines) == 1
    assert lines[0].startswith("About the »kiwi«  titled")


def test_the_order_is_the_one_it_names(home: Path) -> None:
    newest = _lines(home, "kiwi", "--sort", "newest")
    assert newest[-1].endswith("newest first")
    late = newest[newest.index("Late one  late  Terminal") + 1 :][:5]
    assert [line.split()[-1] for line in late] == ["(×2)", "3", "2", "1", "0"]
    oldest = _lines(home, "kiwi", "--sort", "oldest")
    assert oldest[-1].endswith("oldest first")
    assert _heads(oldest) == ["titled", "early", "late"]
    assert _lines(home, "kiwi", "sort:relevance")[-1].endswith("most relevant first")


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_the_limit_is_the_number_of_matches(home: Path, limit: int) -> None:
    lines = _lines(home, "kiwi", "--limit", str(limit))
    assert lines[-1].startswith(f"{limit} of ") and lines[-1].endswith("--limit shows more")
    hits = [line for line in lines if line.startswith("  ")]
    alone = sum(
        line.endswith("Terminal") and not lines[place + 1].startswith("  ")
        for place, line in enumerate(lines)
    )
    doubled = sum("(×2)" in line for line in hits)
    assert len(hits) + doubled + alone == limit


def test_weaker_matches_come_last_under_a_heading(home: Path) -> None:
    with SessionDB(home / "state.db") as db:
        db.store.sessions.start("inside", "cli", started_at=START + 500)
        db.append_message("inside", "user", "kiwifruit salad", timestamp=START + 501)
    lines = _lines(home, "kiwi")
    assert _heads(lines) == ["titled", "late", "early", "inside"]
    assert lines[lines.index("Inside of words:") + 1].startswith("kiwifruit salad  inside")


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("a kiwi b", 20, "a »kiwi« b"),
        ("x" * 30 + " kiwi " + "y" * 30, 20, "…xxxxx »kiwi« yyyyy…"),
        ("kiwi " + "y" * 30, 12, "»kiwi« yyyy…"),
        ("数据库" * 9 + "kiwi" + "迁移" * 9, 20, "…数据库»kiwi«迁移迁…"),
        ("line\n\nkiwi\tb", 30, "line »kiwi« b"),
    ],
)
def test_an_excerpt_shows_its_match(text: str, columns: int, shown: str) -> None:
    start = text.index("kiwi")
    excerpt = fitted(Snippet(text, ((start, start + 4),)), columns, marks=True)
    assert excerpt.marked("»", "«") == shown
