"""Wrong input gets a sentence and the right exit code; help teaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_tui.cli.verb_table import VERBS
from tests.cli.command import hermes


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(tmp_path: Path, verb: str) -> None:
    shown = hermes(tmp_path, "sessions", verb, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"usage: hermes sessions {verb}")
    assert "example" in shown.out


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_sessions_alone_lists_its_verbs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shown = hermes(tmp_path, "sessions", *arguments)
    assert shown.code == 0
    assert all(f"  {name} " in shown.out for name in VERBS)


def test_a_misspelt_verb_gets_a_hint(tmp_path: Path) -> None:
    done = hermes(tmp_path, "sessions", "serach", "x")
    assert done.code == 2 and "Did you mean 'search'?" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sessions", "list", "--limit", "-1"), "--limit must be 0 or more"),
        (("sessions", "list", "--limit", "x"), "invalid int value"),
        (("sessions", "search", "x", "--limit", "0"), "at least 1"),
        (("sessions", "insights", "--days", "0"), "at least 1"),
        (("sessions", "list", "--db", "a.db", "--home", "b"), "leave out --home"),
        (("-r",), "-r needs a session"),
    ],
)
def test_wrong_values_are_usage_errors(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = hermes(tmp_path, *arguments)
    assert done.code == 2 and said in done.err and done.out == ""


def test_what_is_not_there_is_named(full_home: Path) -> None:
    for verb in (("show", "nobody"), ("tree", "nobody"), ("rename", "nobody", "x")):
        done = hermes(full_home, "sessions", *verb)
        assert done.code == 1 and "'nobody'" in done.err
    unknown = hermes(full_home, "sessions", "list", "--profile", "work")
    assert unknown.code == 1 and "no profile 'work'" in unknown.err


def test_an_ambiguous_id_lists_the_candidates(full_home: Path) -> None:
    done = hermes(full_home, "sessions", "show", "202503")
    assert done.code == 1
    assert "20250304_143022_aaaa" in done.err and "20250305_091523_bbbb" in done.err


@pytest.mark.parametrize("content", [b"not a database at all " * 100, b"SQLite format 3\0" * 400])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    done = hermes(tmp_path, "sessions", "list")
    assert done.code == 1 and str(tmp_path / "state.db") in done.err
    assert (tmp_path / "state.db").read_bytes() == content


def test_a_folder_instead_of_a_file_is_named(tmp_path: Path) -> None:
    done = hermes(tmp_path, "sessions", "list", "--db", str(tmp_path))
    assert done.code == 1 and "is a folder" in done.err


def test_an_empty_file_has_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert hermes(tmp_path, "sessions", "list").out == "No sessions found.\n"


def test_config_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("sessions:\n  retention_day: 3\nterminal:\n  whatever: 1\n")
    done = hermes(tmp_path, "sessions", "config", "check")
    assert done.code == 1
    assert "line 2: unknown key sessions.retention_day; did you mean sessions.retention_days" in (
        done.out
    )
    path.write_text("display:\n  resume_display: tiny\n")
    wrong = hermes(tmp_path, "sessions", "config", "check")
    assert wrong.code == 1 and "line 2: display.resume_display must be" in wrong.err
    assert hermes(tmp_path, "sessions", "config", "path").out.strip() == str(path)


def test_profiles_are_listed_together(full_home: Path) -> None:
    from hermes_store import SessionDB

    with SessionDB(full_home / "profiles" / "work" / "state.db") as db:
        db.create_session("w", "cli")
        db.append_message("w", "user", "quarterly failures report")
    shown = hermes(full_home, "sessions", "list", "--all-profiles").out
    assert shown.splitlines()[0].startswith("Profile")
    assert "work" in shown and "default" in shown
    found = hermes(full_home, "sessions", "search", "failures", "--all-profiles").out
    assert "work: " in found and "default: " in found
    assert "quarterly" in hermes(full_home, "sessions", "list", "--profile", "work").out
