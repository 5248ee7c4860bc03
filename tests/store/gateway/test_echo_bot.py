"""The example bot, run as anybody would run it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from hermes_store import SessionDB
from tests.cli.command import environment, hermes
from tests.store.processes import PATIENCE, ROOT


def echo(home: Path, *lines: str, options: tuple[str, ...] = ()) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "echo_bot.py"), *options],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(home),
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def session_of(line: str) -> str:
    found = re.match(r"\[(\w+)\] ", line)
    assert found, line
    return found[1]


def test_the_bot_remembers_across_runs(tmp_path: Path) -> None:
    first = echo(tmp_path, "/title my talk", "hello", "你好")
    assert first[0] == "The conversation will be called 'my talk' as soon as it starts."
    assert first[1].endswith("You said: hello")
    (again,) = echo(tmp_path, "are you there?")
    assert session_of(again) == session_of(first[1]) == session_of(first[2])
    with SessionDB(tmp_path / "state.db") as db:
        said = db.store.messages.of(session_of(again))
        assert [each.role for each in said] == ["user", "assistant"] * 3
        assert db.store.sessions.get(session_of(again)).title == "my talk"
    lines = (tmp_path / "sessions" / f"{session_of(again)}.jsonl").read_text().splitlines()
    assert len(lines) == 7
    listed = hermes(tmp_path, "sessions", "list", "--source", "telegram")
    assert "my talk" in listed.out
    assert hermes(tmp_path, "sessions", "doctor").code == 0


def test_where_a_message_comes_from_decides(tmp_path: Path) -> None:
    where = {"platform": "discord", "chat_type": "group", "chat_id": "7"}
    lines = [json.dumps(where | {"user_id": user, "text": "hi"}) for user in ("a", "b", "a")]
    found = [session_of(line) for line in echo(tmp_path, *lines, "{not json", "plain")]
    assert found[0] == found[2] != found[1]
    assert found[3] == found[4] not in found[:3]
    options = ("--platform", "discord", "--type", "group", "--chat", "7", "--user", "b")
    assert session_of(echo(tmp_path, "hi", options=options)[0]) == found[1]


def test_wrong_settings_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("gateway:\n  session_reset: {at_hour: 24}\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "echo_bot.py")],
        input="",
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert "line 2: gateway.session_reset.at_hour must be at most 23, not 24." in done.stderr
