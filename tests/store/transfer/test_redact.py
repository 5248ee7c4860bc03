"""Redaction: what is secret goes, everything else stays, and doing it twice changes nothing."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.sample_sessions import fill
from hermes_store import SessionDB
from hermes_store.transfer.personal_data import MASK
from hermes_store.transfer.redact import redact_row, redact_text, redact_value
from tests.support import LONG_AGO, add

# In pieces, so that no scanner takes this file for a leak.
HEX = "8082c55f0e1d2c3b4a59" + "68778695a4b3c2d1e0ff"
SK = "sk-" + "proj-abcdefghijklmnop1234567890"
GHP = "ghp" + "_abcdefghijABCDEFGHIJ0123456789abcd"
XOX = "xox" + "b-123456789012-abcdefABCDEF"
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GOOGLE = "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
BEGIN, END = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
BODY = "\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\nq83vEjRWeJC7yuHKpQ1i\n"

SECRETS = {
    f"export OPENAI_API_KEY={SK}": "export OPENAI_API_KEY=sk-p[redacted]",
    f"use {SK}, please": "use sk-p[redacted], please",
    f"push with {GHP}.": "push with ghp_[redacted].",
    f"({XOX})": "(xoxb[redacted])",
    f"id {AWS} here": "id AKIA[redacted] here",
    f"?key={GOOGLE}&x=1": "?key=AIza[redacted]&x=1",
    f"cookie {JWT}; path=/": "cookie eyJh[redacted]; path=/",
    "Authorization: Bearer abcdefghijkl1234567890": "Authorization: Bearer abcd[redacted]",
    f"a{BEGIN}{BODY}{END}b": f"a{BEGIN}\nMII[redacted]{END}b",
    f"{BEGIN}{BODY}and so on.": f"{BEGIN}\nMII[redacted]\nand so on.",
    "password=hunter2 next": "password=[redacted] next",
    "DB_PASSWORD=p@ssw0rd!longer": "DB_PASSWORD=p@ss[redacted]",
    '{"password": "correct horse battery"}': '{"password": "corr[redacted]"}',
    '\\"api_key\\": \\"abcdef123456\\"': '\\"api_key\\": \\"abcd[redacted]\\"',
    f"token: {HEX}": "token: 8082[redacted]",
    "password: hunter2": "password: [redacted]",
    "clientSecret = 'abcd1234efgh5678'": "clientSecret = 'abcd[redacted]'",
    "x.com/?a=1&access_token=abcd1234efgh&z=2": "x.com/?a=1&access_token=abcd[redacted]&z=2",
    "postgres://user:s3cret@host/db": "postgres://user:[redacted]@host/db",
    "https://bot:averylongpassword@host": "https://bot:aver[redacted]@host",
    "curl --token abc123def456 x": "curl --token abc1[redacted] x",
}

INNOCENT = (
    "20260101_120000_abcdef12",
    "call_9f3a61c2d4e5f60718293a4b",
    "2026-01-01T12:00:00+00:00",
    f"commit {HEX}",
    "/home/me/.ssh/id_rsa and ~/projects/token/secret.key",
    "C:\\Users\\me\\passwords.txt",
    "https://example.com:8080/a@b?c=d",
    "max_tokens: 4096, input_tokens=1234567890",
    "Password: required",
    "password = getpass()",
    "connect(password=password, token=get_token())",
    "const token = process.env.TOKEN",
    "secret: $SECRET_NAME, password: ${DB_PASSWORD}",
    "the token 'identifier' was unexpected; token: 'identifier'",
    "sk-learn-pipeline-with-a-long-name and task-1234567890abcdefghij",
    "Basic understanding is required; the bearer of good news",
    "A secret: nobody knows. The key: practice.",
    '{"type": "string", "token": "string", "password": null}',
    "passwordless login, tokenizer: bpe, keyboard=qwerty",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI",
)


@pytest.mark.parametrize(("text", "masked"), SECRETS.items())
def test_secrets_are_masked(text: str, masked: str) -> None:
    assert redact_text(text) == masked


@pytest.mark.parametrize("text", INNOCENT)
def test_everything_else_stays(text: str) -> None:
    assert redact_text(text) == text


_PIECES = st.one_of(
    st.sampled_from([*SECRETS, *SECRETS.values(), *INNOCENT]),
    st.sampled_from(["password", "token", "=", ": ", '"', "\\", "'", "://", "@", MASK, BEGIN, END]),
    st.sampled_from([SK, GHP, AWS, JWT, HEX, "--api-key ", "bearer ", "\n", " ", "sk-", "eyJ"]),
    st.text(max_size=6),
)


@settings(deadline=None, max_examples=500)
@given(st.lists(_PIECES, max_size=8).map("".join))
def test_twice_is_once(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(INNOCENT) | st.text("aeiou \n.,-_/0123456789"), max_size=8))
def test_text_without_secrets_is_unchanged(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    assert redact_text(text) == text


@settings(deadline=None, max_examples=200)
@given(st.text(), st.sampled_from([SK, GHP, XOX, AWS, JWT]), st.text())
def test_a_known_key_goes_wherever_it_stands(before: str, secret: str, after: str) -> None:
    masked = redact_text(f"{before} {secret} {after}")
    assert secret not in masked
    assert len(masked) < len(before) + len(secret) + len(after) + 2
    assert redact_text(before) in masked


def test_sample_conversations_hold_no_secrets_but_addresses(db: SessionDB) -> None:
    fill(db._db, 100, now=LONG_AGO)
    for fmt in ("jsonl", "markdown", "html"):
        plain, masked = io.StringIO(), io.StringIO()
        db.store.transfer.export(plain, fmt)
        db.store.transfer.export(masked, fmt, redact=True)
        expected = re.sub(r"[\w.]+@[a-z-]+\.example\.com", MASK, plain.getvalue())
        same = expected == masked.getvalue()
        assert same  # a comparison of texts this long takes half a minute


def test_values_are_masked_at_every_depth() -> None:
    value = {
        "api_key": "abcdef1234567890",
        "password": ["hunter2", 5, None],
        "headers": {"Authorization": "Bearer abcdefghijkl1234567890", "X": "y"},
        "text": [f"see {SK}", {GHP: True}],
        "token": "string",
        "tokens": 12,
    }
    assert redact_value(value) == {
        "api_key": "abcd[redacted]",
        "password": ["[redacted]", 5, None],
        "headers": {"Authorization": "Bearer abcd[redacted]", "X": "y"},
        "text": ["see sk-p[redacted]", {"ghp_[redacted]": True}],
        "token": "string",
        "tokens": 12,
    }
    deep: Any = SK
    for _ in range(5_000):
        deep = [deep]
    assert SK not in str(redact_value(deep))


def test_ids_are_never_touched() -> None:
    row = {"id": SK, "session_id": SK, "parent_session_id": SK, "tool_call_id": SK, "content": SK}
    masked = redact_row(row)
    assert masked.pop("content") == "sk-p[redacted]"
    assert set(masked.values()) == {SK}


@pytest.mark.parametrize("fmt", ["jsonl", "markdown", "html"])
def test_an_export_shows_no_secret_anywhere(db: SessionDB, fmt: str) -> None:
    add(db, "a", f"my key is {SK}", [{"type": "text", "text": SK}], title=f"about {GHP}")
    call = {"function": {"name": "terminal", "arguments": json.dumps({"command": f"echo {AWS}"})}}
    db.append_message("a", "assistant", SK, reasoning=JWT, tool_calls=[call])
    db.append_message("a", "tool", '{"password": "hunter2hunter2"}', tool_name="terminal")
    db.update_system_prompt("a", f"You have {XOX}.")
    sink = io.StringIO()
    db.store.transfer.export(sink, fmt, redact=True)
    for secret in (SK, GHP, AWS, JWT, XOX, "hunter2hunter2"):
        assert secret not in sink.getvalue()
    assert MASK in sink.getvalue()
    if fmt == "jsonl":
        assert json.loads(sink.getvalue())["messages"][0]["content"] == "my key is sk-p[redacted]"
