"""Resuming goes to the folder of a session, by number, or to the latest one here."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.workspace import Place
from hermes_tui.cli import list as list_verb
from hermes_tui.cli.common import last_list
from hermes_tui.cli.common.arguments import Parser
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Printer
from hermes_tui.cli.resume import parse
from tests.cli.command import Outcome, environment, hermes
from tests.cli.test_escapes import Terminal
from tests.store import versions
from tests.support import LONG_AGO


@pytest.fixture
def agent(tmp_path: Path) -> dict[str, str]:
    """Another `hermes` on PATH that says where it is and what it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "hermes"
    script.write_text('#!/bin/sh\npwd\necho "$*"\n')
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin:/bin"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def fill(path: Path, shop: Path) -> None:
    with SessionDB(path) as db:
        for number, (name, place) in enumerate(
            (
                ("in_shop", Place(str(shop), str(shop))),
                ("gone", Place(str(shop.parent / "gone"))),
                ("newest", Place()),
            )
        ):
            db.store.sessions.start(name, "cli", place=place, started_at=LONG_AGO + number)
            db.append_message(name, "user", f"hello from {name}", timestamp=LONG_AGO + 10 + number)


def run_in(folder: Path, home: Path, agent: dict[str, str], *arguments: str) -> Outcome:
    """Run the command in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes_tui", *arguments],
        capture_output=True, text=True, env=environment(home, agent), cwd=folder, timeout=60,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("version", [11, 22])
def test_the_agent_starts_where_the_session_took_place(
    tmp_path: Path, agent: dict[str, str], shop: Path, version: int
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    if version > 11:
        versions.make(home / "state.db", version)
    fill(home / "state.db", shop)
    done = run_in(tmp_path, home, agent, "-r", "in_shop")
    assert done.out.splitlines()[-2:] == [str(shop), "--resume in_shop"]
    assert f"↪ {shop}" in done.out
    stay = run_in(tmp_path, home, agent, "-r", "in_shop", "--no-restore-cwd")
    # Only an agent that would go there itself is told not to.
    flag = " --no-restore-cwd" if version >= 22 else ""
    assert stay.out.splitlines()[-2:] == [str(tmp_path), f"--resume in_shop{flag}"]
    inside = run_in(tmp_path, home, agent, "-r", "in_shop", "--in", str(tmp_path / "bin"))
    assert inside.out.splitlines()[-2] == str(tmp_path / "bin")
    lost = run_in(tmp_path, home, agent, "-r", "gone")
    assert lost.out.splitlines()[-2] == str(tmp_path) and "is gone" in lost.err
    wrong = run_in(tmp_path, home, agent, "-r", "in_shop", "--in", str(tmp_path / "no"))
    assert wrong.code == 2 and "Cannot go to" in wrong.err


def test_the_latest_is_the_last_one_here_or_the_last_of_all(
    tmp_path: Path, agent: dict[str, str], shop: Path
) -> None:
    fill(tmp_path / "state.db", shop)
    for arguments in (("-r", "latest"), ("--resume=Latest",), ("-c",)):
        here = run_in(shop, tmp_path, agent, *arguments)
        assert here.out.splitlines()[-1] == "--resume in_shop"
        elsewhere = run_in(tmp_path / "bin", tmp_path, agent, *arguments)
        assert elsewhere.out.splitlines()[-1] == "--resume newest"
    inside = run_in(tmp_path, tmp_path, agent, "-r", "latest", "--in", str(shop))
    assert inside.out.splitlines()[-1] == "--resume in_shop"
    assert parse(["-c", "latest"]).name == "latest"  # a title


def test_a_number_means_the_last_list(
    tmp_path: Path, agent: dict[str, str], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "state.db"
    fill(database, shop)
    before = run_in(tmp_path, tmp_path, agent, "-r", "2")
    assert before.code == 1 and "no list yet to count in" in before.err
    out = Terminal()
    context = Context(tmp_path, database, Printer(out), LONG_AGO + 100)
    parser = Parser("hermes sessions list")
    list_verb.describe(parser)
    assert list_verb.run(parser.parse_args([]), context) == 0
    assert "hermes -r NUMBER resumes one of them." in out.getvalue()
    assert run_in(tmp_path, tmp_path, agent, "-r", "1").out.splitlines()[-1] == "--resume newest"
    assert run_in(tmp_path, tmp_path, agent, "-r", "3").out.splitlines()[-1] == "--resume in_shop"
    beyond = run_in(tmp_path, tmp_path, agent, "-r", "7")
    assert beyond.code == 1 and "no number 7 in the last list, which has 3 rows" in beyond.err
    with SessionDB(database) as db:
        db.set_session_title("gone", "404")
    titled = run_in(tmp_path, tmp_path, agent, "-r", "404")
    assert titled.out.splitlines()[-1] == "--resume gone"
    last_list.path_for(database).write_text("{broken")
    assert run_in(tmp_path, tmp_path, agent, "-r", "1").code == 1


def test_a_relative_path_stays_the_same_file(
    tmp_path: Path, agent: dict[str, str], shop: Path
) -> None:
    fill(tmp_path / "state.db", shop)
    for path in (tmp_path / "state.db", shop / "state.db"):
        with SessionDB(path) as db:
            db.create_session("in_shop", "cli")
            db.end_session("in_shop", "cli_close")
    for more in ((), ("--in", "shop")):
        done = run_in(tmp_path, tmp_path, agent, "--db", "state.db", "-r", "in_shop", *more)
        assert done.out.splitlines()[-2] == str(shop)
    with SessionDB(tmp_path / "state.db", read_only=True) as db:
        assert db.store.sessions.get("in_shop").ended_at is None
    with SessionDB(shop / "state.db", read_only=True) as db:
        assert db.store.sessions.get("in_shop").ended_at is not None


def test_a_list_that_nobody_sees_is_not_kept(tmp_path: Path, shop: Path) -> None:
    fill(tmp_path / "state.db", shop)
    assert hermes(tmp_path, "sessions", "list").code == 0
    assert not last_list.path_for(tmp_path / "state.db").exists()
    printer = Printer(io.StringIO())
    assert not printer.is_terminal


@pytest.mark.parametrize(
    "arguments", [("-r", "newest", "--prnt"), ("-r", "newest", "--in"), ("-r",),
                  ("-r", "newest", "--print", "--bogus")],
)  # fmt: skip
def test_a_typo_does_not_start_a_session(
    tmp_path: Path, shop: Path, arguments: tuple[str, ...]
) -> None:
    fill(tmp_path / "state.db", shop)
    done = hermes(tmp_path, *arguments)
    assert done.code == 2 and done.err


def test_a_chat_notes_where_it_takes_place(tmp_path: Path, shop: Path) -> None:
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    from hermes_store.sessions.workspaces import place_here

    here = Path.cwd()
    try:
        os.chdir(shop)
        assert place_here() == Place(str(shop), str(shop), "main")
    finally:
        os.chdir(here)
