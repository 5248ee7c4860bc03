"""Every field with good values and bad ones, alone, negated and inside of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import Status
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.search import Request, SearchResult, Severity
from hermes_store.search import field_conditions, query_language
from hermes_store.sessions import in_use, messages
from hermes_store.sessions.in_use import IN_USE_SECONDS
from tests.support import LONG_AGO, Work, add, add_chain, is_table_scan

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
    "role:system": set(),
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
    "is:live": set(),
    "is:ended": ALL,
    "is:root": {"cli", "chat", "job"},
    "is:branch": {"branch"},
    "is:agent": {"agent"},
    "is:compressed": {"job"},
    "is:archived": set(),
    "is:pinned": set(),
    "tag:work": set(),
    "model:nothing": set(),
    "source:slack": set(),
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
    "after:soon", "before:7x", "on:2026-13-01", "has:wings", "is:fine", "role:nobody",
    "after:99999y", 'on:"  "', 'tag:""', 'source:""', "has:co", "after:2026-0",
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


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("has:wings", field_conditions.HAS),
        ("is:fine", field_conditions.IS),
        ("role:nobody", field_conditions.ROLES),
        ("sort:best", query_language.SORTS),
    ],
)
def test_what_a_field_takes_is_listed(filled: SessionDB, text: str, known: tuple[str, ...]) -> None:
    (problem,) = ask(filled, text).diagnostics
    assert ", ".join(known) in problem.message
    assert problem.severity is Severity.PROBLEM


# -- values that nothing has -------------------------------------------------------------------


def said_of(db: SessionDB, text: str, **more: Any) -> list[str]:
    result = db.store.search.run(Request(text, limit=100, relax=False, now=NOW, **more))
    return [each.message for each in result.diagnostics]


UNKNOWN = {
    "source:nowhere": "No conversation came from 'nowhere'. Known sources: cli, cron, telegram.",
    "source:slack": "No conversation came from 'slack'. Known sources: cli, cron, telegram.",
    "model:foo": "No conversation used a model 'foo'. "
    "Known models: anthropic/claude-opus-4, openai/gpt_5.",
    "tag:none": "No conversation has a tag yet.",
    "is:pinned": "No conversation is pinned.",
    "is:archived": "No conversation is archived.",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_value_that_nothing_has_finds_nothing_and_names_the_known_ones(
    filled: SessionDB, text: str
) -> None:
    for query in (text, f"hello {text}"):
        result = ask(filled, query)
        assert result.hits == ()
        (remark,) = result.diagnostics
        assert (remark.message, remark.severity) == (UNKNOWN[text], Severity.NOTE)
        assert query[remark.span.start : remark.span.end] == text
    every = {hit.message_id for hit in ask(filled, "hello").hits}
    assert {hit.message_id for hit in ask(filled, f"hello -{text}").hits} == every


def test_known_tags_are_named_the_most_frequent_first(db: SessionDB) -> None:
    for name in "abc":
        add(db, name, "hello")
        db.store.marks.tag(name, "work")
    db.store.marks.tag("a", "home")
    assert said_of(db, "hello tag:nope") == [
        "No conversation has the tag 'nope'. Known tags: work, home."
    ]
    assert sessions_of(db, "hello tag:nope") == set()
    assert (sessions_of(db, "hello tag:home"), said_of(db, "hello tag:home")) == ({"a"}, [])


def test_only_a_few_known_values_are_named(db: SessionDB) -> None:
    for number in range(12):
        add(db, f"s{number}", "hello", source=f"source{number:02}")
    (remark,) = said_of(db, "hello source:nope")
    assert remark.endswith("source06, source07, ….")
    assert "source08" not in remark


def test_recent_tools_are_named(filled: SessionDB) -> None:
    (remark,) = said_of(filled, "hello tool:hammer")
    assert remark == ("No recent message used a tool 'hammer'. Recent tools: terminal, web_search.")
    for known in ("tool:terminal", "tool:web", "tool:Web_Search"):
        assert said_of(filled, known) == []


def test_a_role_of_another_program_is_known_once_a_message_has_it(db: SessionDB) -> None:
    add(db, "a", "hello")
    assert sessions_of(db, "hello role:Moderator") == {"a"}
    with db._db.write() as tx:
        say(tx, "a", role="Moderator", content="hello, keep calm")
    assert [hit.role for hit in ask(db, "hello role:moderator").hits] == ["Moderator"]
    (problem,) = said_of(db, "role:nobody")
    assert problem == "role: takes user, assistant, tool, system, moderator, not 'nobody'."


# -- while typing ------------------------------------------------------------------------------

ON_THE_WAY = (
    "source:", "-source:", "NOT source:", "OR is:", "AND has:", "source: ", "tag:", 'tag:"',
    'tag:""', '-tag:"', "after:", "sort:", "is:l", "is:pin", "has:co", "-has:co", "role:us",
    "role:hum", "role:A", "sort:rel", "sort:n", "tag:wo", "tag:#WO", 'tag:"wo', "source:slac",
    "source:iMess", "after:2", "after:202", "after:2026-", "after:2026-1", "after:2026-01-",
    "after:2026-01-3", "before:yester", "on:mon", "on:2026-01-31T1", "after:30mi",
)  # fmt: skip


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    with SessionDB(tmp_path_factory.mktemp("typing") / "state.db") as db:
        add(db, "a", "hello docker", source="telegram")
        add(db, "b", "docker again")
        db.store.marks.tag("a", "work")
        yield db


@pytest.mark.parametrize("text", ON_THE_WAY)
def test_a_value_on_the_way_is_ignored_without_a_word(tagged: SessionDB, text: str) -> None:
    request = Request(f"docker {text}", typing=True, relax=False, now=NOW)
    result = tagged.store.search.run(request)
    assert {hit.session_id for hit in result.hits} == {"a", "b"}
    assert result.diagnostics == ()


@pytest.mark.parametrize(
    "text", ["is:lx", "has:w", "role:x", "sort:b", "after:x", "after:2026-13", "after:2026-13-",
             "on:2026-02-31", "after:2026-02-31T", "is:li more", 'role:"us"'],
)  # fmt: skip
def test_what_can_become_nothing_is_said_while_typing(tagged: SessionDB, text: str) -> None:
    request = Request(f"docker {text}", typing=True, relax=False, now=NOW)
    severities = [each.severity for each in tagged.store.search.run(request).diagnostics]
    assert severities == [Severity.PROBLEM]


def test_a_finished_value_counts_while_typing(tagged: SessionDB) -> None:
    for text in ("docker tag:work", "docker source:tele", "docker source:tel", "docker id:a"):
        request = Request(text, typing=True, relax=False, now=NOW)
        result = tagged.store.search.run(request)
        assert [hit.session_id for hit in result.hits] == ["a"], text
        assert result.diagnostics == ()
    unknown = tagged.store.search.run(Request("docker tag:wox", typing=True, now=NOW))
    assert unknown.hits == ()
    assert [each.message for each in unknown.diagnostics] == [
        "No conversation has the tag 'wox'. Known tags: work."
    ]


@pytest.mark.parametrize(
    "typed", ["term", "Terminal", "sched", "scheduled", '"Scheduled job"', "cr"]
)
def test_sources_are_found_by_what_they_are_called_on_screen(db: SessionDB, typed: str) -> None:
    for name, source in (("talk", "cli"), ("job", "cron"), ("phone", "telegram")):
        add(db, name, "docker", source=source)
    wanted = "talk" if typed.lower().startswith("term") else "job"
    for typing in (True, False):
        request = Request(f"docker source:{typed}", typing=typing, relax=False)
        result = db.store.search.run(request)
        assert [hit.session_id for hit in result.hits] == [wanted] and not result.diagnostics


@pytest.mark.parametrize("typed", ["work", "#work", "WORK", "#Work"])
def test_a_word_that_is_only_a_tag_leads_to_it(tagged: SessionDB, typed: str) -> None:
    for relax in (True, False):
        result = tagged.store.search.run(Request(typed, relax=relax, now=NOW))
        assert [each.message for each in result.diagnostics] == [
            "tag:work shows the conversations with this tag."
        ]
    assert tagged.store.search.run(Request("tag:work", now=NOW)).hits
    assert not tagged.store.search.run(Request("docker", now=NOW)).diagnostics


# -- live --------------------------------------------------------------------------------------


def test_live_means_what_the_list_shows(db: SessionDB) -> None:
    now = LONG_AGO + 10_000
    add(db, "talking", "hello", at=now - 60)
    add(db, "silent", "hello", at=now - IN_USE_SECONDS - 60)
    add(db, "over", "hello", at=now - 60, ended=now - 30)
    add_chain(db, ("first", "second"), at=now - 160, live=True)
    add_chain(db, ("old", "new"), at=now - 200)
    add(db, "sent", "said by an agent", parent="silent", edge=Edge.AGENT, at=now - 20)
    with db._db.write() as tx:
        tx.run("UPDATE messages SET timestamp = 0 WHERE session_id = 'second'")
        tx.run("UPDATE messages SET timestamp = ? WHERE session_id = 'first'", (now - 5,))

    def found(text: str) -> set[str]:
        request = Request(text, limit=100, relax=False, now=now)
        return {hit.session_id for hit in db.store.search.run(request).hits}

    assert found("is:live") == {"talking", "first", "second", "sent"}
    assert found("is:ended") == {"silent", "over", "old", "new"}
    assert found("said is:live") == {"first", "second", "sent"}
    for text in ("-is:live", "NOT is:live", "nothing OR is:ended"):
        assert found(text) == found("is:ended")
    rows = db.store.lists.rows(["talking", "silent", "over", "first", "old", "sent"], now=now)
    live = {row.id for row in rows if row.status is Status.LIVE}
    assert live == {"talking", "first", "sent"}


@pytest.mark.sqlite("counts the work of SQLite")
def test_being_live_is_looked_up_and_not_computed_for_every_session(db: SessionDB) -> None:
    for number in range(50):
        add(db, f"s{number}", "hello", at=LONG_AGO + number)
    with db._db.read() as tx:
        in_use.live_sessions(tx, NOW)
    work = Work(db, lambda store: _live(store))
    assert not [line for plan in work.plans() for line in plan if is_table_scan(line)]
    assert work.steps < 200


def _live(db: SessionDB) -> tuple[str, ...]:
    with db._db.read() as tx:
        return in_use.live_sessions(tx, NOW)


# -- all of them -------------------------------------------------------------------------------


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
