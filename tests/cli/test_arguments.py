"""Options are options wherever they stand; a wrong one is named, and so is a wrong filter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.cli.command import environment, hermes, on_terminal
from tests.e2e.terminal import Terminal

TIP, CHAT, JOB = "20250305_091523_bbbb", "20250303_101500_f00d", "20250302_080000_beef"


def _hits(home: Path, *arguments: str) -> list[str]:
    answer = hermes(home, "sessions", "search", "--json", *arguments).json()
    return [hit["snippet"].strip() for hit in answer["hits"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ("fail", "--role", "assistant"),
        ("--role", "assistant", "fail"),
        ("--role=assistant", "--limit", "5", "tests", "fail"),
        ("tests", "--limit", "5", "fail", "--role", "assistant"),
        ("--ro", "assistant", "fail"),
        ("fail", "--role", "assistant", "--role", "system"),
        ("fail", "role:assistant"),
        ("fail", "-failures", "-main.py"),
        ("fail", "-role:user", "-role:tool"),
        ("fail", "--before", "2999-01-01", "--after", "2001", "--title", "project", "--role", "ai"),
    ],
)
def test_options_stand_anywhere(full_home: Path, arguments: tuple[str, ...]) -> None:
    assert _hits(full_home, *arguments) == ["Two tests fail."]


def test_filters_alone_are_a_search(full_home: Path) -> None:
    assert _hits(full_home, "--source", "telegram") == ["What's the weather in Las Vegas?"]
    assert len(_hits(full_home, "--source", "telegram", "--source", "cron")) == 2


def test_words_with_dashes_are_words_after_two_dashes(full_home: Path) -> None:
    with SessionDB(full_home / "state.db") as db:
        db.append_message(CHAT, "user", "git push --force -x and then -heroku")
    for words in (("--", "--force"), ("push", "--", '"-x"'), ("git", "push --force")):
        assert len(_hits(full_home, *words)) == 1
    # One dash leaves a word out, also one that begins like -h.
    assert _hits(full_home, "push", "-heroku") == _hits(full_home, "push", "--", "-heroku") == []
    assert hermes(full_home, "sessions", "recall", "weather", "-java", "--raw").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "docker", "--sorce", "telegram"), "no option --sorce. Did you mean --source?"),
        (("list", "--sorts", "cost"), "no option --sorts. Did you mean --sort?"),
        (("list", "-x"), "There is no option -x."),
        (("browse", "--foo"), "There is no option --foo."),
        (("--foo",), "There is no option --foo."),
        (("prune", "--include"), "could mean --include-archived or --include-pinned"),
        (("list", "extra"), "Unexpected: extra."),
        (("rename", "x", "--json", "--source", "y"), "no option --source"),
        (("list", "--source"), "--source needs a value."),
        (("list", "--source", "--json"), "--source needs a value."),
        (("list", "--sort", "messgaes"), "not 'messgaes'. Did you mean messages?"),
        (("show",), "Missing: session."),
        (("list", "--all", "--limit", "3"), "Give --all or --limit, not both."),
        (("search",), "Say what to search for"),
        (("search", "--tag", " "), "--tag is empty"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    full_home: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = hermes(full_home, "sessions", *arguments)
    assert done.code == 2 and said in done.err and done.out == ""
    assert "usage:" not in done.err


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("search weather --source telgram", "no source 'telgram'. Did you mean telegram?"),
        ("search weather source:telgram", "no source 'telgram'. Did you mean telegram?"),
        ("search weather -source:telgram", "no source 'telgram'"),
        ("list --source telgram", "Did you mean telegram?"),
        ("browse --source telgram", "Did you mean telegram?"),
        ("export - --source telgram", "Did you mean telegram?"),
        ("prune --source telgram --yes", "Did you mean telegram?"),
        ("archive --source telgram --yes", "Did you mean telegram?"),
        ("insights --source telgram", "Did you mean telegram?"),
        ("search weather after:30dd", "'30dd' is not a time for after:"),
        ("search weather --after 30dd", "'30dd' is not a time for after:"),
        ("search weather OR (vegas before:soon)", "'soon' is not a time for before:"),
        ("search weather is:pined", "Did you mean is:pinned?"),
        ("search weather has:foo", "has: takes tools"),
        ("search weather sort:foo", "Unknown sort order 'foo'"),
        ("search weather --role uesr", "Did you mean role:user?"),
        ("search weather source:", "source: has no value"),
        ("list --query after:30dd", "'30dd' is not a time for after:"),
        ("prune --where after:30dd", "'30dd' is not a time for after:"),
        ("prune --older-than 30dd", "'30dd' is not a time for --older-than"),
    ],
)
def test_a_filter_that_is_not_understood_is_refused(full_home: Path, verb: str, said: str) -> None:
    words = verb.split()
    if words[:3] == ["search", "weather", "OR"]:
        words = ["search", "weather OR (vegas before:soon)"]
    if words[-1] == "source:":
        words[-1] = 'source:""'
    done = hermes(full_home, "sessions", *words)
    assert (done.code, done.out) == (2, "") and said in done.err
    assert hermes(full_home, "sessions", "list", "--json").json()["total"] == 3


def test_a_source_of_another_program_is_fine(full_home: Path) -> None:
    with SessionDB(full_home / "state.db") as db:
        db.store.sessions.start("odd", "smoke-signal")
        db.append_message("odd", "user", "the weather is smoky")
    for typed in ("smoke-signal", "smoke"):
        assert "odd" in hermes(full_home, "sessions", "list", "--source", typed).out
        assert _hits(full_home, "weather", "--source", typed) == ["the weather is smoky"]
    # One that is known, but from which there is nothing, is no mistake.
    for verb in (("list",), ("prune", "--dry-run")):
        assert hermes(full_home, "sessions", *verb, "--source", "slack").code == 0
    assert hermes(full_home, "sessions", "search", "weather", "--source", "slack").code == 1


def test_a_tag_that_nobody_has_is_not_found(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "tag", CHAT, "work").code == 0
    done = hermes(full_home, "sessions", "list", "--tag", "wrok")
    assert done.code == 1 and "No conversation has the tag 'wrok'. Did you mean work?" in done.err
    done = hermes(full_home, "sessions", "search", "weather", "--tag", "wrok")
    assert done.code == 1 and "Known tags: work." in done.err


def test_without_a_verb_the_browser_opens_on_a_terminal(full_home: Path) -> None:
    surroundings = environment(full_home, {"TERM": "xterm-256color"})
    command = Path(sys.executable).parent / "hermes-sessions"
    for words in ((), ("sessions",), ("--source", "cli")):
        terminal = Terminal([command, *words], surroundings, folder=full_home)
        try:
            terminal.wait_open()
            terminal.wait_for("my project")
            terminal.send("ctrl+q")
            assert terminal.finish().code == 0
        finally:
            terminal.close()
    dumb = on_terminal(full_home, "sessions", more={"TERM": "dumb"})
    assert dumb.code == 0 and "hermes -r NUMBER" in dumb.out and "\x1b" not in dumb.out
    demo = hermes(full_home, "sessions", "--source", "telegram")
    assert CHAT in demo.out and TIP not in demo.out
