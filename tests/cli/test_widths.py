"""Nothing is wider than the terminal: help, tables, hits and sentences."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from hermes_store import SessionDB
from hermes_store.records.workspace import Place
from hermes_tui.cli.verb_table import VERBS
from tests.cli.command import Outcome, hermes, on_terminal

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LONG = "数据库迁移失败 docker deploy の長い題名 with a very long title that never seems to end"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Conversations with long titles, places, sources and messages."""
    home = tmp_path / "home"
    old = time.time() - 200 * 86_400
    with SessionDB(home / "state.db") as db:
        for number in range(4):
            name = f"20260101_12000{number}_abcdef12"
            place = Place("/home/somebody/a/rather/long/path/to-a-repository-with-a-name")
            source = "homeassistant" if number else "a-source-of-another-program-entirely"
            db.store.sessions.start(name, source, started_at=old + number, place=place)
            db.append_message(name, "user", f"{LONG} " * 4, timestamp=old + number)
            db.append_message(name, "assistant", "Exit code 137." * 20, timestamp=old + 9)
            db.set_session_title(name, f"{LONG} {number}")
            db.end_session(name, "done")
        db.store.marks.pin("20260101_120000_abcdef12")
        db.store.marks.tag("20260101_120001_abcdef12", "work")
    return home


def _fits(shown: Outcome, columns: int) -> None:
    wide = [
        line
        for line in _STYLE.sub("", shown.out).replace("\r", "\n").split("\n")
        if cell_len(line) > columns
    ]
    assert wide == []


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits(tmp_path: Path, verb: str) -> None:
    shown = hermes(tmp_path, "sessions", *filter(None, [verb]), "--help", more={"COLUMNS": "80"})
    assert shown.code == 0
    _fits(shown, 80)


@pytest.mark.parametrize("command", [("--help",), ("chat", "--help"), ("insights", "--help")])
def test_help_of_commands_fits(tmp_path: Path, command: tuple[str, ...]) -> None:
    shown = hermes(tmp_path, *command, more={"COLUMNS": "80"})
    assert shown.code == 0 and shown.out.strip()
    _fits(shown, 80)


SHOWING = [
    "list", "list --sort cost", "list --sort tokens --limit 1", "list --source slack",
    "list --source telgram", "list --no-header", "search docker", "search deploy --limit 1",
    "search '数据库'", "search xyzzy --exact", "search ocke", "search x after:30dd",
    "recall docker", "tree 20260101_120000", "prune --dry-run", "prune --dry-run --where is:pinned",
    "archive --older-than 9d --dry-run", "pinned", "stats", "insights --days 999", "trash",
    "config check", "config path", "show nothing", "export 20260101", "delete x --yes",
    "restore 77", "serach x", "prune --sorce x", "rename 20260101_120001 the new title of it",
    "untag 20260101_120001 work", "unpin 20260101_120001", "delete 20260101_120001 --yes",
    "trash", "restore --last", "auto-prune", "optimize",
]  # fmt: skip


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (60, 20)])
def test_output_fits(home: Path, columns: int, lines: int) -> None:
    for verb in SHOWING:
        words = [word.strip("'") for word in verb.split()]
        shown = on_terminal(home, "sessions", *words, size=(columns, lines), typed="c\n")
        assert shown.code in (0, 1, 2), verb
        if not verb.startswith("config"):  # a path cannot be broken
            _fits(shown, columns)


def test_most_output_fits_forty_columns(home: Path) -> None:
    for verb in ("list", "search docker", "prune --dry-run", "search x after:30dd"):
        _fits(on_terminal(home, "sessions", *verb.split(), size=(40, 12)), 40)
    for verb in ("list", "search docker"):
        _fits(hermes(home, "sessions", *verb.split(), more={"COLUMNS": "40"}), 40)
