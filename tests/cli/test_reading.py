"""list, search, show, tree, stats, insights: what reports and changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment, hermes

TIP, ROOT, CHAT, JOB = (
    "20250305_091523_bbbb",
    "20250304_143022_aaaa",
    "20250303_101500_f00d",
    "20250302_080000_beef",
)
READING = (
    ("list",),
    ("search", "tests"),
    ("stats",),
    ("insights", "--days", "9999"),
    ("show", "my project"),
    ("tree", "my project"),
    ("doctor",),
    ("config", "show"),
)


def test_the_list_shows_conversations_by_activity(full_home: Path) -> None:
    lines = hermes(full_home, "sessions", "list").out.splitlines()
    assert lines[0].split() == ["Title", "Source", "Active", "ID"]
    assert [line.split()[-1] for line in lines[2:]] == [TIP, CHAT, JOB]
    assert lines[2].startswith("my project #2")
    # Without a title, the first words; and where it comes from by its full name.
    assert lines[3].startswith("What's the weather") and " Telegram " in lines[3]


def test_a_search_finds_titles_too(full_home: Path) -> None:
    """Before the messages, and only where no message of the conversation is shown anyway."""
    assert hermes(full_home, "sessions", "rename", CHAT, "Zebra crossing").code == 0
    found = hermes(full_home, "sessions", "search", "zebra")
    assert found.code == 0 and found.err == ""
    head, summary = found.out.splitlines()
    assert head.split() == ["»Zebra«", "crossing", CHAT, "Telegram"]
    assert summary == "1 title matches, newest first"
    answer = hermes(full_home, "sessions", "search", "zebra", "--json").json()
    assert [(each["session_id"], each["title"]) for each in answer["titles"]] == [
        (CHAT, "Zebra crossing")
    ]
    assert answer["hits"] == []
    assert hermes(full_home, "sessions", "search", "zebra", "source:cli", "--exact").code == 1
    assert hermes(full_home, "sessions", "rename", CHAT, "The weather").code == 0
    lines = hermes(full_home, "sessions", "search", "weather").out.splitlines()
    assert sum(CHAT in line for line in lines) == 1
    assert lines[-1] == "1 message matches, newest first"


def test_wide_characters_keep_columns_in_line(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "rename", CHAT, "天气 ☀️ 部署").code == 0
    lines = hermes(full_home, "sessions", "list").out.splitlines()
    wide = next(line for line in lines if "天气" in line)
    # Each of the four characters takes two columns, so the next column begins four characters
    # earlier; the sun is two characters and takes two columns.
    other = next(line for line in lines if "my project" in line)
    assert wide.index("Telegram") == other.index("Terminal") - 4


def test_limits_and_json(full_home: Path) -> None:
    answer = hermes(full_home, "sessions", "list", "--limit", "1", "--json").json()
    assert answer["kind"] == "sessions"
    (only,) = answer["sessions"]
    assert only["id"] == TIP and only["root_id"] == ROOT


def test_search_finds_and_marks(full_home: Path) -> None:
    found = hermes(full_home, "sessions", "search", "tests", "fail")
    assert found.code == 0
    assert "Two »tests« »fail«." in found.out
    answer = hermes(full_home, "sessions", "search", "src/main.py", "--json").json()
    (hit,) = answer["hits"]
    assert hit["session_id"] == ROOT and hit["role"] == "tool"
    assert hit["snippet"][slice(*hit["marks"][0])] == "src/main.py"


def test_a_search_without_hits_says_so(full_home: Path) -> None:
    nothing = hermes(full_home, "sessions", "search", "--exact", "xyzzy")
    assert nothing.code == 1 and nothing.out == "" and "Nothing matches." in nothing.err
    widened = hermes(full_home, "sessions", "search", "falures")
    assert widened.code == 0 and "'failures' for 'falures'" in widened.err


def test_show_prints_the_conversation(full_home: Path) -> None:
    shown = hermes(full_home, "sessions", "show", ROOT[:10]).out
    assert "Can you check the test failures?" in shown
    assert "[1 tool call: terminal]" in shown
    session = hermes(full_home, "sessions", "show", ROOT, "--format", "json").json()["session"]
    assert len(session["messages"]) == 4


def test_the_tree_names_edges_and_the_tip(full_home: Path) -> None:
    shown = hermes(full_home, "sessions", "tree", ROOT).out
    assert "(compression)" in shown and "◆ newest" in shown and "← this one" in shown
    answer = hermes(full_home, "sessions", "tree", ROOT, "--json").json()
    assert answer["tip"] == TIP
    assert answer["root"]["children"][0]["edge"] == "compression"


def test_stats_count_every_source(full_home: Path) -> None:
    shown = hermes(full_home, "sessions", "stats").out
    assert "Total sessions: 4" in shown and "Total messages: 8" in shown
    for source in ("cli: 2 sessions", "telegram: 1 session", "cron: 1 session"):
        assert source in shown
    assert hermes(full_home, "sessions", "stats", "--json").json()["by_source"]["cli"] == 2


def test_insights_are_also_a_command_of_their_own(full_home: Path) -> None:
    shown = hermes(full_home, "insights", "--days", "9999").out
    assert "tokens 1,500" in shown and "cost $0.50" in shown and "terminal" in shown
    assert hermes(full_home, "sessions", "insights", "--days", "9999").out == shown


@pytest.mark.parametrize("verb", READING)
def test_no_escape_byte_of_stored_text_reaches_the_terminal(
    full_home: Path, verb: tuple[str, ...]
) -> None:
    shown = hermes(full_home, "sessions", *verb, more={"FORCE_COLOR": "1"})
    assert "\x1b" not in shown.out and "\x07" not in shown.out


@pytest.mark.parametrize("verb", [v for v in READING if v[0] not in ("show", "tree", "doctor")])
def test_no_database_yet_is_no_error(tmp_path: Path, verb: tuple[str, ...]) -> None:
    done = hermes(tmp_path, "sessions", *verb)
    assert done.code in (0, 1)
    assert done.out or done.err
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_ends_quietly(full_home: Path) -> None:
    script = f"{sys.executable} -m hermes_tui sessions list --json | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env=environment(full_home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{\n" and done.stderr == ""
