"""The rows of the long list, what a change would touch, and what looking at a screen costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import Grouping, ListRow, Status, View
from hermes_store.records.relation_to_parent import Edge
from hermes_store.sessions.in_use import IN_USE_SECONDS
from tests.sqlite_parts import connection
from tests.store import newer, plain_list
from tests.store.newer import Newer
from tests.store.plain_list import NOW, Member, PlainList, ids, row
from tests.support import LONG_AGO, Work, add, add_chain, raw

# -- rows --------------------------------------------------------------------------------------


def test_a_row_adds_up_its_chain(db: SessionDB) -> None:
    add(db, "above", "x")
    add_chain(db, ["a", "b", "c"], at=LONG_AGO + 10)
    db.append_message("c", "assistant", "more", timestamp=LONG_AGO + 900)
    db.store.sessions.rename("a", "the beginning")
    for name, parent in (("helper", "a"), ("other helper", "b")):
        add(db, name, "x", parent=parent, at=LONG_AGO + 11)
    add(db, "branch", "x", parent="c", edge=Edge.BRANCH, at=LONG_AGO + 500)
    found = row(db.store, "a")
    assert (found.id, found.tip_id, found.segments, found.relatives) == ("a", "c", 3, 3)
    assert (found.message_count, found.started_at) == (4, LONG_AGO + 10)
    assert (found.last_active, found.preview) == (LONG_AGO + 900, "said in a")
    assert (found.title, found.edge, found.foldable) == ("the beginning", Edge.ROOT, True)
    db.store.sessions.rename("c", "the end")
    assert row(db.store, "a").title == "the end"
    branch = row(db.store, "branch")
    assert (branch.edge, branch.segments, branch.relatives) == (Edge.BRANCH, 1, 0)
    assert not branch.foldable
    assert row(db.store, "helper").edge is Edge.AGENT


def test_a_silent_newest_segment_counts_from_its_start(db: SessionDB) -> None:
    add(db, "a", "x", ended=LONG_AGO + 9, reason="compression")
    add(db, "b", parent="a", at=LONG_AGO + 50)
    assert row(db.store, "a").last_active == LONG_AGO + 50
    assert row(db.store, "a", now=LONG_AGO + 51).status is Status.LIVE


@pytest.mark.parametrize(
    ("said", "ended", "reason", "after", "status"),
    [
        ("x", None, "", IN_USE_SECONDS - 1, Status.LIVE),
        ("x", None, "", IN_USE_SECONDS, Status.INTERRUPTED),
        ("x", 5, "user_exit", 6, Status.DONE),
        ("x", 5, "compression", 6, Status.DONE),
        ("x", 5, "interrupted", 6, Status.INTERRUPTED),
        ("x", 5, "agent_error", 6, Status.ERROR),
        ("x", 5, "crashed", 6, Status.ERROR),
        ("x", 5, "request failed", 6, Status.ERROR),
        (None, None, "", IN_USE_SECONDS - 2, Status.LIVE),
        (None, None, "", IN_USE_SECONDS, Status.EMPTY),
        (None, 5, "user_exit", 6, Status.EMPTY),
    ],
)
def test_how_a_conversation_stands(
    db: SessionDB, said: str | None, ended: int | None, reason: str, after: int, status: Status
) -> None:
    texts = () if said is None else (said,)
    add(db, "a", *texts, ended=None if ended is None else LONG_AGO + ended, reason=reason)
    last = LONG_AGO + len(texts)
    assert row(db.store, "a", now=last + after).status is status


def test_a_chain_stands_as_its_tip_does(db: SessionDB) -> None:
    add_chain(db, ["a", "b"], live=True)
    last = row(db.store, "a").last_active
    assert row(db.store, "a", now=last + 1).status is Status.LIVE
    assert row(db.store, "a", now=last + IN_USE_SECONDS).status is Status.INTERRUPTED
    db.end_session("b", "error")
    assert row(db.store, "a", now=last + 1).status is Status.ERROR


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ("  two\nlines ", "two lines"),
        ("日本語" * 30, "日本語" * 20 + "..."),
        ([{"type": "text", "text": "z" * 900}, {"type": "image_url"}], "z" * 60 + "..."),
        ([{"type": "image_url", "image_url": {"url": "u" * 9000}}], "[image]"),
        ("", ""),
    ],
)
def test_previews_read_well(db: SessionDB, content: Any, preview: str) -> None:
    add(db, "a", content, "second")
    assert row(db.store, "a").preview == preview


def test_a_preview_shows_nothing_that_a_newer_file_hides(path: Path) -> None:
    newer.make(path)
    program = Newer(path)
    program.session("a")
    program.message("a", "rewound", active=0)
    program.message("a", "unseen", display_kind="hidden")
    program.message("a", "shown", at=LONG_AGO + 5)
    program.close()
    with SessionDB(path) as db:
        assert row(db.store, "a").preview == "shown"


def test_rows_keep_the_order_and_leave_out_what_is_gone(db: SessionDB) -> None:
    for name in "abc":
        add(db, name, "x")
    wanted = ["c", "gone", "a", "", "b", "C", "a' OR 1"]
    assert [each.id for each in db.store.lists.rows(wanted, now=NOW)] == ["c", "a", "b"]
    assert [each.id for each in db.store.lists.rows(["b", "a", "b"], now=NOW)] == ["b", "a", "b"]
    db.delete_session("a")
    assert [each.id for each in db.store.lists.rows(wanted, now=NOW)] == ["c", "b"]
    assert db.store.lists.rows([], now=NOW) == []


@pytest.mark.parametrize(
    "title",
    ["\x1b[31mred\x07", "a\nb\r\tc", "\u202eevil", "x" * 5_000, "'; DROP TABLE", "", "👩‍💻"],
)
def test_titles_come_as_they_are_stored(db: SessionDB, title: str) -> None:
    add(db, "a", "x")
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET title = ?, model = ? WHERE id = 'a'", (title, title))
    found = row(db.store, "a")
    assert (found.title or "", found.model or "") == (title, title)


def test_broken_text_is_mended_not_refused(db: SessionDB, path: Path) -> None:
    add(db, "a", "x")
    with raw(path) as con:
        con.execute("UPDATE sessions SET title = CAST(x'ff41' AS TEXT) WHERE id = 'a'")
    assert row(db.store, "a").title == "\ufffdA"


def test_marks_are_part_of_a_row(db: SessionDB) -> None:
    add_chain(db, ["a", "b"])
    add(db, "c", "x")
    assert (row(db.store, "a").pinned, row(db.store, "a").archived, row(db.store, "a").tags) == (
        False,
        False,
        (),
    )
    db.store.marks.pin("b")
    db.store.marks.tag("a", "Work", "#home")
    db.store.marks.archive("c")
    marked, other = db.store.lists.rows(["a", "c"], now=NOW)
    assert (marked.pinned, marked.archived, marked.tags) == (True, False, ("home", "work"))
    assert (other.pinned, other.archived, other.tags) == (False, True, ())
    db.store.marks.unpin("a")
    assert not row(db.store, "a").pinned


def test_the_columns_of_a_newer_file_are_marks(path: Path) -> None:
    newer.make(path)
    program = Newer(path)
    program.session("a", pinned=1)
    program.session("b", archived=1)
    program.close()
    with SessionDB(path) as db:
        pinned, archived = db.store.lists.rows(["a", "b"], now=NOW)
        assert (pinned.pinned, pinned.archived) == (True, False)
        assert (archived.pinned, archived.archived) == (False, True)


# -- before a change ---------------------------------------------------------------------------


def test_a_weight_is_that_of_the_texts(db: SessionDB) -> None:
    add(db, "a", "hello", "日本", ended=LONG_AGO + 9)
    db.append_message("a", "assistant", None, tool_calls=[{"name": "x"}], timestamp=LONG_AGO + 3)
    add(db, "b", "four", ended=LONG_AGO + 9)
    weight = db.store.trash.weigh(["a", "b"], now=NOW)
    assert (weight.session_ids, weight.messages) == (("a", "b"), 4)
    assert weight.bytes == 5 + 6 + len('[{"name": "x"}]') + 4
    assert weight.in_use is None
    nothing = db.store.trash.weigh(["gone"], now=NOW)
    assert (nothing.messages, nothing.bytes, nothing.in_use) == (0, 0, None)


def test_a_weight_names_what_is_being_written_to(db: SessionDB) -> None:
    add(db, "done", "x", ended=LONG_AGO + 9)
    add(db, "busy", "x")
    weight = db.store.trash.weigh(["done", "busy"], now=LONG_AGO + 10)
    assert weight.in_use is not None
    assert "busy" in weight.in_use
    assert db.store.trash.weigh(["done", "busy"], now=LONG_AGO + IN_USE_SECONDS + 1).in_use is None


def test_advice_on_titles(db: SessionDB) -> None:
    add(db, "a", title="trip")
    add(db, "b", title="trip #2")
    add(db, "c")
    free = db.store.sessions.advise_title("c", "  a\nnew\x07 name ")
    assert (free.title, free.problem, free.suggestion) == ("a new name", None, None)
    own = db.store.sessions.advise_title("a", "trip")
    assert (own.title, own.problem, own.suggestion) == ("trip", None, None)
    taken = db.store.sessions.advise_title("c", " trip ")
    assert (taken.title, taken.suggestion) == ("trip", "trip #3")
    assert taken.problem is not None
    assert "session a" in taken.problem
    too_long = db.store.sessions.advise_title("c", "x" * 103)
    assert (too_long.title, too_long.suggestion) == (None, None)
    assert too_long.problem is not None
    assert "Shorten it by 3" in too_long.problem
    for empty in ("", "  \n", "\u200b"):
        advice = db.store.sessions.advise_title("a", empty)
        assert (advice.title, advice.problem, advice.suggestion) == (None, None, None)


@pytest.mark.parametrize("title", ["trip", "  spaced  out ", "x" * 100, "trip #2", "", "👩‍💻"])
def test_advice_is_what_renaming_does(db: SessionDB, title: str) -> None:
    add(db, "a", title="trip")
    add(db, "b")
    advice = db.store.sessions.advise_title("b", title)
    if advice.problem is not None:
        assert advice.suggestion is not None
        assert db.store.sessions.rename("b", advice.suggestion) == advice.suggestion
    else:
        assert db.store.sessions.rename("b", title) == advice.title


# -- work --------------------------------------------------------------------------------------

SMALL, LARGE, PAGE, SCREEN = 300, 3_000, 128, 50
DEFAULT = View(limit=PAGE)


def _many(number: int) -> list[Member]:
    """Return chains of two, agents and sessions of their own, 100 s apart."""
    return [
        Member(
            f"s{place:05}",
            "telegram" if place % 3 == 0 else "cli",
            f"s{place - 1:05}" if place % 5 in (1, 3) else None,
            LONG_AGO + place * 100,
            LONG_AGO + place * 100 + 50,
            "compression" if place % 5 == 0 else "user_exit",
            said=(LONG_AGO + place * 100 + 1, LONG_AGO + place * 100 + 2),
            count=2,
        )
        for place in range(number)
    ]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SessionDB, SessionDB]]:
    """A small store and one ten times its size."""
    folder = tmp_path_factory.mktemp("work")
    with SessionDB(folder / "small.db") as small, SessionDB(folder / "large.db") as large:
        for db, number in ((small, SMALL), (large, LARGE)):
            with db._db.write() as tx:
                plain_list.write(connection(tx), _many(number))
        yield small, large


def _page(db: SessionDB) -> list[str]:
    return ids(db.store, DEFAULT)


def _dated(db: SessionDB) -> list[str]:
    return ids(db.store, View(limit=PAGE, group=Grouping.DATE))


def _of_source(db: SessionDB) -> list[str]:
    return ids(db.store, View("telegram", limit=SCREEN))


def _screen(db: SessionDB) -> list[ListRow]:
    return db.store.lists.rows(ids(db.store, DEFAULT)[:SCREEN], now=NOW)


ACTIONS = (_page, _dated, _of_source, _screen)


@pytest.mark.parametrize("action", ACTIONS)
def test_ten_times_the_sessions_cost_the_same(
    stores: tuple[SessionDB, SessionDB], action: Callable[[SessionDB], list[Any]]
) -> None:
    small, large = (Work(store, action) for store in stores)
    assert len(small.answer) == len(large.answer) >= SCREEN
    assert large.steps <= small.steps * 1.2


@pytest.mark.parametrize("action", ACTIONS)
def test_a_list_walks_its_index_and_scans_no_table(
    stores: tuple[SessionDB, SessionDB], action: Callable[[SessionDB], list[Any]]
) -> None:
    listed, *others = Work(stores[1], action).plans()
    assert "idx_session_activity_list" in listed[0]
    assert "USE TEMP B-TREE FOR ORDER BY" not in listed
    for line in [*listed[1:], *(line for plan in others for line in plan)]:
        # What a recursion has found so far is a table of its own, as long as the chains.
        assert not line.startswith("SCAN") or "VIRTUAL TABLE" in line or line == "SCAN chain"


def test_the_whole_list_is_in_order_and_complete(stores: tuple[SessionDB, SessionDB]) -> None:
    found = ids(stores[1].store)
    assert found == PlainList(_many(LARGE)).entries(View())
    assert found == sorted(found, reverse=True)
