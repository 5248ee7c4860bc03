"""Uses every part once, in this process: all verbs, the browser, the chat and the gateway.

For tests of what must hold wherever people use the program, such as the mode of every file.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store.gateway import MessageSource, SessionRouter
from hermes_store.store import Store
from hermes_tui.cli import main as command
from hermes_tui.cli.verb_table import VERBS
from hermes_tui.crash_log import write_crash_log
from hermes_tui.demo.model_server import DemoServer
from tests.tui.running import NOW, Typed, drive, make_app, press, settle
from tests.tui.talking import chat_app, say, settings

SESSION = "20260101_120000_aaaaaaaa"
OTHER = "20260102_120000_bbbbbbbb"
DAY = 86_400.0


def verbs(word: str, folder: Path) -> list[list[str]]:
    """Return a command line or more for each verb; `folder` is for files that people name."""
    backup = str(folder / "backup.jsonl")
    return [
        ["list"],
        ["search", word],
        ["search", f'"{word}'],
        ["recall", word],
        ["show", SESSION],
        ["tree", SESSION],
        ["rename", SESSION, word, "again"],
        ["tag", SESSION, word],
        ["untag", SESSION, word],
        ["pin", SESSION],
        ["unpin", SESSION],
        ["archive", SESSION],
        ["archive", "--older-than", "1", "--dry-run"],
        ["pinned"],
        ["repair", "--check-only"],
        ["auto-prune"],
        ["unarchive", SESSION],
        ["export", backup],
        ["export", str(folder / "page.html"), "--redact"],
        ["export", str(folder / "talk.md"), "--session-id", SESSION],
        ["export", "-"],
        ["delete", SESSION, "--yes"],
        ["trash"],
        ["restore", "--last"],
        ["delete", SESSION, "--yes"],
        ["import", backup],
        ["prune", "--older-than", "1", "--yes", "--include-open"],
        ["trash", "empty", "--yes"],
        ["import", backup],
        ["stats"],
        ["insights"],
        ["optimize"],
        ["doctor"],
        ["doctor", "--repair"],
        ["config", "show"],
        ["completions", "bash"],
        ["push", "--to", str(folder / word)],
        ["pull", "--from", str(folder / word), "--all"],
        ["postgres", "index"],
        # Mistakes
        ["show", word],
        ["rename", SESSION, word * 50],
        ["import", str(folder / "page.html")],
        ["search", f"source:{word}"],
    ]


def begin(home: Path, word: str, server: DemoServer) -> Path:
    """Write settings and two sessions in which everything says the word; return the database."""
    home.mkdir(mode=0o700, exist_ok=True)
    text = f"model:\n  default: demo\n  base_url: {server.base_url}\n  retries: 0\n"
    (home / "config.yaml").write_text(text, encoding="utf-8")
    path = home / "state.db"
    with Store(path) as store:
        for number, session_id in enumerate((SESSION, OTHER)):
            store.sessions.start(session_id, "cli", started_at=NOW - 9 * DAY)
            calls = [{"id": "1", "function": {"name": "run", "arguments": f'{{"a": "{word}"}}'}}]
            for message in (
                {"role": "user", "content": f"{word} {number}"},
                {"role": "assistant", "content": word, "reasoning": word, "tool_calls": calls},
                {"role": "tool", "content": word, "tool_call_id": "1", "tool_name": "run"},
            ):
                store.messages.append(session_id, message, NOW - 9 * DAY)
            store.sessions.rename(session_id, f"{word} {number}")
        store.saved_searches.save(word, word)
    return path


def use_verbs(word: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every verb, and the chat with a question as its argument."""
    lines = verbs(word, folder)
    assert {line[0] for line in lines} >= {*VERBS} - {"browse"}
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for line in lines:
        assert code(["sessions", *line]) in (0, 1, 2), line
    assert code(["chat", "--builtin", "-q", word]) == 0
    assert code(["chat", "--demo", "-q", word]) == 0
    code(["-r", OTHER, "--print"])


def code(line: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        return command.run(line)
    except SystemExit as left:  # from argparse
        return int(left.code or 0)


def use_screens(path: Path, word: str, server: DemoServer | None) -> None:
    """Search, rename, tag and delete in the browser, then talk and give commands."""

    async def browse(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed(word), "down", "enter")
        await settle(pilot)

    async def talk(pilot: Pilot[Any]) -> None:
        for text in (
            f"{word} please",
            f"what did we say about {word} earlier?",
            f"/title {word} more",
            "/retry",
            "/undo",
            f"/branch {word}",
            "/compress",
            f"/resume {word} nowhere",
            f"/export {path.parent / 'talk.md'}",
            "/new",
            f"{word} again",
        ):
            await say(pilot, text)

    drive(make_app(path), browse)
    drive(chat_app(path, server, OTHER, config=settings(server)), talk)


def use_gateway(path: Path, word: str) -> None:
    """Receive, save, reset and title conversations of a bot."""

    def fail(*_: object) -> None:
        raise RuntimeError(word)

    with Store(path) as store:
        now = NOW
        router = SessionRouter(store, clock=lambda: now, on_before_reset=fail)
        source = MessageSource(platform="telegram", chat_id="1", user_id=word, user_name=word)
        for days in range(3):
            now = NOW + 3 * DAY * days
            routed = router.incoming(source, word)
            router.save(routed, "user", word)
            router.incoming(source, f"/title {word} {days}")
    folder = path.parent / "sessions"
    (folder / "sessions.json").write_text(f'{{"{word}', encoding="utf-8")
    with Store(path) as store:
        SessionRouter(store, clock=lambda: now).incoming(source, word)


def crash(home: Path, word: str) -> None:
    """Write a crash log."""
    try:
        raise ValueError(word)
    except ValueError as error:
        assert write_crash_log(error, home) is not None
