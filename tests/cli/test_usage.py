"""Wrong input gets a sentence and the right exit code; help teaches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_tui.cli.verb_table import VERBS
from tests.cli.command import hermes

BIG = "9" * 23


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
        (("sessions", "list", "--limit", "-1"), "--limit must be at least 0"),
        (("sessions", "list", "--limit", "x"), "--limit must be a whole number, not 'x'."),
        (("sessions", "search", "x", "--limit", "0"), "at least 1"),
        (("sessions", "insights", "--days", "0"), "at least 1"),
        (("sessions", "list", "--db", "a.db", "--home", "b"), "leave out --home"),
        (("-r",), "-r needs a session"),
        (("sessions", "search", "x", "--limit", BIG), "--limit must be at most"),
        (("sessions", "search", "x", "--seconds", "nan"), "--seconds must be a number"),
        (("sessions", "search", "x", "--seconds", "-1"), "--seconds must be at least 0"),
        (("sessions", "list", "--limit", BIG), "--limit must be at most"),
        (("sessions", "browse", "--limit", BIG), "--limit must be at most"),
        (("sessions", "recall", "x", "--limit", BIG), "--limit must be at most"),
        (("insights", "--days", BIG), "--days must be at most"),
        (("sessions", "prune", "--older-than", BIG), "--older-than must be at most"),
        (("sessions", "prune", "--min-messages", "-1"), "--min-messages must be at least 0"),
        (("sessions", "prune", "--max-messages", BIG), "--max-messages must be at most"),
        (("sessions", "list", "--db", "~nosuch/x"), "home folder ~nosuch is unknown"),
        (("sessions", "list", "--home", "~nosuch/x"), "home folder ~nosuch is unknown"),
        (("-r", "x", "--home", "~nosuch/x"), "home folder ~nosuch is unknown"),
        (("chat", "--home", "~nosuch/x"), "home folder ~nosuch is unknown"),
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
    assert hermes(tmp_path, "sessions", "list").out == "No conversations yet.\n"


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


@pytest.mark.parametrize("arguments", [("sessions", "list"), ("chat",), ("-c",)])
def test_a_home_of_nobody_is_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = hermes(tmp_path, *arguments, more={"HERMES_HOME": "~nosuch"})
    assert done.code == 2 and "home folder ~nosuch is unknown" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_database_that_is_named_needs_no_home(full_home: Path) -> None:
    chosen = ("--db", str(full_home / "state.db"))
    done = hermes(full_home, "sessions", "list", *chosen, more={"HERMES_HOME": "~nosuch"})
    assert done.code == 0 and "my project" in done.out


def test_a_name_that_is_too_long_is_not_called_output(tmp_path: Path) -> None:
    long = str(tmp_path / ("x" * 400))
    for done in (
        hermes(tmp_path, "sessions", "list", more={"HERMES_HOME": long}),
        hermes(tmp_path, "sessions", "import", long),
    ):
        assert done.code == 1 and "cannot be used: File name too long." in done.err
        assert "output" not in done.err and len(done.err) < 300


def test_a_key_of_config_that_is_a_list_is_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("? [a, b]\n: c\nsessions:\n  ? [d]\n  : e\n  auto_prun: true\n")
    done = hermes(tmp_path, "sessions", "config", "check")
    assert (done.code, done.err) == (1, "") and "unknown key sessions.auto_prun" in done.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: \x07\n", "line 2 is not valid YAML: it has a control character."),
        ("a: " + "[" * 2_000, "nested too deeply"),
        ('a: "\\UFFFFFFFF"', "escape in double quotes stands for no character"),
        ("a: 1\nb: c: d\n", "line 2 is not valid YAML"),
    ],
)
def test_what_is_wrong_with_config_can_be_found(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    done = hermes(tmp_path, "sessions", "config", "check")
    assert done.code == 1 and said in done.err
    assert ("that line" in done.err) <= ("line 2" in done.err)


@pytest.mark.parametrize("address", ["http://exa mple/", "http://a\x01b/", "http://a<b>/"])
def test_an_address_that_is_none_is_named(full_home: Path, address: str) -> None:
    config = {"model": {"default": "some", "base_url": address}}
    (full_home / "config.yaml").write_text(json.dumps(config))
    done = hermes(full_home, "chat", "-q", "hello", more={"HERMES_API_KEY": "secret"})
    assert done.code == 1 and "model.base_url is 'http://" in done.err
    assert "not a server address" in done.err


def test_a_locale_without_all_characters_is_no_error(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "rename", "20250302_080000_beef", "数据库 😀").code == 0
    more = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for verb in (("list",), ("search", "weather"), ("show", "my project"), ("--help",)):
        done = hermes(full_home, "sessions", *verb, more=more)
        assert done.code == 0 and "bug" not in done.err
    done = hermes(full_home, "sessions", "list", "--json", more=more)
    assert done.json()["sessions"][2]["title"] == "数据库 😀"
