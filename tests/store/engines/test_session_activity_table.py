"""The side table of the lists: whatever happens to a file, its rows say what the messages say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.browse import recent_sessions
from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite import session_activity_table
from hermes_store.sessions import lineage, session_rows
from hermes_store.trash import delete_from_database as deletion
from tests.sqlite_parts import connection

Row = dict[str, Any]
NAMES = tuple("abcdefgh")
CONFIGS = (
    None,
    "{}",
    "not json",
    '{"_branched_from": "a"}',
    '{"_delegate_from": "a"}',
    '{"_delegate_from": "__orphaned__"}',
)
TEXTS = ("hello there", "", None, "前回の続き", "\x00json:[1]", "long " * 90)
COLUMNS = (
    "session_id, root_id, edge, listed, source, last_active, spoken, preview_id, preview, "
    "CASE WHEN listed THEN chain_active END"
)


class Undo(Exception):
    """Ends a trial so that everything it wrote is rolled back."""


@contextmanager
def trial(db: SessionDB) -> Iterator[Transaction]:
    """Give a transaction whose changes vanish; the store's own writes join it."""
    try:
        with db._db.write() as tx:
            tx.run("PRAGMA defer_foreign_keys = ON")
            yield tx
            raise Undo
    except Undo:
        pass


def table(tx: Transaction) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in tx.rows(f"SELECT {COLUMNS} FROM session_activity")}


# -- an answer of its own, computed without SQL ----------------------------------------------


def _edge(child: Row, parent: Row | None) -> str:
    try:
        config = json.loads(child["model_config"] or "null") or {}
    except ValueError:
        config = {}
    if config.get("_delegate_from", "__orphaned__") != "__orphaned__":
        return "agent"
    if parent is None:
        return ""
    if "_branched_from" in config:
        return "branch"
    if parent["ended_at"] is None or child["started_at"] < parent["ended_at"]:
        return "agent"
    return {"compression": "compression", "branched": "branch"}.get(parent["end_reason"], "agent")


def expected(tx: Transaction) -> dict[str, tuple[Any, ...]]:
    """Compute the whole table from sessions and messages, one plain step after the other."""
    names = ("id", "source", "parent", "started_at", "ended_at", "end_reason", "model_config")
    found = tx.rows(
        "SELECT id, source, parent_session_id, started_at, ended_at, end_reason, model_config "
        "FROM sessions"
    )
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in found}
    for row in rows.values():
        said = sorted(
            tx.rows(
                "SELECT timestamp, id, role, content FROM messages WHERE session_id = ?",
                (row["id"],),
            ),
            key=lambda message: message[:2],
        )
        asked = [message for message in said if message[2] == "user" and message[3] is not None]
        row["edge"] = _edge(row, rows.get(row["parent"]))
        row["spoken"] = int(bool(said))
        row["last"] = said[-1][0] if said else row["started_at"]
        row["first"] = (asked[0][1], asked[0][3].encode()[:256] or None) if asked else (None, None)
    for row in rows.values():
        top = row
        while top["edge"] == "compression":
            top = rows[top["parent"]]
        row["root"] = top["id"]
    return {
        key: (
            key,
            row["root"],
            row["edge"],
            int(row["edge"] in ("", "branch")),
            row["source"],
            row["last"],
            row["spoken"],
            *row["first"],
            max(each["last"] for each in rows.values() if each["root"] == key)
            if row["edge"] in ("", "branch")
            else None,
        )
        for key, row in rows.items()
    }


# -- things that happen to a file ------------------------------------------------------------

Happening = Callable[[SessionDB, Transaction], None]
name = st.sampled_from(NAMES)
moment = st.integers(0, 20).map(float)
place = st.integers(0, 30)


def _message(tx: Transaction, nth: int) -> int | None:
    ids = [row[0] for row in tx.rows("SELECT id FROM messages ORDER BY id")]
    return ids[nth % len(ids)] if ids else None


def _descends(tx: Transaction, session: str, ancestor: str) -> bool:
    seen: set[str] = set()
    current: str | None = session
    while current is not None and current not in seen:
        if current == ancestor:
            return True
        seen.add(current)
        current = tx.value("SELECT parent_session_id FROM sessions WHERE id = ?", (current,))
    return False


def create(who: str, parent: str | None, config: str | None, at: float) -> Happening:
    def happen(db: SessionDB, tx: Transaction) -> None:
        known = parent if parent and parent != who and session_rows.exists(tx, parent) else None
        if not session_rows.exists(tx, who):
            db.store.sessions.start(who, f"source of {who}", parent_session_id=known, started_at=at)
            tx.run("UPDATE sessions SET model_config = ? WHERE id = ?", (config, who))

    return happen


def replace_row(who: str, at: float) -> Happening:
    def happen(_: SessionDB, tx: Transaction) -> None:
        # SQLite tells no trigger of the row it replaces, so the parent has to stay the same.
        parent = tx.value("SELECT parent_session_id FROM sessions WHERE id = ?", (who,))
        tx.run(
            "INSERT OR REPLACE INTO sessions(id, source, parent_session_id, started_at) "
            "VALUES (?, 'x', ?, ?)",
            (who, parent, at),
        )

    return happen


def append(who: str, role: str, text: str | None, at: float) -> Happening:
    def happen(db: SessionDB, tx: Transaction) -> None:
        if session_rows.exists(tx, who):
            db.append_message(who, role, text, timestamp=at)

    return happen


def replace_all(who: str, texts: list[str | None]) -> Happening:
    def happen(db: SessionDB, tx: Transaction) -> None:
        if session_rows.exists(tx, who):
            db.replace_messages(who, [{"role": "user", "content": text} for text in texts])

    return happen


def end(who: str, reason: str, at: float) -> Happening:
    return lambda _, tx: session_rows.end(tx, who, reason, at)


def reopen(who: str) -> Happening:
    return lambda db, _: db.reopen_session(who)


def relink(who: str, parent: str | None) -> Happening:
    def happen(_: SessionDB, tx: Transaction) -> None:
        if parent is None or (session_rows.exists(tx, parent) and not _descends(tx, parent, who)):
            tx.run("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (parent, who))

    return happen


def change(column: str, who: str, value: object) -> Happening:
    return lambda _, tx: _run(tx, f"UPDATE sessions SET {column} = ? WHERE id = ?", value, who)


def edit(column: str, nth: int, value: object) -> Happening:
    def happen(_: SessionDB, tx: Transaction) -> None:
        if column != "session_id" or session_rows.exists(tx, str(value)):
            tx.run(f"UPDATE messages SET {column} = ? WHERE id = ?", (value, _message(tx, nth)))

    return happen


def unsay(nth: int) -> Happening:
    return lambda _, tx: _run(tx, "DELETE FROM messages WHERE id = ?", _message(tx, nth))


def _run(tx: Transaction, sql: str, *values: object) -> None:
    tx.run(sql, values)


def _delete_conversation(db: SessionDB, tx: Transaction, who: str) -> set[str]:
    members = lineage.members(tx, who)
    return set(deletion.total(deletion.delete_in_steps(db._db.write, [members])).session_ids)


def delete(who: str, way: str) -> Happening:
    def happen(db: SessionDB, tx: Transaction) -> None:
        if way == "session":
            db.delete_session(who)
        elif way == "conversation":
            for member in lineage.members(tx, who):
                deletion.delete_session(tx, member)
        else:  # as another program does it: children become orphans
            if way == "orphaning":
                _run(tx, "UPDATE sessions SET parent_session_id = NULL "
                         "WHERE parent_session_id = ?", who)  # fmt: skip
            _run(tx, "DELETE FROM messages WHERE session_id = ?", who)
            _run(tx, "DELETE FROM sessions WHERE id = ?", who)

    return happen


text = st.sampled_from(TEXTS)
role = st.sampled_from(("user", "assistant", "tool"))
reason = st.sampled_from(("compression", "compression", "branched", "user_exit"))
happenings = st.one_of(
    st.builds(create, name, st.none() | name, st.sampled_from((None, *CONFIGS)), moment),
    st.builds(create, name, name, st.none(), moment),
    st.builds(append, name, role, text, moment),
    st.builds(append, name, st.just("user"), text, moment),
    st.builds(end, name, reason, moment),
    st.builds(reopen, name),
    st.builds(relink, name, st.none() | name),
    st.builds(change, st.just("model_config"), name, st.sampled_from(CONFIGS)),
    st.builds(change, st.sampled_from(("started_at", "ended_at")), name, moment),
    st.builds(change, st.just("source"), name, st.sampled_from(("cli", "telegram"))),
    st.builds(edit, st.just("content"), place, text),
    st.builds(edit, st.just("role"), place, role),
    st.builds(edit, st.just("timestamp"), place, moment),
    st.builds(edit, st.just("session_id"), place, name),
    st.builds(unsay, place),
    st.builds(replace_all, name, st.lists(text, max_size=3)),
    st.builds(replace_row, name, moment),
    st.builds(delete, name, st.sampled_from(("session", "conversation", "orphaning", "rawly"))),
)
# A family to begin with, so that most happenings meet somebody.
FAMILY: tuple[Happening, ...] = (
    create("a", None, None, 0.0),
    append("a", "user", "first", 1.0),
    end("a", "compression", 2.0),
    create("b", "a", None, 3.0),
    append("b", "user", "second", 4.0),
    end("b", "compression", 5.0),
    create("c", "b", None, 6.0),
    append("c", "user", "third", 7.0),
    create("d", "b", None, 4.0),
    append("d", "user", "helper", 8.0),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    with SessionDB(tmp_path_factory.mktemp("activity") / "state.db") as db:
        yield db


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(happenings, min_size=1, max_size=25), family=st.booleans())
# Seldom drawn: a session that falls silent counts from a start later than what it had said,
# and a continuation that is written anew no longer continues.
@example(script=[edit("timestamp", 2, 0.0), unsay(2)], family=True)
@example(script=[replace_row("b", 0.0)], family=True)
def test_triggers_keep_what_a_fresh_computation_finds(
    shared: SessionDB, script: list[Happening], family: bool
) -> None:
    with trial(shared) as tx:
        for happen in (*(FAMILY if family else ()), *script):
            happen(shared, tx)
        kept = table(tx)
        assert kept == expected(tx)
        session_activity_table.create(connection(tx))
        assert table(tx) == kept


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(happenings, min_size=1, max_size=25),
    source=st.sampled_from((None, "cli", "telegram")),
    limit=st.integers(0, 4),
    offset=st.integers(0, 3),
)
# The row of a chain stands where its newest segment was active, which may be of another source.
@example(script=[change("source", "c", "telegram")], source="cli", limit=1, offset=0)
def test_a_page_by_activity_is_cut_from_the_whole(
    shared: SessionDB, script: list[Happening], source: str | None, limit: int, offset: int
) -> None:
    with trial(shared) as tx:
        for happen in (*FAMILY, *script):
            happen(shared, tx)
        whole, page = (
            [(row["last_active"], row["started_at"]) for row in rows]
            for rows in (
                recent_sessions.recent(tx, source, limit=-1),
                recent_sessions.recent(tx, source, limit=limit, offset=offset),
            )
        )
        assert page == whole[offset : offset + limit]
        late = "SELECT session_id FROM session_activity WHERE chain_active < last_active"
        assert tx.one(late) is None


# -- damaged data ----------------------------------------------------------------------------


def _circle(tx: Transaction, size: int) -> None:
    members = NAMES[:size]
    for who in members:
        session_rows.create(tx, who, "cli", started_at=10.0)
        session_rows.end(tx, who, "compression", 5.0)
    for who, parent in zip(members, (members[-1], *members), strict=False):
        tx.run("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (parent, who))


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_a_circle_of_parents_neither_hangs_nor_stays_after_it_is_cut(
    shared: SessionDB, size: int
) -> None:
    with trial(shared) as tx:
        _circle(tx, size)
        shared.append_message("a", "user", "still here", timestamp=20.0)
        assert table(tx).keys() == set(NAMES[:size])
        session_activity_table.create(connection(tx))
        assert table(tx).keys() == set(NAMES[:size])
        tx.run("UPDATE sessions SET parent_session_id = NULL WHERE id = 'a'")
        assert table(tx) == expected(tx)
        assert table(tx)["a"][3] == 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_circle_can_be_deleted(shared: SessionDB, size: int) -> None:
    with trial(shared) as tx:
        _circle(tx, size)
        members = lineage.members(tx, "a")
        assert set(members) == set(NAMES[:size])
        assert all(deletion.delete_session(tx, member) for member in members)
        assert table(tx) == {}


def test_a_missing_parent_makes_a_root_until_the_parent_comes_back(shared: SessionDB) -> None:
    with trial(shared) as tx:
        tx.run("INSERT INTO sessions(id, source, started_at, parent_session_id) "
               "VALUES ('b', 'cli', 5.0, 'a')")  # fmt: skip
        assert table(tx)["b"][1:4] == ("b", "", 1)
        tx.run("INSERT INTO sessions(id, source, started_at, ended_at, end_reason) "
               "VALUES ('a', 'cli', 1.0, 4.0, 'compression')")  # fmt: skip
        assert table(tx)["b"][1:4] == ("a", "compression", 0)
        assert table(tx) == expected(tx)


def test_a_chain_of_two_hundred_has_one_root(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db, trial(db) as tx:
        for number in range(200):
            parent = f"s{number - 1}" if number else None
            session_rows.create(
                tx, f"s{number}", "cli", parent_session_id=parent, started_at=float(number)
            )
            session_rows.end(tx, f"s{number}", "compression", float(number))
        assert table(tx) == expected(tx)
        assert {row[1] for row in table(tx).values()} == {"s0"}
