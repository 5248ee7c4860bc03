"""Remembering: the right conversations, the right stretch of each, and summaries that may fail."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.browse import transcript
from hermes_store.errors import InvalidInput, SummaryError
from hermes_store.records.recall import Recalled
from hermes_store.records.relation_to_parent import Edge
from hermes_store.search.recall import excerpt
from hermes_store.search.recall.question import understood
from hermes_store.search.snippets import Highlighter, wanted_texts
from hermes_store.sessions import messages, session_rows
from tests.sqlite_parts import connection
from tests.store import newer
from tests.support import LONG_AGO, Work, add, add_chain

NOW = LONG_AGO + 1_000_000


def _ask(db: SessionDB, question: str, **more: Any) -> Recalled:
    return db.store.recall.about(question, now=NOW, **more)


def _ids(found: Recalled) -> list[str]:
    return [session.root_id for session in found.sessions]


def _say(db: SessionDB, session_id: str, *said: dict[str, Any], at: float = LONG_AGO) -> None:
    with db._db.write() as tx:
        session_rows.create(tx, session_id, "cli", started_at=at)
        for place, message in enumerate(said, 1):
            messages.append(tx, session_id, message, at + place)


# -- questions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide about the docker deploy?",
        "What did I tell you about Docker deploys?",
        "do you remember the deployment with docker",
        "docker deploy",
        "doker deploy",
        "how's the docker deploy going, and who decided on kubernetes?",
    ],
)
def test_a_question_finds_what_was_said(db: SessionDB, question: str) -> None:
    add(db, "talk", "Hello there", "We agreed: the docker deploy goes through compose, at night.")
    add(db, "other", "What did you decide to cook?", "Pasta, as we always do.")
    found = _ask(db, question)
    assert _ids(found)[0] == "talk"
    assert "docker deploy goes through compose" in found.sessions[0].window


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what did we decide about the docker deploy?", ["decide", "docker", "deploy"]),
        ("Where's my .env, and the C# code?!", [".env", "C#", "code"]),
        ('"exit code" of the build', ["exit code", "build"]),
        ("the who", ["the", "who"]),
        ("我们之前对docker部署做了什么决定？", ["docker", "部署", "决定"]),
        ("nginx OR caddy", ["nginx", "caddy"]),
    ],
)
def test_small_words_carry_no_question(question: str, words: list[str]) -> None:
    assert [text.value for text in wanted_texts(understood(question))] == words


def test_a_rare_word_is_the_last_to_go(db: SessionDB) -> None:
    add(db, "rare", "The kubernetes migration is postponed.")
    for number in range(30):
        add(db, f"common{number}", f"Let us decide on lunch {number}.")
    found = _ask(db, "what did we decide on kubernetes?")
    assert _ids(found) == ["rare"]
    assert found.widened and found.relaxations[0].kind == "fewer words"


def test_an_exact_match_is_not_widened(db: SessionDB) -> None:
    add(db, "talk", "The docker deploy works.")
    add(db, "near", "The docker build works.")
    found = _ask(db, "docker deploy")
    assert _ids(found) == ["talk"] and not found.widened


def test_a_question_in_chinese(db: SessionDB) -> None:
    add(db, "talk", "关于部署,最后的决定是每天晚上用docker。")
    add(db, "other", "今天天气很好")
    assert _ids(_ask(db, "我们之前对docker部署做了什么决定？")) == ["talk"]


def test_nothing_may_be_found(db: SessionDB) -> None:
    add(db, "talk", "hello")
    assert _ask(db, "xyzzy").sessions == ()


@pytest.mark.parametrize("question", ["", "   "])
def test_nothing_asked_is_refused(db: SessionDB, question: str) -> None:
    with pytest.raises(InvalidInput, match="nothing to search for"):
        _ask(db, question)
    with pytest.raises(InvalidInput):
        _ask(db, "x", limit=0)


# -- conversations -----------------------------------------------------------------------------


def test_a_chain_is_one_conversation(db: SessionDB) -> None:
    add_chain(db, ["one", "two", "three"])
    add(db, "alone", "said in passing")
    found = _ask(db, "said")
    assert sorted(_ids(found)) == ["alone", "one"]
    chain = next(each for each in found.sessions if each.root_id == "one")
    assert (chain.messages, chain.matches) == (3, 3)
    assert chain.window.splitlines() == [f"[user] said in {n}" for n in ("one", "two", "three")]
    assert (chain.started_at, chain.last_active) == (LONG_AGO, LONG_AGO + 201)


@pytest.mark.parametrize("current", ["root", "tip", "agent", "branch", "deep"])
def test_the_lineage_that_asks_is_skipped(db: SessionDB, current: str) -> None:
    add(db, "root", "docker", ended=LONG_AGO + 50, reason="compression")
    add(db, "tip", "docker", at=LONG_AGO + 60, parent="root")
    add(db, "agent", "docker", at=LONG_AGO + 70, parent="tip", edge=Edge.AGENT)
    add(db, "deep", "docker", at=LONG_AGO + 75, parent="agent", edge=Edge.AGENT)
    add(db, "branch", "docker", at=LONG_AGO + 80, parent="tip", edge=Edge.BRANCH)
    add(db, "other", "docker", at=LONG_AGO + 90)
    assert _ids(_ask(db, "docker", limit=9, current_session_id=current)) == ["other"]
    assert len(_ask(db, "docker", limit=9, current_session_id="not stored yet").sessions) == 3


def test_machines_come_last_and_are_not_left_out(db: SessionDB) -> None:
    for source in ("cron", "tool", "subagent"):
        add(db, source, "docker docker docker", source=source, at=LONG_AGO + 50)
    add(db, "person", "a long talk about many things, once about docker " + "and more " * 50)
    found = _ids(_ask(db, "docker", limit=9))
    assert found[0] == "person"
    assert sorted(found[1:]) == ["cron", "subagent", "tool"]
    assert _ids(_ask(db, "docker", limit=1)) == ["person"]
    found = _ids(_ask(db, "docker", limit=9, exclude_sources=["tool", "cron"]))
    assert found == ["person", "subagent"]


def test_what_a_sub_agent_said_counts_for_the_conversation_that_sent_it(db: SessionDB) -> None:
    add(db, "root", "hello", ended=LONG_AGO + 50, reason="compression")
    add(db, "tip", "look into it", at=LONG_AGO + 60, parent="root", title="The research")
    add(db, "agent", "docker", at=LONG_AGO + 70, parent="tip", edge=Edge.AGENT)
    add(db, "deep", "docker, too", at=LONG_AGO + 75, parent="agent", edge=Edge.AGENT)
    add(db, "other", "nothing of interest", at=LONG_AGO + 90)
    (told,) = _ask(db, "docker", limit=9).sessions
    assert (told.root_id, told.session_id, told.title) == ("root", "tip", "The research")
    assert "[user] look into it" in told.window
    assert "[user] docker" in told.window
    assert told.matches >= 1


def test_a_title_of_an_excluded_source_does_not_count(db: SessionDB) -> None:
    add(db, "theirs", "hello", source="tool", title="All about docker")
    assert _ids(_ask(db, "docker")) == ["theirs"]
    assert _ask(db, "docker", exclude_sources=["tool"]).sessions == ()


def test_one_long_conversation_does_not_hide_the_others(db: SessionDB) -> None:
    for name in ("first", "second"):
        add(db, name, f"docker in {name}", at=LONG_AGO)
    add(db, "long", *(["docker once more"] * 1_500), at=LONG_AGO + 100)
    assert sorted(_ids(_ask(db, "docker"))) == ["first", "long", "second"]


def test_a_title_counts(db: SessionDB) -> None:
    add(db, "named", "let us see", "and then", title="Docker deploy")
    add(db, "said", "the docker deploy failed")
    found = _ask(db, "docker deploy")
    assert _ids(found) == ["named", "said"]
    assert found.sessions[0].matches == 0
    assert found.sessions[0].window == "[user] let us see\n[user] and then"


def test_a_branch_that_only_repeats_is_left_out(db: SessionDB) -> None:
    add(db, "talk", "the docker deploy")
    db.store.lineage.branch("talk", new_id="copy", now=LONG_AGO + 100)
    assert _ids(_ask(db, "docker deploy")) == ["talk"]
    db.append_message("copy", "user", "docker deploy, but at night", timestamp=LONG_AGO + 200)
    assert sorted(_ids(_ask(db, "docker night"))) == ["copy"]


def test_roles_can_be_chosen(db: SessionDB) -> None:
    _say(db, "asked", {"role": "user", "content": "docker?"})
    _say(db, "ran", {"role": "tool", "tool_name": "terminal", "content": "docker ps"})
    assert _ids(_ask(db, "docker", role_filter=["user"])) == ["asked"]
    assert _ids(_ask(db, "docker", role_filter="tool, assistant")) == ["ran"]


def test_what_was_compacted_in_place_is_found(path: Path) -> None:
    newer.make(path)
    writer = newer.Newer(path)
    writer.session("talk")
    writer.message("talk", "the docker deploy was settled", active=0, compacted=1)
    writer.message("talk", "the docker deploy taken back", active=0)
    writer.message("talk", "summary of it all")
    writer.close()
    with SessionDB(path) as db:
        (found,) = _ask(db, "docker deploy").sessions
    assert found.window == "[user] the docker deploy was settled\n[user] summary of it all"
    assert (found.messages, found.matches) == (2, 1)


def test_a_store_for_reading_suffices(db: SessionDB, path: Path) -> None:
    add(db, "talk", "the docker deploy")
    with SessionDB(path, read_only=True) as reader:
        assert _ids(_ask(reader, "docker?")) == ["talk"]


# -- windows -----------------------------------------------------------------------------------


def test_a_window_reads_as_a_talk(db: SessionDB) -> None:
    call = {"id": "c", "function": {"name": "terminal", "arguments": '{"command": "docker ps"}'}}
    _say(
        db,
        "talk",
        {"role": "user", "content": "is docker\x1b[2J up?"},
        {"role": "assistant", "content": "<think>hm</think>Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_name": "terminal", "content": "a" * 400 + "b" * 400},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "Yes."},
    )
    lines = _ask(db, "docker").sessions[0].window.splitlines()
    assert lines == [
        "[user] is docker␛[2J up?",
        '[assistant] Let me look. (uses terminal: {"command": "docker ps"})',
        f"[tool terminal] {'a' * 250} … {'b' * 250}",
        "[assistant] Yes.",
    ]


def test_tool_output_is_cut_around_its_match(db: SessionDB) -> None:
    output = "x " * 5_000 + "docker went down" + " y" * 5_000
    _say(db, "talk", {"role": "tool", "tool_name": "log", "content": output})
    shown = _ask(db, "docker down").sessions[0].window
    assert "docker went down" in shown and len(shown) < 600


def test_a_message_longer_than_the_window_is_cut_around_its_match(db: SessionDB) -> None:
    add(db, "talk", "x " * 50_000 + "the docker deploy" + " y" * 50_000)
    found = _ask(db, "docker deploy", characters=1_000).sessions[0]
    assert len(found.window) == 1_000 and found.start_cut and found.end_cut
    assert 400 < found.window.index("docker") < 600
    assert found.window[found.focus :].startswith("docker")
    assert "docker deploy" in found.excerpt(100) and len(found.excerpt(100)) <= 102


def test_a_continuation_does_not_repeat_itself(db: SessionDB) -> None:
    add(db, "talk", "first", "docker one", "docker two")
    db.store.lineage.compress(
        "talk", summary="All about docker.", keep_last=2, new_id="on", now=LONG_AGO + 50
    )
    db.append_message("on", "user", "docker three", timestamp=LONG_AGO + 60)
    (found,) = _ask(db, "docker").sessions
    assert found.window.splitlines() == [
        "[user] first",
        "[user] docker one",
        "[user] docker two",
        "[user] [Summary of the conversation so far]",
        "",
        "All about docker.",
        "[user] docker three",
    ]
    assert (found.messages, found.matches) == (5, 4)


LONG = 20_000


@pytest.fixture(scope="module")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A conversation of 20,000 messages, with a few words in a few places."""
    with SessionDB(tmp_path_factory.mktemp("long") / "state.db", synchronous="NORMAL") as db:
        places = {100: "zebra", 15_000: "zebra", 15_010: "zebra", 15_030: "zebra", 19_999: "zebra"}
        said = [f"message {n} {places.get(n, '')} " + "and so on " * 20 for n in range(LONG)]
        add(db, "long", *said)
        db.store.search.prepare()
        yield db


def test_a_long_conversation_is_read_around_its_matches(
    long_store: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    with_ids = messages.with_ids

    def counted(tx: Any, ids: Any) -> Any:
        read.extend(ids)
        return with_ids(tx, ids)

    monkeypatch.setattr(messages, "with_ids", counted)
    monkeypatch.setattr(transcript, "outline", None)
    found = _ask(long_store, "zebra", characters=10_000).sessions[0]
    # The window is where most matches are, with as much before them as after.
    assert [f"message {n} zebra" in found.window for n in (100, 15_000, 15_010, 15_030)] == [
        False,
        True,
        True,
        True,
    ]
    before = found.window.index("message 15000")
    after = len(found.window) - found.window.index("message 15030")
    assert abs(before - after) < 600
    assert (found.matches, found.messages) == (5, LONG)
    assert found.start_cut and found.end_cut and len(found.window) <= 10_000
    assert len(set(read)) < 300


def test_texts_of_other_messages_never_leave_sqlite(long_store: SessionDB) -> None:
    work = Work(long_store, lambda db: _ask(db, "zebra", characters=10_000))
    texts = [sql for sql in work.queries if "m.content" in sql]
    # Only the blocks of the window and the few hits: no statement goes through all texts.
    assert len(texts) < 40
    assert not any("m.id BETWEEN" in sql and "f.rowid" not in sql for sql in work.queries)


def _full(db: SessionDB, session_id: str) -> str:
    finder = Highlighter(())
    with db._db.read() as tx:
        lines = [excerpt.rendered(each, finder) for each in messages.iterate(tx, session_id)]
    return "\n".join(filter(None, lines))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=50),
    hits=st.sets(st.integers(0, 49), max_size=8),
    characters=st.integers(1, 900),
)
def test_a_window_is_a_stretch_of_the_talk(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], hits: set[int], characters: int
) -> None:
    with SessionDB(tmp_path_factory.mktemp("w") / "state.db", synchronous="NORMAL") as db:
        said = ["zebra " * (n in hits) + "x" * size for n, size in enumerate(sizes)]
        add(db, "talk", *said)
        full = _full(db, "talk")
        with db._db.read() as tx:
            page = excerpt.Page(tx, ["talk"], _finder(db))
            places = [n for n in sorted(hits) if n < len(sizes)]
            shown = excerpt.around(page, places, places[0] if places else None, characters)
    assert shown.text in full and len(shown.text) <= characters
    assert len(shown.text) >= min(len(full), characters) - 1
    if not shown.start_cut:
        assert full.startswith(shown.text)
    if not shown.end_cut:
        assert full.endswith(shown.text)
    if len(shown.text) == len(full):
        assert "zebra" in shown.text or not places
    elif places and characters > 200:
        assert "zebra" in shown.text


def _finder(db: SessionDB) -> Highlighter:
    from hermes_store.engines.sqlite.tokenizer import tokenizer
    from hermes_store.records.search import Span
    from hermes_store.search.query_tree import Text
    from hermes_store.search.query_words import analyse

    with db._db.read() as tx:
        return Highlighter([analyse(Text("zebra", Span(0, 5)), tokenizer(connection(tx)))])


# -- summaries ---------------------------------------------------------------------------------


def _three(db: SessionDB) -> None:
    for name in ("one", "two", "three"):
        add(db, name, f"docker in {name}")


def test_summaries_are_made_side_by_side(db: SessionDB) -> None:
    _three(db)
    together = threading.Barrier(3, timeout=20)

    def summarise(question: str, text: str) -> str:
        together.wait()  # nobody gets past this alone
        return f" {question}: {text} "

    found = _ask(db, "docker", summarise=summarise)
    assert {each.summary for each in found.sessions} == {
        f"docker: [user] docker in {name}" for name in ("one", "two", "three")
    }
    assert found.summarised


@pytest.mark.parametrize("error", [SummaryError("The model is away."), TimeoutError("too late")])
def test_a_summary_that_fails_costs_only_itself(db: SessionDB, error: Exception) -> None:
    _three(db)

    def summarise(question: str, text: str) -> str:
        if "two" in text:
            raise error
        return "" if "three" in text else "fine"

    told = {each.root_id: each for each in _ask(db, "docker", summarise=summarise).sessions}
    assert (told["one"].summary, told["one"].trouble) == ("fine", None)
    assert (told["two"].summary, told["two"].trouble) == (None, str(error))
    assert told["two"].window == "[user] docker in two"
    assert told["three"].summary is None and told["three"].trouble


def test_a_mistake_in_a_summariser_comes_through(db: SessionDB) -> None:
    add(db, "talk", "docker")

    def summarise(_question: str, _text: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _ask(db, "docker", summarise=summarise)


def test_the_file_can_be_written_while_a_model_thinks(db: SessionDB) -> None:
    add(db, "talk", "docker")

    def summarise(_question: str, _text: str) -> str:
        db.append_message("talk", "user", "meanwhile")
        return "done"

    assert _ask(db, "docker", summarise=summarise).sessions[0].summary == "done"
    assert db.message_count("talk") == 2
