"""`hermes -c` and `-r`: which session is meant, what is shown, who takes over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_tui.cli.resume import is_meant, parse
from tests.cli.command import hermes

TIP, ROOT, CHAT = "20250305_091523_bbbb", "20250304_143022_aaaa", "20250303_101500_f00d"


@pytest.fixture
def agent(tmp_path: Path) -> dict[str, str]:
    """Another `hermes` on PATH that says what it was called with and ends with code 7."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "hermes"
    script.write_text('#!/bin/sh\necho "agent: $*"\nexit 7\n')
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-c"], None),
        (["-c", "my", "project"], "my project"),
        (["--continue", "my project"], "my project"),
        (["-r", "my", "project", "--print"], "my project"),
        (["--resume=my project"], "my project"),
        (["chat", "-c", "x"], "x"),
        (["chat", "--verbose", "-r", "x"], "x"),
        (["--home", "/h", "-r", "x"], "x"),
    ],
)
def test_a_name_needs_no_quotes(arguments: list[str], name: str | None) -> None:
    assert is_meant(arguments)
    assert parse(arguments).name == name


@pytest.mark.parametrize("arguments", [[], ["gateway", "-r"], ["chat"], ["model", "--continue"]])
def test_other_commands_do_not_resume(arguments: list[str]) -> None:
    assert not is_meant(arguments)


@pytest.mark.parametrize(
    "name", [ROOT, TIP, "my project", "my project #2", "20250305", "20250304_14"]
)
def test_every_way_to_name_a_conversation_leads_to_its_tip(full_home: Path, name: str) -> None:
    shown = hermes(full_home, "-r", name, "--print")
    assert shown.code == 0 and f"Session {TIP}" in shown.out


def test_continue_takes_the_last_session_of_the_terminal(full_home: Path) -> None:
    assert f"Session {TIP}" in hermes(full_home, "-c", "--print").out


def test_the_recap_keeps_the_rules(full_home: Path) -> None:
    shown = hermes(full_home, "-r", TIP, "--print").out
    assert "Previous Conversation" in shown
    assert "● You:" in shown and "◆ Hermes:" in shown
    assert "Done." in shown  # the last answer in full, though it has four lines
    (full_home / "config.yaml").write_text("display:\n  resume_display: minimal\n")
    assert "Previous" not in hermes(full_home, "-r", TIP, "--print").out


def test_nothing_found_says_so(full_home: Path, tmp_path: Path) -> None:
    missing = hermes(full_home, "-c", "no", "such", "name")
    assert missing.code == 1 and "'no such name'" in missing.err
    ambiguous = hermes(full_home, "-r", "2025030")
    assert ambiguous.code == 1 and TIP in ambiguous.err
    empty = hermes(tmp_path, "-c")
    assert empty.code == 1 and "no session database" in empty.err


def test_the_agent_takes_over(full_home: Path, agent: dict[str, str]) -> None:
    with SessionDB(full_home / "state.db") as db:
        db.end_session(TIP, "cli_close")
    done = hermes(full_home, "-c", "my", "project", "--model", "x", more=agent)
    assert done.code == 7
    assert done.out.splitlines()[-1] == f"agent: --resume {TIP} --model x"
    assert "↻ Resumed session" in done.out
    with SessionDB(full_home / "state.db", read_only=True) as db:
        assert db.store.sessions.get(TIP).ended_at is None


def test_a_command_of_ones_own_takes_over(full_home: Path, agent: dict[str, str]) -> None:
    (full_home / "config.yaml").write_text("resume:\n  command: [echo, mine, '{session_id}']\n")
    done = hermes(full_home, "-r", CHAT, more=agent)
    assert done.code == 0 and done.out.splitlines()[-1] == f"mine {CHAT}"


def test_without_a_successor_nothing_is_reopened(full_home: Path) -> None:
    with SessionDB(full_home / "state.db") as db:
        db.end_session(TIP, "cli_close")
    (full_home / "config.yaml").write_text("resume:\n  with: agent\n")
    done = hermes(full_home, "-r", TIP)
    assert done.code == 1 and "resume:" in done.err
    with SessionDB(full_home / "state.db", read_only=True) as db:
        assert db.store.sessions.get(TIP).end_reason == "cli_close"


def test_other_commands_go_to_the_agent_unchanged(tmp_path: Path, agent: dict[str, str]) -> None:
    done = hermes(tmp_path, "gateway", "start", "--flag", "a b", more=agent)
    assert done.code == 7 and done.out == "agent: gateway start --flag a b\n"
    assert hermes(tmp_path, more=agent).out == "agent: \n"


def test_without_an_agent_an_unknown_command_is_a_usage_error(tmp_path: Path) -> None:
    done = hermes(tmp_path, "sesions", "list")
    assert done.code == 2 and "Did you mean 'sessions'?" in done.err
    done = hermes(tmp_path)
    assert done.code == 2 and "nothing to send" in done.err
