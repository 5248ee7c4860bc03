"""The command in difficult surroundings: locked, write-protected, newer, large, interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from bench.sample_sessions import create
from hermes_store import SessionDB
from hermes_tui.cli import main
from hermes_tui.cli.common.progress import ProgressLine
from tests.cli.command import environment, hermes
from tests.sqlite_parts import sqlite

CHAT = "20250303_101500_f00d"


def test_reading_goes_on_while_another_program_holds_the_write_lock(full_home: Path) -> None:
    con = apsw.Connection(str(full_home / "state.db"))
    try:
        con.execute("BEGIN IMMEDIATE")
        for verb in (("list",), ("search", "weather"), ("stats",), ("show", CHAT), ("doctor",)):
            assert hermes(full_home, "sessions", *verb).code == 0
    finally:
        con.close()


def test_a_change_waits_for_another_writer(full_home: Path) -> None:
    con = apsw.Connection(str(full_home / "state.db"))
    try:
        con.execute("BEGIN IMMEDIATE")
        with subprocess.Popen(
            [sys.executable, "-m", "hermes_tui", "sessions", "rename", CHAT, "waited"],
            env=environment(full_home),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            time.sleep(1.5)
            assert process.poll() is None
            con.execute("ROLLBACK")
            output, _ = process.communicate(timeout=30)
        assert "renamed to: waited" in output and process.returncode == 0
    finally:
        con.close()


def test_a_newer_file_is_read_and_never_changed_in_its_schema(full_home: Path) -> None:
    path = full_home / "state.db"
    with SessionDB(path) as db, db._db.write() as tx:
        tx.run("UPDATE schema_version SET version = 30")
        before = list(tx.rows("SELECT sql FROM sqlite_master ORDER BY name"))
    for verb in (("list",), ("search", "weather"), ("rename", CHAT, "new name"), ("optimize",)):
        assert hermes(full_home, "sessions", *verb).code == 0
    with SessionDB(path, read_only=True) as db, db._db.read() as tx:
        assert list(tx.rows("SELECT sql FROM sqlite_master ORDER BY name")) == before
        assert tx.value("SELECT version FROM schema_version") == 30


def test_a_write_protected_folder_can_be_read_and_refuses_changes(full_home: Path) -> None:
    with SessionDB(full_home / "state.db") as db:
        sqlite(db._db).truncate_log()
    os.chmod(full_home, 0o555)
    os.chmod(full_home / "state.db", 0o444)
    code = (
        "import sys; from hermes_tui.cli.main import run; from tests import rights\n"
        "with rights.respected(): sys.exit(run(sys.argv[1:]))"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment(full_home),
            capture_output=True,
            text=True,
            check=False,
        )

    listed = run("sessions", "list")
    assert listed.returncode == 0 and CHAT in listed.stdout, listed.stderr
    refused = run("sessions", "rename", CHAT, "x")
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert str(full_home / "state.db") in refused.stderr
    os.chmod(full_home, 0o755)


def _interrupt(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command and press Ctrl+C soon after it began."""
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_tui", *arguments],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(0.45)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def test_interrupting_an_export_leaves_the_old_file(tmp_path: Path) -> None:
    create(tmp_path / "state.db", 250, now=time.time())
    target = tmp_path / "out" / "backup.jsonl"
    target.parent.mkdir()
    target.write_text("the export of yesterday")
    done = _interrupt(tmp_path, "sessions", "export", "--force", str(target))
    assert "Traceback" not in done.stderr
    assert [path.name for path in target.parent.iterdir()] == ["backup.jsonl"]
    left = target.read_text()
    if left != "the export of yesterday":  # it was faster than the finger
        with SessionDB(tmp_path / "state.db", read_only=True) as db:
            assert len([json.loads(line) for line in left.splitlines()]) == db.session_count()


@pytest.mark.parametrize(
    ("target", "left"),
    [("-", "The output is incomplete."), ("all.jsonl", "No incomplete file was left behind.")],
)
def test_an_interrupted_export_says_what_is_true(
    full_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    target: str,
    left: str,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(full_home)
    monkeypatch.setattr(ProgressLine, "__call__", interrupt)
    code = main.run(["sessions", "export", target, "--home", str(full_home)])
    assert code == 130
    assert capsys.readouterr().err == f"hermes: Interrupted. {left}\n"
    assert not [each for each in full_home.iterdir() if "jsonl" in each.name]


def test_interrupting_a_prune_loses_nothing(tmp_path: Path) -> None:
    create(tmp_path / "state.db", 250, now=time.time())
    with SessionDB(tmp_path / "state.db", read_only=True) as db:
        sessions, messages = db.session_count(), db.message_count()
    done = _interrupt(tmp_path, "sessions", "prune", "--older-than", "1", "--yes")
    # Interrupted while modules load, Python ends itself by the signal, which shells call 130 too.
    assert "Traceback" not in done.stderr and done.returncode in (0, 130, -signal.SIGINT)
    while hermes(tmp_path, "sessions", "trash", "--json").json()["batches"]:
        assert hermes(tmp_path, "sessions", "restore", "--last").code == 0
    with SessionDB(tmp_path / "state.db", read_only=True) as db:
        assert (db.session_count(), db.message_count()) == (sessions, messages)


def test_ten_thousand_sessions_are_listed_like_ten(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db, db._db.write() as tx:
        for number in range(10_000):
            tx.run(
                "INSERT INTO sessions(id, source, started_at, ended_at, title) "
                "VALUES (?, 'cli', ?, ?, ?)",
                (f"s{number:04}", float(number), float(number), f"title {number}"),
            )
    listed = hermes(tmp_path, "sessions", "list", "--limit", "3").out.splitlines()
    assert [line.split()[-1] for line in listed[2:]] == ["s9999", "s9998", "s9997"]
    everything = hermes(tmp_path, "sessions", "list", "--limit", "0", "--json").json()
    assert len(everything["sessions"]) == 10_000
