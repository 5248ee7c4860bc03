"""Sessions: created once, ended once, found by id or prefix, counting tokens."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from hermes_store import SessionDB, new_session_id
from hermes_store.errors import (
    AmbiguousSession,
    DatabaseReadOnly,
    InvalidInput,
    SessionNotFound,
    StoreError,
)
from hermes_store.records.relation_to_parent import Edge
from tests.support import add, raw


def test_a_new_id_tells_its_moment_and_is_unique() -> None:
    made = {new_session_id(1_700_000_000.0) for _ in range(200)}
    assert len(made) == 200
    assert len({each[:16] for each in made}) == 1
    assert all(re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", each) for each in made)
    stamp = time.mktime(time.strptime(next(iter(made))[:15], "%Y%m%d_%H%M%S"))
    assert stamp == 1_700_000_000.0


def test_a_session_comes_back_with_all_it_was_given(db: SessionDB) -> None:
    before = time.time()
    details = {"model": "opus", "system_prompt": "Be brief.", "user_id": "u1"}
    assert db.create_session("a", "cli", model_config={"top": 1}, **details) == "a"
    row = db.get_session("a")
    assert row is not None
    assert {name: row[name] for name in details} == details
    assert before <= row["started_at"] <= time.time()
    assert row["message_count"] == row["input_tokens"] == 0
    assert row["ended_at"] is None
    assert db.store.sessions.get("a").model_config == {"top": 1}


def test_creating_twice_keeps_the_first(db: SessionDB) -> None:
    db.create_session("a", "cli", model="first")
    db.create_session("a", "slack", model="second")
    assert db.ensure_session("a") == "a"
    row = db.get_session("a")
    assert row is not None
    assert (row["source"], row["model"]) == ("cli", "first")
    assert db.session_count() == 1


def test_ensure_makes_a_session_of_unknown_source(db: SessionDB) -> None:
    db.ensure_session("a", model="opus")
    assert (db.store.sessions.get("a").source, db.store.sessions.get("a").model) == (
        "unknown",
        "opus",
    )


def test_the_first_end_reason_wins_until_reopened(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.end_session("a", "compression")
    first = db.store.sessions.get("a")
    db.end_session("a", "user_exit")
    assert db.store.sessions.get("a") == first
    db.reopen_session("a")
    assert (db.store.sessions.get("a").ended_at, db.store.sessions.get("a").end_reason) == (
        None,
        None,
    )
    db.end_session("a", "user_exit")
    assert db.store.sessions.get("a").end_reason == "user_exit"


def test_the_six_digit_ids_of_real_sessions_are_accepted(db: SessionDB) -> None:
    add(db, "20250101_120000_abc123", "hello")
    assert db.resolve_session_id("20250101_120000_abc") == "20250101_120000_abc123"
    assert db.store.sessions.find("20250101").id == "20250101_120000_abc123"


def test_an_exact_id_wins_over_longer_ones(db: SessionDB) -> None:
    for name in ("ab", "abc", "abd"):
        add(db, name)
    assert db.resolve_session_id("ab") == "ab"
    assert db.resolve_session_id("abc") == "abc"
    assert db.resolve_session_id("a") is None
    assert db.resolve_session_id("") is None
    assert db.resolve_session_id("zz") is None


def test_a_prefix_is_taken_literally(db: SessionDB) -> None:
    for name in ("a*b", "axb", "[x]1", "x1", "a_c", "q?z"):
        add(db, name)
    assert db.resolve_session_id("a*") == "a*b"
    assert db.resolve_session_id("[") == "[x]1"
    assert db.resolve_session_id("a_") == "a_c"
    assert db.resolve_session_id("q?") == "q?z"
    assert db.resolve_session_id("A_") is None
    assert db.resolve_session_id("%") is None


def test_an_ambiguous_prefix_names_the_candidates(db: SessionDB) -> None:
    for number in range(9):
        add(db, f"s{number}", at=1000.0 + number)
    with pytest.raises(AmbiguousSession) as caught:
        db.store.sessions.find("s")
    assert caught.value.candidates[0] == "s8"
    assert "s8, s7, s6, s5, s4, …" in str(caught.value)


def test_a_session_is_found_by_title_too(db: SessionDB) -> None:
    add(db, "a", title="Garden plans")
    add(db, "b", title="a longer story", at=2000.0)
    assert db.store.sessions.find("Garden plans").id == "a"
    assert db.store.sessions.find("a").id == "a"
    with pytest.raises(SessionNotFound, match="'nothing like it'"):
        db.store.sessions.find("nothing like it")
    with pytest.raises(SessionNotFound):
        db.store.sessions.find("")


def test_tokens_add_up(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for _ in range(3):
        db.update_token_counts(
            "a", input_tokens=10, output_tokens=2, estimated_cost_usd=0.5, api_call_count=1
        )
    session = db.store.sessions.get("a")
    assert (session.input_tokens, session.output_tokens, session.total_tokens) == (30, 6, 36)
    assert session.api_call_count == 3
    assert session.estimated_cost_usd == pytest.approx(1.5)
    assert session.actual_cost_usd is None


def test_absolute_token_counts_replace(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.update_token_counts("a", input_tokens=10, actual_cost_usd=1.0, cache_read_tokens=7)
    db.update_token_counts("a", input_tokens=4, actual_cost_usd=0.25, absolute=True)
    session = db.store.sessions.get("a")
    assert (session.input_tokens, session.cache_read_tokens) == (4, 0)
    assert session.actual_cost_usd == 0.25


def test_the_first_model_and_provider_stay_and_the_latest_status_counts(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.update_token_counts("a", model="one", billing_provider="p1", cost_status="estimated")
    db.update_token_counts("a", model="two", billing_provider="p2", cost_status="actual")
    db.update_token_counts("a", input_tokens=1)
    row = db.get_session("a")
    assert row is not None
    assert (row["model"], row["billing_provider"], row["cost_status"]) == ("one", "p1", "actual")


def test_tokens_of_an_unknown_session_make_it(db: SessionDB) -> None:
    db.update_token_counts("late", input_tokens=5, model="opus")
    assert (db.store.sessions.get("late").source, db.store.sessions.get("late").input_tokens) == (
        "unknown",
        5,
    )


def test_the_system_prompt_can_change(db: SessionDB) -> None:
    db.create_session("a", "cli", system_prompt="one")
    db.update_system_prompt("a", "two")
    row = db.get_session("a")
    assert row is not None
    assert row["system_prompt"] == "two"


def test_sessions_are_counted_by_source(db: SessionDB) -> None:
    for name, source in (("a", "cli"), ("b", "cli"), ("c", "matrix")):
        db.create_session(name, source)
    assert [db.session_count(s) for s in (None, "cli", "matrix", "sms")] == [3, 2, 1, 0]


def test_an_edge_leaves_the_mark_newer_versions_read(db: SessionDB) -> None:
    add(db, "root")
    branch = db.store.sessions.start("b", "cli", parent_session_id="root", edge=Edge.BRANCH)
    agent = db.store.sessions.start("g", "cli", parent_session_id="root", edge=Edge.AGENT)
    plain = db.store.sessions.start("p", "cli", parent_session_id="root", edge=Edge.COMPRESSION)
    assert branch.model_config == {"_branched_from": "root"}
    assert agent.model_config == {"_delegate_from": "root"}
    assert plain.model_config is None


def test_model_config_is_never_anything_but_an_object(db: SessionDB, path: Path) -> None:
    with pytest.raises(InvalidInput, match="model_config"):
        db.create_session("a", "cli", model_config="fast")
    db.create_session("b", "cli", model_config={})
    with raw(path) as con:
        assert con.execute("SELECT id, model_config FROM sessions").fetchall() == [("b", None)]
        for place, text in enumerate(("", "no json", "[1]", "7", "[" * 50_000)):
            con.execute(
                "INSERT INTO sessions(id, source, started_at, model_config) VALUES (?, 'x', 1, ?)",
                (f"damaged{place}", text),
            )
    assert [db.store.sessions.get(f"damaged{place}").model_config for place in range(5)] == [
        None
    ] * 5
    assert len(db.list_sessions_rich()) == 6


def test_meta_values_are_kept_and_replaced(db: SessionDB, path: Path) -> None:
    assert db.get_meta("key") is None
    db.set_meta("key", "one")
    db.set_meta("key", "two")
    with SessionDB(path, read_only=True) as other:
        assert other.get_meta("key") == "two"


def test_the_default_store_is_in_the_home_folder(home: Path) -> None:
    with SessionDB() as db:
        db.create_session("a", "cli")
    assert (home / "state.db").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_read_only_store_reads_and_refuses_to_write(db: SessionDB, path: Path) -> None:
    add(db, "a", "hello")
    with SessionDB(path, read_only=True) as reader:
        assert reader.read_only
        assert reader.get_messages("a")[0]["content"] == "hello"
        with pytest.raises(DatabaseReadOnly, match="read_only"):
            reader.create_session("b", "cli")
    assert db.session_count() == 1


def test_a_closed_store_says_so(path: Path) -> None:
    db = SessionDB(path)
    db.close()
    db.close()
    with pytest.raises(StoreError, match="closed"):
        db.session_count()
    with pytest.raises(StoreError, match="closed"):
        db.create_session("a", "cli")


def test_threads_can_share_a_store(db: SessionDB) -> None:
    db.create_session("a", "cli")
    counts: list[int] = []

    def work(name: int) -> None:
        for number in range(10):
            db.append_message("a", "user", f"{name} {number}")
            counts.append(len(db.get_messages("a")))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = {row["content"] for row in db.get_messages("a")}
    assert said == {f"{name} {number}" for name in range(6) for number in range(10)}
    assert len(counts) == 60
    assert db.store.sessions.get("a").message_count == 60
