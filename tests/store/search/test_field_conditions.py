"""Every field with good values and bad ones, alone, negated and inside of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.search import Request, SearchResult, Severity
from hermes_store.search import field_conditions, query_language
from hermes_store.sessions import messages
from tests.support import LONG_AGO, add

NOW = LONG_AGO + 1_000_000
ALL = {"cli", "chat", "job", "branch", "agent"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    with SessionDB(tmp_path_factory.mktemp("fields") / "state.db") as db:
        fill(db)
        yield db


def fill(db: SessionDB) -> None:
    """Write five sessions that differ in whatever a field can ask for; all say hello."""
    add(db, "cli", "hello from the shell", title="Auth 100% done", ended=LONG_AGO + 50)
    add(db, "chat", "hello ```code``` https://x.org", source="telegram", at=LONG_AGO + 100)
    add(db, "job", "hello from the clock", source="cron", at=LONG_AGO + 200)
    add(db, "branch", "hello again", parent="chat", edge=Edge.BRANCH, at=LONG_AGO + 300)
    add(db, "agent", "hello agent", parent="chat", edge=Edge.AGENT, at=LONG_AGO + 400)
    calls = [{"id": "1", "function": {"name": "terminal", "arguments": "{}"}}]
    image = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "x"}}]
    with db._db.write() as tx:
        say(tx, "cli", role="assistant", content="hello", tool_calls=calls)
        say(tx, "cli", role="tool", content="hello out", tool_name="web_search")
        say(tx, "chat", role="user", content=image)
        say(tx, "job", role="assistant", content="hello", reasoning="because")
        tx.run("UPDATE sessions SET model = 'anthropic/claude-opus-4' WHERE id = 'cli'")
        tx.run("UPDATE sessions SET model = 'openai/gpt_5' WHERE id = 'chat'")
        tx.run("UPDATE sessions SET end_reason = 'compression', ended_at = 1 WHERE id = 'job'")


def say(tx: Any, session_id: str, **message: Any) -> None:
    messages.append(tx, session_id, message, LONG_AGO + 60)


def ask(db: SessionDB, text: str) -> SearchResult:
    return db.store.search.run(Request(text, limit=100, relax=False, now=NOW))


def sessions_of(db: SessionDB, text: str) -> set[str]:
    return {hit.session_id for hit in ask(db, text).hits}


GOOD = {
    "source:telegram": {"chat"},
    "source:TELEGRAM": {"chat"},
    "source:tele": {"chat"},
    "source:nowhere": set(),
    "model:opus": {"cli"},
    "model:GPT_5": {"chat"},
    "model:gptx5": set(),
    "role:tool": {"cli"},
    "role:me -source:cli": {"chat", "job"},
    "role:ai": {"cli", "job"},
    "role:nobody": set(),
    "tool:terminal": {"cli"},
    "tool:web_search": {"cli"},
    "tool:webxsearch": set(),
    "title:auth": {"cli"},
    'title:"100% d"': {"cli"},
    "title:100_": set(),
    "id:cl": {"cli"},
    "id:CL": set(),
    "id:%": set(),
    "has:tools": {"cli"},
    "has:title": {"cli"},
    "has:code": {"chat"},
    "has:url": {"chat"},
    "has:image": {"chat"},
    "has:reasoning": {"job"},
    "is:live": {"chat", "branch", "agent"},
    "is:ended": {"cli", "job"},
    "is:root": {"cli", "chat", "job"},
    "is:branch": {"branch"},
    "is:agent": {"agent"},
    "is:compressed": {"job"},
    "is:archived": set(),
    "is:pinned": set(),
    "before:2010": set(),
    "after:2010": ALL,
}


@pytest.mark.parametrize("text", GOOD)
def test_a_field_finds(filled: SessionDB, text: str) -> None:
    assert sessions_of(filled, text) == sessions_of(filled, f"hello {text}") == GOOD[text]


@pytest.mark.parametrize("text", [text for text in GOOD if " " not in text])
def test_a_negated_field_finds_all_the_rest(filled: SessionDB, text: str) -> None:
    every = {hit.message_id for hit in ask(filled, "hello").hits}
    those = {hit.message_id for hit in ask(filled, f"hello {text}").hits}
    for negated in (f"-{text}", f"NOT {text}"):
        rest = {hit.message_id for hit in ask(filled, f"hello {negated}").hits}
        assert rest == every - those


@pytest.mark.parametrize("text", [text for text in GOOD if " " not in text])
def test_a_field_means_the_same_inside_of_a_group(filled: SessionDB, text: str) -> None:
    those = {hit.message_id for hit in ask(filled, f"hello {text}").hits}
    grouped = ask(filled, f"hello (absent OR {text})").hits
    assert {hit.message_id for hit in grouped} == those
    either = ask(filled, f"(again OR {text})").hits
    again = {hit.message_id for hit in ask(filled, "again").hits}
    assert {hit.message_id for hit in either} == those | again


BAD = (
    "after:soon", "before:7x", "on:2026-13-01", "has:wings", "is:fine", "tag:work",
    "after:99999y", 'on:"  "',
)  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_bad_value_is_left_out_and_said(filled: SessionDB, text: str) -> None:
    every = {hit.message_id for hit in ask(filled, "hello").hits}
    for query in (f"hello {text}", f"hello -{text}", f"hello OR {text}", f"hello (x OR -{text})"):
        result = ask(filled, query)
        (problem,) = [d for d in result.diagnostics if d.severity is Severity.PROBLEM]
        assert text in query[problem.span.start : problem.span.end]
        if "x OR" not in query:
            assert {hit.message_id for hit in result.hits} == every


def test_a_bad_field_among_alternatives_does_not_let_everything_in(filled: SessionDB) -> None:
    assert sessions_of(filled, "again OR after:soon") == {"branch"}
    assert sessions_of(filled, "hello (again OR -is:fine)") == {"branch"}


@pytest.mark.parametrize("text", ["has:wings", "is:fine"])
def test_what_a_field_knows_is_listed(filled: SessionDB, text: str) -> None:
    (problem,) = ask(filled, text).diagnostics
    known = field_conditions.HAS if text.startswith("has") else field_conditions.IS
    assert all(name in problem.message for name in known)


@pytest.mark.parametrize("name", [name for name in query_language.FIELDS if name != "sort"])
@pytest.mark.parametrize("value", ["%", "_", "\\", "'", "\0x", "\ud800", "x" * 3_000, "-1", "中"])
def test_no_value_fails(filled: SessionDB, name: str, value: str) -> None:
    assert not ask(filled, f"{name}:{value}").partial
    assert not ask(filled, f"hello OR {name}:{value}").partial


def test_fields_and_words_narrow_each_other_down(filled: SessionDB) -> None:
    assert sessions_of(filled, "shell source:cli is:ended") == {"cli"}
    assert sessions_of(filled, "shell source:telegram") == set()
    assert sessions_of(filled, "(shell source:cli) OR (clock source:cron)") == {"cli", "job"}
    assert sessions_of(filled, "(shell source:cron) OR (clock source:cli)") == set()
