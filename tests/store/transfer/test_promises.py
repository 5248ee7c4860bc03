"""What the dialog, the command and the docs promise of a redacted export, taken one by one."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from hermes_store.store import Store
from hermes_tui.cli import export as command
from hermes_tui.dialogs.export import REDACT
from tests.support import LONG_AGO, raw

# Put together here, so that no scanner takes this file for a leak.
PROMISED = {
    "keys": "AKIA" + "IOSFODNN7EXAMPLE",
    "tokens": "ghp" + "_abcdefghijABCDEFGHIJ0123456789abcd",
    "passwords": "correct-horse-9",
    "email addresses": "jane.doe@mail.example.com",
}
TEXT = "the key {keys}, the token {tokens}, password={passwords}, mail {email addresses}"
SECRETS = TEXT.format(**PROMISED)
CALLS = [{"id": "c1", "function": {"name": "run", "arguments": json.dumps({"command": SECRETS})}}]

# Every column that holds text of people or programs; the last four only a newer Hermes has.
SESSION = {
    "title": SECRETS,
    "user_id": PROMISED["email addresses"],
    "model": SECRETS,
    "model_config": json.dumps({"api_key": PROMISED["keys"], "note": [SECRETS]}),
    "system_prompt": SECRETS,
    "billing_base_url": f"https://me:{PROMISED['passwords']}@host.example/v1",
    "handoff_error": SECRETS,
    "display_name": SECRETS,
    "session_key": f"agent:main:email:dm:{PROMISED['email addresses']}",
    "origin_json": json.dumps({"user_name": PROMISED["email addresses"], "topic": SECRETS}),
    "cwd": f"/home/{PROMISED['email addresses']}",
}
MESSAGE = {
    "content": SECRETS,
    "tool_calls": json.dumps(CALLS),
    "tool_name": SECRETS,
    "reasoning": SECRETS,
    "reasoning_content": SECRETS,
    "reasoning_details": json.dumps([{"text": SECRETS}]),
    "codex_reasoning_items": json.dumps([{"summary": [{"text": SECRETS}]}]),
    "codex_message_items": json.dumps([{"content": [{"text": SECRETS}]}]),
}
NEWER = ("display_name", "session_key", "origin_json")


@pytest.fixture
def full(path: Path) -> Path:
    """A session in which every field holds one of everything."""
    with Store(path) as store:
        store.sessions.start("s", "cli")
        for role in ("user", "assistant", "tool"):
            store.messages.append("s", {"role": role, "content": "x"}, LONG_AGO)
    with raw(path) as con:
        for name in NEWER:
            con.execute(f"ALTER TABLE sessions ADD COLUMN {name} TEXT")
        for table, row in (("sessions", SESSION), ("messages", MESSAGE)):
            values = ", ".join(f"{name} = ?" for name in row)
            con.execute(f"UPDATE {table} SET {values}", tuple(row.values()))
        parts = "\0json:" + json.dumps([{"type": "text", "text": SECRETS}])
        con.execute("UPDATE messages SET content = ? WHERE role = 'user'", (parts,))
    return path


@pytest.mark.parametrize("promised", PROMISED)
@pytest.mark.parametrize("fmt", ["jsonl", "markdown", "html"])
def test_what_is_promised_is_gone_from_every_field(full: Path, fmt: str, promised: str) -> None:
    with Store(full) as store:
        plain, masked = io.StringIO(), io.StringIO()
        store.transfer.export(plain, fmt)
        store.transfer.export(masked, fmt, redact=True)
    assert PROMISED[promised] in plain.getvalue()
    assert PROMISED[promised] not in masked.getvalue()
    assert "[redacted]" in masked.getvalue()
    if fmt == "jsonl":
        exported = json.loads(masked.getvalue())
        assert {*SESSION} <= {*exported}
        assert {*MESSAGE} <= {*exported["messages"][0]}
        assert json.loads(exported["model_config"])["api_key"] == "AKIA[redacted]"
        assert json.loads(exported["origin_json"])["user_name"] == "[redacted]"


def test_the_dialog_and_the_command_promise_this() -> None:
    parser = argparse.ArgumentParser(prog="hermes sessions export")
    command.describe(parser)
    text = " ".join(parser.format_help().split())
    assert "mask keys, tokens, passwords and email addresses" in text
    assert REDACT == "Redact keys, passwords, emails"
