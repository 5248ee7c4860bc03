"""Figures: every source counted, real sizes, tokens and cost by model and session."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.sources import KNOWN, Source, describe
from tests.support import LONG_AGO, add


def test_every_source_is_counted(db: SessionDB) -> None:
    sources = [*KNOWN, "something-new"]
    for number, source in enumerate(sources, 1):
        for copy in range(1 + number % 2):
            add(db, f"{source}-{copy}", "one", "two", source=source)
    stats = db.store.upkeep.statistics()
    assert dict(stats.by_source) == {s: 1 + n % 2 for n, s in enumerate(sources, 1)}
    assert stats.sessions == sum(number for _, number in stats.by_source)
    assert stats.messages == 2 * stats.sessions
    numbers = [number for _, number in stats.by_source]
    assert numbers == sorted(numbers, reverse=True)


def test_sizes_are_those_on_the_disk(db: SessionDB, path: Path) -> None:
    add(db, "a", "x" * 200_000)
    log = path.with_name("state.db-wal")
    assert db.store.upkeep.statistics().log_bytes == log.stat().st_size > 0
    db.vacuum()
    stats = db.store.upkeep.statistics()
    assert stats.database_bytes == path.stat().st_size > 200_000
    assert stats.reclaimable_bytes == 0


def test_an_empty_store_has_figures(db: SessionDB) -> None:
    stats = db.store.upkeep.statistics()
    assert (stats.sessions, stats.messages, stats.by_source) == (0, 0, ())
    assert db.store.upkeep.usage_by_model() == ()
    assert db.store.upkeep.heaviest_sessions() == ()


def test_usage_by_model_prefers_what_was_really_paid(db: SessionDB) -> None:
    for name, model, estimated, actual in (
        ("a", "opus", 5.0, 1.0),
        ("b", "opus", 2.0, None),
        ("c", "mini", 9.0, None),
        ("d", None, 100.0, None),
    ):
        add(db, name)
        db.update_token_counts(
            name, 100, 10, model, estimated_cost_usd=estimated, actual_cost_usd=actual
        )
    mini, opus = db.store.upkeep.usage_by_model()
    assert (mini.model, mini.sessions, mini.cost_usd) == ("mini", 1, 9.0)
    assert (opus.model, opus.sessions, opus.cost_usd) == ("opus", 2, 3.0)
    assert (opus.input_tokens, opus.output_tokens) == (200, 20)


def test_the_heaviest_sessions_come_first(db: SessionDB) -> None:
    for number, tokens in enumerate((5, 500, 50, 0)):
        add(db, f"s{number}", title=f"t{number}")
        db.update_token_counts(f"s{number}", tokens, tokens)
    heaviest = db.store.upkeep.heaviest_sessions(3)
    assert [(each.id, each.total_tokens) for each in heaviest] == [
        ("s1", 1000),
        ("s2", 100),
        ("s0", 10),
    ]
    assert heaviest[0].title == "t1"


def test_sources_have_names_for_people() -> None:
    assert len(KNOWN) == 22
    assert all(source.label and len(source.short) <= 5 for source in KNOWN.values())
    assert len({source.short for source in KNOWN.values()}) == 22
    assert describe("never-heard-of") == Source("never-heard-of", "never-heard-of", "never")


@pytest.mark.sqlite("columns of PostgreSQL hold numbers only")
def test_insights_take_only_numbers_for_numbers(db: SessionDB) -> None:
    stored = {
        "number": 3,
        "digits": b"4",
        "beginning": "12\x1b[31m apples",
        "word": "many",
        "infinite": float("inf"),
        "none": None,
    }
    with db._db.write() as tx:
        for name, value in stored.items():
            tx.run(
                "INSERT INTO sessions(id, source, started_at, ended_at, message_count, "
                "tool_call_count, input_tokens, output_tokens, cache_read_tokens, "
                "cache_write_tokens, actual_cost_usd) VALUES (?1, 'cli', ?2, ?3, ?4, ?4, ?4, ?4, "
                "?4, ?4, ?4)",
                (name, LONG_AGO, "9999999999999 o'clock", value),
            )
        for seconds in (0, 60):
            tx.run("INSERT INTO messages(session_id, role, timestamp) VALUES ('number', 'tool', ?)",
                   (LONG_AGO + seconds,))  # fmt: skip
    found = db.store.upkeep.insights(days=1, now=LONG_AGO + 100)
    assert found.sessions == 6
    assert (found.messages, found.tool_calls) == (7, 7)
    assert (found.input_tokens, found.output_tokens, found.cache_tokens) == (7, 7, 14)
    assert (found.cost_usd, found.active_seconds) == (7.0, 60.0)
    (model,) = found.models
    assert (model.input_tokens, model.output_tokens, model.cost_usd) == (7, 7, 7.0)
    assert {(each.kind, each.session_id, each.value) for each in found.notable} == {
        ("longest", "number", 60.0),
        ("most messages", "digits", 4.0),
        ("most tokens", "digits", 8.0),
        ("most tool calls", "digits", 4.0),
    }
    counted = [db.store.sessions.get(name).message_count for name in stored]
    assert sum(counted) == found.messages
