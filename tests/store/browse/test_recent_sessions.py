"""Lists: order, filters, previews, and chains that show as one row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput
from hermes_store.records.listing import Filter, View
from hermes_store.records.relation_to_parent import Edge
from tests.support import LONG_AGO, add, add_chain


def _ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


@pytest.fixture
def three(db: SessionDB) -> SessionDB:
    """Three sessions whose order by start is the reverse of that by activity."""
    for place, (name, source) in enumerate((("a", "cli"), ("b", "slack"), ("c", "cli"))):
        add(db, name, source=source, at=LONG_AGO + place)
        db.append_message(name, "user", f"from {name}", timestamp=LONG_AGO + 1000 - place)
    return db


def test_newest_start_first_unless_by_activity(three: SessionDB) -> None:
    assert _ids(three.list_sessions_rich()) == ["c", "b", "a"]
    assert _ids(three.list_sessions_rich(order_by_last_active=True)) == ["a", "b", "c"]
    assert _ids(three.search_sessions()) == ["a", "b", "c"]


@pytest.mark.parametrize("by_activity", [False, True])
def test_pages_follow_each_other(three: SessionDB, by_activity: bool) -> None:
    whole = _ids(three.list_sessions_rich(order_by_last_active=by_activity))
    pages = [
        three.list_sessions_rich(limit=1, offset=n, order_by_last_active=by_activity)
        for n in range(4)
    ]
    assert [_ids(page) for page in pages] == [[name] for name in whole] + [[]]
    assert three.list_sessions_rich(limit=0, order_by_last_active=by_activity) == []


@pytest.mark.parametrize("by_activity", [False, True])
@pytest.mark.parametrize("children", [False, True])
def test_sources_are_chosen_and_left_out(
    three: SessionDB, by_activity: bool, children: bool
) -> None:
    def found(**chosen: Any) -> set[str]:
        rows = three.list_sessions_rich(
            order_by_last_active=by_activity, include_children=children, **chosen
        )
        return set(_ids(rows))

    assert found(source="cli") == {"a", "c"}
    assert found(source="sms") == set()
    assert found(exclude_sources=["cli"]) == {"b"}
    assert found(exclude_sources=["cli", "slack"]) == set()
    assert found(source="cli", exclude_sources=["slack"]) == {"a", "c"}


def test_rows_have_every_column_and_two_more(three: SessionDB) -> None:
    (row,) = three.list_sessions_rich(source="slack")
    session = three.get_session("b")
    assert session is not None
    assert row.keys() - session.keys() == {"last_active", "preview"}
    assert session.items() <= row.items()
    assert (row["preview"], row["last_active"]) == ("from b", LONG_AGO + 999)
    (recent,) = three.search_sessions("slack")
    assert recent.keys() - session.keys() == {"last_active"}


Pages = Callable[[SessionDB, int, int], list[str]]

EVERY_LIST: dict[str, Pages] = {
    "by start": lambda db, limit, offset: _ids(db.list_sessions_rich(limit=limit, offset=offset)),
    "by start, one source": lambda db, limit, offset: _ids(
        db.list_sessions_rich("cli", limit=limit, offset=offset)
    ),
    "by activity": lambda db, limit, offset: _ids(
        db.list_sessions_rich(limit=limit, offset=offset, order_by_last_active=True)
    ),
    "by activity, with children": lambda db, limit, offset: _ids(
        db.list_sessions_rich(
            limit=limit, offset=offset, order_by_last_active=True, include_children=True
        )
    ),
    "recent": lambda db, limit, offset: _ids(db.search_sessions(limit=limit, offset=offset)),
    "conversations": lambda db, limit, offset: [
        each.root_id for each in db.store.lists.conversations(limit=limit, offset=offset)
    ],
}
WITH_CHILDREN = ("by activity, with children", "recent")


@pytest.mark.parametrize("side_table", [True, False])
def test_odd_times_come_where_they_belong_and_no_times_last(
    db: SessionDB, path: Path, side_table: bool
) -> None:
    times = {
        "milliseconds": (LONG_AGO + 60) * 1e3,
        "text": "soon",
        "newest": LONG_AGO + 70,
        "microseconds": (LONG_AGO + 40) * 1e6,
        "bytes": b"later",
        "digits": str(LONG_AGO + 45).encode(),
        "sure": LONG_AGO + 50,
        "oldest": LONG_AGO + 10,
    }
    known = ["newest", "milliseconds", "sure", "digits", "microseconds", "oldest"]
    for name, stored in times.items():
        add(db, name, "hello")
        with db._db.write() as tx:
            tx.run("UPDATE sessions SET started_at = ? WHERE id = ?", (stored, name))
            tx.run("UPDATE messages SET timestamp = ? WHERE session_id = ?", (stored, name))
            if not side_table:
                tx.run("DROP TRIGGER IF EXISTS session_activity_say")
    with SessionDB(path, read_only=True) as reader:
        assert reader.store.capabilities().activity is side_table
        for name, page in EVERY_LIST.items():
            whole = page(reader, -1, 0)
            assert whole[:6] == known, name
            assert set(whole[6:]) == {"text", "bytes"}, name
            paged = [each for offset in range(0, 10, 2) for each in page(reader, 2, offset)]
            assert paged == whole, name
        lists = reader.store.lists
        assert lists.recent_ids()[:6] == known
        assert lists.recent_ids(limit=3) == known[:3]
        assert _ids(lists.as_dictionaries(limit=3)) == known[:3]
        assert list(lists.entries(View(), now=LONG_AGO))[:6] == known


@pytest.mark.parametrize("name", EVERY_LIST)
def test_limits_are_read_as_sqlite_reads_them(three: SessionDB, name: str) -> None:
    page: Callable[[SessionDB, Any, Any], list[str]] = EVERY_LIST[name]
    whole = page(three, 20, 0)
    assert len(whole) == (2 if "source" in name else 3)
    for limit, offset in ((-1, 0), (20, -1), (2**70, 0), ("20", "0"), (-1, -1)):
        assert page(three, limit, offset) == whole
    assert page(three, "1", "1") == whole[1:2]
    assert page(three, 2**70, 2**70) == []
    with pytest.raises(InvalidInput, match="limit 'many'"):
        page(three, "many", 0)


def test_a_session_without_messages_was_active_when_it_began(db: SessionDB) -> None:
    add(db, "a", at=LONG_AGO)
    (row,) = db.list_sessions_rich()
    assert (row["last_active"], row["preview"]) == (LONG_AGO, "")


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        ("  two\nlines\r\nhere ", "two lines  here"),
        ("日本語" * 30, "日本語" * 20 + "..."),
        ("👩‍💻" * 40, "👩‍💻" * 20 + "..."),
        ([{"type": "text", "text": "look\nhere"}, {"type": "image_url"}], "look here [image]"),
        ([{"type": "image_url", "image_url": {"url": "u" * 9000}}], "[image]"),
        ([{"type": "input_audio"}, {"type": "file", "name": "x"}], "[audio] [file]"),
        ([{"type": "text", "text": "z" * 900}], "z" * 60 + "..."),
        ([], ""),
        ({}, "{}"),
        ("", ""),
    ],
)
def test_previews_read_well(db: SessionDB, content: Any, preview: str) -> None:
    add(db, "a", content)
    assert db.list_sessions_rich()[0]["preview"] == preview
    assert db.store.lists.conversations()[0].preview == preview


def test_the_preview_is_the_first_thing_a_person_said(db: SessionDB) -> None:
    add(db, "a")
    db.append_message("a", "system", "rules", timestamp=LONG_AGO + 1)
    db.append_message("a", "user", None, timestamp=LONG_AGO + 2)
    db.append_message("a", "user", "second", timestamp=LONG_AGO + 9)
    db.append_message("a", "user", "first", timestamp=LONG_AGO + 5)
    assert db.list_sessions_rich()[0]["preview"] == "first"


def test_children_are_hidden_but_branches_are_not(db: SessionDB) -> None:
    add(db, "root", "hello")
    add(db, "agent", "work", parent="root", at=LONG_AGO + 1)
    add(db, "branch", "else", parent="root", edge=Edge.BRANCH, at=LONG_AGO + 2)
    for by_activity in (False, True):
        rows = db.list_sessions_rich(order_by_last_active=by_activity)
        assert set(_ids(rows)) == {"root", "branch"}
        rows = db.list_sessions_rich(order_by_last_active=by_activity, include_children=True)
        assert set(_ids(rows)) == {"root", "branch", "agent"}
    assert set(_ids(db.search_sessions())) == {"root", "branch", "agent"}


def test_a_chain_shows_as_its_tip(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    db.set_session_title("c", "the tip")
    db.update_token_counts("a", input_tokens=5)
    db.update_token_counts("c", input_tokens=50)
    (row,) = db.list_sessions_rich()
    assert (row["id"], row["_lineage_root_id"], row["title"]) == ("c", "a", "the tip")
    assert (row["end_reason"], row["preview"]) == ("user_exit", "said in c")
    assert (row["started_at"], row["input_tokens"]) == (LONG_AGO, 5)
    assert row["last_active"] == LONG_AGO + 201
    (plain,) = db.list_sessions_rich(project_compression_tips=False)
    assert plain["id"] == "a"
    assert "_lineage_root_id" not in plain
    assert len(db.list_sessions_rich(include_children=True)) == 3


@pytest.mark.parametrize("children", [False, True])
def test_a_chain_stands_where_its_newest_message_puts_it(db: SessionDB, children: bool) -> None:
    add_chain(db, ["a", "b"])
    add(db, "between", "x", at=LONG_AGO + 50)
    rows = db.list_sessions_rich(order_by_last_active=True, include_children=children)
    assert _ids(rows) == (["b", "a", "between"] if children else ["b", "between"])
    assert _ids(db.list_sessions_rich()) == ["between", "b"]


def test_conversations_add_up_their_segments(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    add(db, "branch", "x", "y", parent="c", edge=Edge.BRANCH, at=LONG_AGO + 1000)
    branch, chain = db.store.lists.conversations()
    assert (branch.root_id, branch.edge, branch.segments) == ("branch", Edge.BRANCH, 1)
    assert (chain.root_id, chain.tip.id, chain.segments) == ("a", "c", 3)
    assert (chain.message_count, chain.edge) == (3, Edge.ROOT)
    assert (chain.started_at, chain.last_active) == (LONG_AGO, LONG_AGO + 201)
    assert chain.preview == "said in a"
    assert db.store.lists.conversations(limit=1, offset=1) == [chain]
    assert db.store.lists.conversations(Filter(source="sms")) == []


@pytest.mark.sqlite("columns of PostgreSQL hold numbers only")
def test_a_count_that_is_no_number_is_none(db: SessionDB) -> None:
    add(db, "a", "hello")
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET message_count = '12 apples'")
    (found,) = db.store.lists.conversations()
    assert found.message_count == found.tip.message_count == 0


def test_reader_without_the_side_table_gives_the_same_lists(db: SessionDB, path: Path) -> None:
    add_chain(db, ["a", "b", "c"])
    add(db, "agent", "w", parent="b", at=LONG_AGO + 110, source="cron")
    add(db, "branch", [{"type": "image"}], parent="b", edge=Edge.BRANCH, at=LONG_AGO + 130)
    add(db, "silent", at=LONG_AGO + 500, source="sms")

    def lists(store: SessionDB) -> list[Any]:
        return [
            [
                store.list_sessions_rich(order_by_last_active=order, include_children=children)
                for order in (False, True)
                for children in (False, True)
            ],
            [store.search_sessions(source) for source in (None, "cron")],
            store.store.lists.conversations(),
            store.export_all(),
        ]

    fast = lists(db)
    with db._db.write() as tx:
        tx.run("DROP TRIGGER session_activity_say")
    with SessionDB(path, read_only=True) as reader:
        assert not reader.store.capabilities().activity
        assert lists(reader) == fast


@pytest.mark.parametrize("side_table", [True, False])
@pytest.mark.parametrize("compressed", [True, False])
def test_sessions_that_are_their_own_ancestors_are_listed(
    db: SessionDB, path: Path, side_table: bool, compressed: bool
) -> None:
    for name in ("alone", "first", "second", "free"):
        reason = "compression" if compressed else "user_exit"
        add(db, name, "hello", ended=LONG_AGO, reason=reason)
    with db._db.write() as tx:
        for name, parent in (("alone", "alone"), ("first", "second"), ("second", "first")):
            tx.run("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (parent, name))
        if not side_table:
            tx.run("DROP TRIGGER session_activity_say")
    with SessionDB(path, read_only=True) as reader:
        for list_name, page in EVERY_LIST.items():
            roots = {"alone", "second" if compressed and "by" in list_name else "first", "free"}
            every = {"alone", "first", "second", "free"}
            found = set(page(reader, 20, 0))
            assert found == (every if list_name in WITH_CHILDREN else roots), list_name
        assert set(reader.store.lists.entries(View(), now=LONG_AGO)) == {"alone", "first", "free"}


def test_sources_are_named_once(db: SessionDB) -> None:
    assert db.store.lists.sources() == []
    for number, source in enumerate(("telegram", "cli", "telegram")):
        db.create_session(f"s{number}", source)
    assert db.store.lists.sources() == ["cli", "telegram"]
