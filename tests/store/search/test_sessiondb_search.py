"""`search_messages` answers as its documentation says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.search import Order, Request
from hermes_store.sessions import messages
from tests.support import LONG_AGO, add

CALLS = [{"id": "1", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    """A store with one session for each thing that is asked for."""
    said = {
        "docker": "docker deployment finished", "kubernetes": "kubernetes cluster",
        "python": "python code", "both": "python and java code", "dash": "use chat-send here",
        "apostrophe": "I don't know", "path": "edit src/main.py now", "mail": "write foo@bar.com",
        "percent": "at 50% load", "sharp": "written in C# today", "chinese": "确认数据库连接的设置",
        "japanese": "前回の設定", "emoji": "done 😀 now", "hello": "hello world",
        "snake": "call my_tool_name()", "dotted": "my-app.config.ts", "AND": "AND gate",
    }  # fmt: skip
    with SessionDB(tmp_path_factory.mktemp("contract") / "state.db") as store:
        for place, (name, text) in enumerate(said.items()):
            add(store, name, text, at=LONG_AGO + 10 * place)
        yield store


def sessions_of(db: SessionDB, query: str, **more: Any) -> set[str]:
    return {row["session_id"] for row in db.search_messages(query, **more)}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("docker deployment", {"docker"}),
        ('"docker deployment"', {"docker"}),
        ('"deployment docker"', set()),
        ("docker OR kubernetes", {"docker", "kubernetes"}),
        ("python NOT java", {"python"}),
        ("deploy*", {"docker"}),
        ('"unmatched', set()),
        ('"hello', {"hello"}),
        ("hello AND", {"hello"}),
        ("AND hello", {"hello"}),
        ("OR NOT hello", {"hello"}),
        ("hello OR", {"hello"}),
        ("hello NOT", {"hello"}),
        ("hello)", {"hello"}),
        ("{hello} ^world", {"hello"}),
        ("name()", {"snake"}),
        ("(hello", {"hello"}),
        ("hello +{}^", {"hello"}),
        ("hello: world", {"hello"}),
        ("Hello, world!", {"hello"}),
        ("hello; (world).", {"hello"}),
        ("'hello' world?", {"hello"}),
        ("“hello world”", {"hello"}),
        ("`hello` **world**", {"hello"}),
        ("[hello]… $world", {"hello"}),
        ("world: hello", {"hello"}),
        ("note: zymurgy", set()),
        ("title: hello", set()),
        ("chat-send", {"dash"}),
        ("don't", {"apostrophe"}),
        ("src/main.py", {"path"}),
        ("foo@bar.com", {"mail"}),
        ("50%", {"percent"}),
        ("C#", {"sharp"}),
        ("my_tool_name", {"snake"}),
        ("tool_na", {"snake"}),
        ("my-app.config.ts", {"dotted"}),
        ("数据库", {"chinese"}),
        ("设置", {"chinese"}),
        ("设", {"chinese"}),
        ("设定", set()),
        ("設定", {"japanese"}),
        ("设置 OR 設定", {"chinese", "japanese"}),
        ("😀", {"emoji"}),
        ("HELLO", {"hello"}),
    ],
)
def test_a_query_finds(db: SessionDB, query: str, wanted: set[str]) -> None:
    assert sessions_of(db, query) == wanted


@pytest.mark.parametrize("query", ["", "   ", '"', "***", "()", "AND", "AND OR NOT", "\0", "^"])
def test_a_query_without_anything_in_it_finds_nothing(db: SessionDB, query: str) -> None:
    assert sessions_of(db, query) <= {"AND"}


def test_a_hit_has_these_keys(db: SessionDB) -> None:
    (row,) = db.search_messages("docker")
    assert row == {
        "id": 1,
        "session_id": "docker",
        "role": "user",
        "snippet": ">>>docker<<< deployment finished  ",
        "timestamp": LONG_AGO + 1,
        "tool_name": None,
        "source": "cli",
        "model": None,
        "session_started": LONG_AGO,
        "context": [{"role": "user", "content": "docker deployment finished"}],
    }


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("don't", ">>>don't<<<"),
        ("src/main.py", ">>>src/main.py<<<"),
        ("50%", ">>>50%<<<"),
        ("数据库", ">>>数据库<<<"),
        ("设", ">>>设<<<"),
        ("deploy*", ">>>deployment<<<"),
        ("ployme", ">>>ployme<<<"),
        ("FINISHED docker", ">>>docker<<< deployment >>>finished<<<"),
        ("docker NOT absent", ">>>docker<<<"),
    ],
)
def test_the_match_is_marked(db: SessionDB, query: str, marked: str) -> None:
    (row,) = db.search_messages(query)
    assert marked in row["snippet"]


@pytest.fixture
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    """A session of long messages, and the same word in other places and roles."""
    with SessionDB(tmp_path_factory.mktemp("talk") / "state.db") as store:
        add(store, "long", "first " + "x" * 300, "target " + "y " * 300, "third", "fourth")
        add(store, "chat", "target in chat", source="telegram")
        add(store, "job", "target in a job", source="cron")
        with store._db.write() as tx:
            reply = {"role": "assistant", "content": None, "tool_calls": CALLS}
            messages.append(tx, "chat", reply, LONG_AGO + 50)
            result = {"role": "tool", "content": "target listed", "tool_name": "terminal"}
            messages.append(tx, "chat", result, LONG_AGO + 51)
        yield store


def test_the_neighbours_of_a_hit_are_shown_cut_short(talk: SessionDB) -> None:
    (row,) = [row for row in talk.search_messages("target") if row["session_id"] == "long"]
    shown = [entry["content"] for entry in row["context"]]
    assert [text[:6] for text in shown] == ["first ", "target", "third"]
    assert [len(text) for text in shown] == [200, 200, 5]
    assert len(row["snippet"]) < 450
    assert row["snippet"].startswith(">>>target<<<")
    assert row["snippet"].endswith("...")


def test_neighbours_belong_to_the_same_session(talk: SessionDB) -> None:
    (row,) = talk.search_messages("target", source_filter=["cron"])
    assert [entry["content"] for entry in row["context"]] == ["target in a job"]


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({}, {"long", "chat", "job"}),
        ({"source_filter": ["telegram"]}, {"chat"}),
        ({"source_filter": ["telegram", "cron"]}, {"chat", "job"}),
        ({"source_filter": []}, set()),
        ({"exclude_sources": ["telegram"]}, {"long", "job"}),
        ({"exclude_sources": []}, {"long", "chat", "job"}),
        ({"source_filter": ["telegram"], "exclude_sources": ["telegram"]}, set()),
        ({"role_filter": ["tool"]}, {"chat"}),
        ({"role_filter": ["user", "tool"], "exclude_sources": ["cli"]}, {"chat", "job"}),
        ({"role_filter": ["system"]}, set()),
        ({"role_filter": []}, {"long", "chat", "job"}),
    ],
)
def test_filters(talk: SessionDB, filters: dict[str, list[str]], wanted: set[str]) -> None:
    assert sessions_of(talk, "target", **filters) == wanted


def test_limit_and_offset_page_through_all_hits(talk: SessionDB) -> None:
    whole = [row["id"] for row in talk.search_messages("target")]
    assert len(whole) == len(set(whole)) == 4
    pages = [talk.search_messages("target", limit=1, offset=at) for at in range(5)]
    assert [[row["id"] for row in page] for page in pages] == [[each] for each in whole] + [[]]
    assert talk.search_messages("target", limit=0) == []


def test_limits_are_read_as_sqlite_reads_them(talk: SessionDB) -> None:
    whole = talk.search_messages("target")
    wanted: list[tuple[Any, Any]] = [(-1, 0), (20, -1), (2**70, 0), ("20", "0"), (-1, -1)]
    for limit, offset in wanted:
        assert talk.search_messages("target", limit=limit, offset=offset) == whole
    assert talk.search_messages("target", limit=-1, offset=3) == whole[3:]
    assert talk.search_messages("target", limit=2**70, offset=2**70) == []
    for grouped in (False, True):
        for order in Order:
            request = Request("target", limit=20, order=order, grouped=grouped)
            found = talk.store.search.run(request)
            assert found.hits
            for limit, offset in wanted:
                same = replace(request, limit=limit, offset=offset)
                assert talk.store.search.run(same) == found


def test_no_query_finds_nothing(talk: SessionDB) -> None:
    assert talk.search_messages(None) == []


def test_tool_names_and_calls_are_found(talk: SessionDB) -> None:
    assert {row["role"] for row in talk.search_messages("terminal")} == {"assistant", "tool"}
    (row,) = talk.search_messages("command")
    assert ">>>command<<<" in row["snippet"]
    assert row["context"][1] == {"role": "assistant", "content": ""}


def test_multimodal_content_is_read_as_text(talk: SessionDB) -> None:
    parts = [{"type": "text", "text": 'see "this" picture'}, {"type": "image_url"}]
    with talk._db.write() as tx:
        messages.append(tx, "long", {"role": "user", "content": parts}, LONG_AGO + 60)
    (row,) = talk.search_messages("picture")
    assert row["snippet"].strip() == 'see "this" >>>picture<<< [image]'
    assert row["context"][-1]["content"] == 'see "this" picture [image]'


def test_content_that_was_stored_as_bytes_is_found(talk: SessionDB) -> None:
    with talk._db.write() as tx:
        tx.run("UPDATE messages SET content = CAST('stored as bytes' AS BLOB) WHERE id = 3")
    (row,) = talk.search_messages("bytes")
    assert row["snippet"].strip() == "stored as >>>bytes<<<"


def test_punctuation_counts_if_any_message_has_it(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        add(db, "noted", "TODO: fix the parser")
        add(db, "told", "please fix the TODO of the parser")
        assert sessions_of(db, "TODO: fix") == {"noted"}
        assert sessions_of(db, "TODO, fix!") == {"noted", "told"}
        assert sessions_of(db, "TODO: please") == {"told"}
        (hit,) = db.search_messages("TODO: please")
        assert hit["snippet"].strip() == ">>>please<<< fix the >>>TODO<<< of the parser"
        assert len(db.search_messages("parser! the?", limit=1, offset=1)) == 1
        assert db.search_messages("parser! the?", limit=1, offset=2) == []


def test_what_only_looks_like_a_field_is_text(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        said = ("the house is on:fire", "after:lunch", "is:broken", "role:admin", "sort:asc",
                "has:bug", "id:42", "tag:v1.2", "tool:hammer", "nothing else")  # fmt: skip
        for text in said:
            add(db, text, text)
        for text in said[1:-1]:
            assert sessions_of(db, text) == {text}
        assert sessions_of(db, "on:fire house") == {said[0]}
        assert sessions_of(db, "on:water") == set()
        assert sessions_of(db, "role:user nothing") == {"nothing else"}
        assert sessions_of(db, "nothing role:assistant") == set()
