"""The long list: which conversations stand in it, in which order, under which headings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB, Store
from hermes_store.browse import activity_order
from hermes_store.browse import order as browsing
from hermes_store.browse import rows as list_rows
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.records.listing import Grouping, Heading, Hidden, ListRow, Sort, View
from hermes_store.records.relation_to_parent import Edge
from tests.sqlite_parts import connection, in_sqlite
from tests.store import newer, plain_list
from tests.store.newer import Newer
from tests.store.plain_list import NOW, STEP, Member, PlainList, ids, row
from tests.store.search.layouts import make_inline
from tests.support import LONG_AGO, add, add_chain, raw, schema_of

ALL = frozenset(Hidden)


def _without_side_table(tx: SqliteTransaction) -> SqliteTransaction:
    return SqliteTransaction(tx.connection, replace(tx.caps, activity=False))


# -- any family: the side table, the computed list and the plain list agree ---------------------


class Undo(Exception):
    """Ends a trial so that everything it wrote is rolled back."""


@contextmanager
def trial(
    store: Store, family: list[Member], *, newer: bool = False
) -> Iterator[SqliteTransaction]:
    """Give a transaction in which only this family exists; nothing of it stays."""
    try:
        with store.database.write() as tx:
            tx.run("PRAGMA defer_foreign_keys = ON")
            plain_list.write(connection(tx), family, newer=newer)
            yield in_sqlite(tx)
            raise Undo
    except Undo:
        pass


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("list") / "state.db", synchronous="NORMAL") as store:
        assert store.capabilities().activity
        yield store


@pytest.fixture(scope="module")
def shared_newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("newer") / "state.db"
    newer.make(path)
    with (
        Store(path, synchronous="NORMAL") as store,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert not store.capabilities().activity
        # Look for the first rows even of the smallest list.
        patch.setattr(activity_order, "FEW", 0)
        patch.setattr(activity_order, "SPARE", 0)
        yield store


def check(tx: SqliteTransaction, plain: PlainList, view: View) -> None:
    """Compare one view of a file with the list that was worked out plainly."""
    entries = list(browsing.entries(tx, view, archived=plain.archived, now=NOW))
    assert entries == plain.entries(view)
    hidden = browsing.hidden_counts(tx, view, archived=plain.archived)
    assert hidden == plain.hidden_counts(view)
    whole = replace(view, group=Grouping.NONE, limit=None)
    number = browsing.number_of(tx, view, archived=plain.archived)
    assert number == len(plain.entries(whole))
    every = list(browsing.entries(tx, replace(view, limit=None), archived=plain.archived, now=NOW))
    listed = [entry for entry in every if isinstance(entry, str)]
    starts = [each for each in plain.starts() if plain.is_in(view, each)]
    assert len(listed) + sum(hidden.values()) == len(starts)
    timeless = view.group is Grouping.DATE and view.sort not in (Sort.ACTIVITY, Sort.STARTED)
    assert sum(entry.count for entry in every if isinstance(entry, Heading)) == (
        0 if view.group is Grouping.NONE or timeless else len(listed)
    )


def check_rows(tx: SqliteTransaction, plain: PlainList) -> list[ListRow]:
    """Compare the rows of everything that can be listed."""
    starts = [each.id for each in plain.starts()]
    rows = list_rows.rows(tx, starts, NOW)
    assert [each.id for each in rows] == starts
    for each in rows:
        start = plain.by_id[each.id]
        assert (each.edge.value, each.segments) == (
            plain.edges[each.id],
            len(plain.chains[each.id]),
        )
        assert (each.last_active, each.message_count) == (plain.last(start), plain.total(start))
        assert each.relatives == plain.relatives(start)
        assert (each.cost, each.tokens) == (plain.spent(start), plain.tokens(start))
    return rows


drawn = given(
    family=plain_list.families(),
    views=st.lists(plain_list.views, min_size=3, max_size=3),
    archived=st.frozensets(st.sampled_from(plain_list.IDS), max_size=2),
)
# Seldom drawn: ids of which one begins the other, at the same moment; titles that differ in the
# case of a letter beyond ASCII; a sub-agent that a list of its source shows; a silent job.
seldom = [
    example(
        family=[Member("a", said=(NOW,), count=1), Member("ab", said=(NOW,), count=1)],
        views=[View(sort=sort) for sort in Sort],
        archived=frozenset(),
    ),
    example(
        family=[Member("a", title="Éa", said=(NOW,)), Member("b", title="éb", said=(NOW,))],
        views=[View(sort=Sort.TITLE)],
        archived=frozenset(),
    ),
    example(
        family=[Member("b"), Member("a", "tool", "b", said=(NOW,)), Member("c", "cron")],
        views=[View("tool"), View("cron"), View()],
        archived=frozenset(),
    ),
    example(
        family=[Member("a", parent="a", said=(NOW,))],
        views=[View(shown=ALL)],
        archived=frozenset(),
    ),
]


def with_examples(test: Callable[..., None]) -> Callable[..., None]:
    for each in seldom:
        test = each(test)
    quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    return quick(drawn(test))


@with_examples
def test_both_ways_to_a_list_agree_with_the_plain_one(
    shared: Store, family: list[Member], views: list[View], archived: frozenset[str]
) -> None:
    family = [replace(each, filed=None) for each in family]
    plain = PlainList(family, archived)
    with trial(shared, family) as tx:
        for view in (*views, View(), View(group=Grouping.DATE)):
            check(tx, plain, view)
            check(_without_side_table(tx), plain, view)
            check(tx, PlainList(family), view)
        assert check_rows(tx, plain) == check_rows(_without_side_table(tx), plain)


@with_examples
def test_a_list_of_a_newer_file_agrees_with_the_plain_one(
    shared_newer: Store, family: list[Member], views: list[View], archived: frozenset[str]
) -> None:
    plain = PlainList(family, archived, newer=True)
    with trial(shared_newer, family, newer=True) as tx:
        for view in (*views, View()):
            check(tx, plain, view)
        check_rows(tx, plain)


FAMILY = [
    Member("one", "cli", None, NOW - 99, NOW - 90, "compression", said=(NOW - 95,), count=1),
    Member("two", parent="one", ended=NOW - 70, reason="compression", started=NOW - 90, count=2),
    Member("three", parent="two", started=NOW - 70, said=(NOW - 5,), count=4, title="Tip"),
    Member("helper", parent="two", started=NOW - 80, said=(NOW - 78,)),
    Member("branch", "cli", "one", NOW - 60, config={"_branched_from": ""}, said=(NOW - 50,)),
    Member("job", "cron", started=NOW - 40, said=(NOW - 3,)),
    Member("tool", "tool", started=NOW - 30, said=(NOW - 2,)),
    Member("silent", started=NOW - 1),
    Member("lost", parent="gone", started=NOW - 3 * STEP, said=(NOW - 2 * STEP,), model="opus"),
    Member("circle 1", parent="circle 2", started=NOW, ended=NOW - 9, reason="compression"),
    Member("circle 2", parent="circle 1", started=NOW, ended=NOW - 9, reason="compression"),
]  # fmt: skip


def _answers(store: Store) -> list[Any]:
    found: list[Any] = []
    for sort in Sort:
        for group in Grouping:
            for shown in (frozenset[Hidden](), ALL):
                view = View(sort=sort, group=group, shown=shown)
                found += [list(store.lists.entries(view, now=NOW)), store.lists.hidden_counts(view)]
    return [*found, store.lists.rows([each.id for each in FAMILY], now=NOW)]


def test_an_untouched_file_of_another_program_has_the_same_list(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.db", tmp_path / "ours.db"
    for path in (theirs, ours):
        make_inline(path)
        with raw(path) as con:
            plain_list.write(con, FAMILY)
    before = schema_of(theirs)
    with Store(theirs, read_only=True) as reader, Store(ours) as writer:
        assert not reader.capabilities().activity
        assert writer.capabilities().activity
        assert _answers(reader) == _answers(writer)
        assert ids(reader) == ["one", "branch", "lost"]
    assert schema_of(theirs) == before


def test_a_limit_gives_the_beginning_of_the_list(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_inline(path)
    with raw(path) as con:
        plain_list.write(con, [Member(f"s{n}", started=NOW - n, said=(NOW - n,)) for n in range(9)])
    with Store(path, read_only=True) as reader:
        assert ids(reader, View(limit=3)) == ["s0", "s1", "s2"] == ids(reader)[:3]
        assert ids(reader, View(limit=0)) == ids(reader, View(limit=-1)) == []


# -- order -------------------------------------------------------------------------------------


def test_every_order_begins_with_what_it_is_named_for(db: SessionDB, path: Path) -> None:
    add(db, "quiet", "x", at=LONG_AGO + 50, title="banana")
    add(db, "long", "x", "y", "z", at=LONG_AGO + 10, title="Cherry")
    add(db, "late", at=LONG_AGO, title="apple")
    db.append_message("late", "user", "x", timestamp=LONG_AGO + 99)
    add(db, "nameless", "x", "y", at=LONG_AGO + 60)
    with raw(path) as con:
        con.execute("UPDATE sessions SET estimated_cost_usd = 1, output_tokens = 7")
        con.execute("UPDATE sessions SET actual_cost_usd = 0.5 WHERE id = 'late'")
        con.execute("UPDATE sessions SET actual_cost_usd = 9 WHERE id = 'quiet'")
        con.execute("UPDATE sessions SET input_tokens = 5 WHERE id = 'long'")
    orders = {
        Sort.ACTIVITY: ["late", "nameless", "quiet", "long"],
        Sort.STARTED: ["nameless", "quiet", "long", "late"],
        Sort.MESSAGES: ["long", "nameless", "late", "quiet"],
        Sort.TITLE: ["late", "quiet", "long", "nameless"],
        Sort.COST: ["quiet", "nameless", "long", "late"],
        Sort.TOKENS: ["long", "late", "nameless", "quiet"],
    }
    for sort, expected in orders.items():
        assert ids(db.store, View(sort=sort)) == expected
        assert ids(db.store, View(sort=sort, limit=2)) == expected[:2]
        assert ids(db.store, View(sort=sort, limit=0)) == []


def test_a_cost_that_is_no_number_is_none(db: SessionDB, path: Path) -> None:
    for name, cost in (("dear", "12 apples"), ("cheap", "0.5"), ("none", b"\xff"), ("huge", 1e999)):
        add(db, name, "x")
        with raw(path) as con:
            con.execute("UPDATE sessions SET estimated_cost_usd = ? WHERE id = ?", (cost, name))
    view = View(sort=Sort.COST)
    assert ids(db.store, view)[0] == "cheap"
    assert [row(db.store, each).cost for each in ids(db.store, view)] == [0.5, 0, 0, 0]


def test_a_file_without_costs_is_sorted_by_activity(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    newer.make(path)
    with raw(path) as con:
        plain_list.write(con, FAMILY, newer=True)
        for column in ("actual_cost_usd", "estimated_cost_usd", "input_tokens", "output_tokens"):
            con.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    with Store(path, read_only=True) as store:
        by_activity = ids(store)
        assert ids(store, View(sort=Sort.COST)) == ids(store, View(sort=Sort.TOKENS)) == by_activity
        found = store.lists.rows(by_activity, now=NOW)
        assert {(each.cost, each.tokens) for each in found} == {(0.0, 0)}


def test_titles_are_in_the_order_that_is_seen(db: SessionDB) -> None:
    """A row has the title of its newest continuation, or the first one if that has none."""
    add(db, "renamed", "x", at=LONG_AGO, ended=LONG_AGO + 1, reason="compression", title="Apple")
    add(db, "its tip", "x", at=LONG_AGO + 2, parent="renamed", title="Zebra")
    add(db, "nameless tip", "x", at=LONG_AGO, ended=LONG_AGO + 1, reason="compression", title="Elk")
    add(db, "its own tip", "x", at=LONG_AGO + 2, parent="nameless tip")
    add(db, "plain", "x", at=LONG_AGO, title="Moose")
    order = ids(db.store, View(sort=Sort.TITLE))
    assert order == ["nameless tip", "plain", "renamed"]
    rows = db.store.lists.rows(order, now=NOW)
    assert [row.title for row in rows] == ["Elk", "Moose", "Zebra"]


@pytest.mark.parametrize("sort", Sort)
def test_of_equals_the_greater_id_comes_first(db: SessionDB, sort: Sort) -> None:
    for name in ("b", "ab", "c", "a"):
        add(db, name, "x")
    assert ids(db.store, View(sort=sort)) == ["c", "b", "ab", "a"]


def test_a_chain_is_one_entry_where_its_newest_segment_puts_it(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    add(db, "between", "x", at=LONG_AGO + 150)
    add(db, "after", "x", at=LONG_AGO + 300)
    add(db, "branch", "x", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 120)
    assert ids(db.store) == ["after", "a", "between", "branch"]
    assert ids(db.store, View(sort=Sort.MESSAGES))[0] == "a"
    db.append_message("c", "user", "more", timestamp=LONG_AGO + 400)
    assert ids(db.store)[0] == "a"


# -- what is hidden ----------------------------------------------------------------------------

KINDS = {
    Hidden.AGENT: ["tool", "own helper", "helper"],
    Hidden.CRON: ["job"],
    Hidden.ARCHIVED: ["filed"],
    Hidden.EMPTY: ["silent"],
    Hidden.ONESHOT: ["once"],
    Hidden.KANBAN: ["card"],
}


@pytest.fixture
def mixed(db: SessionDB) -> SessionDB:
    """One of everything that is hidden, and two that are not."""
    add(db, "root", "x", at=LONG_AGO)
    add(db, "helper", "x", parent="root", at=LONG_AGO + 1)
    add(db, "own helper", "x", source="subagent", at=LONG_AGO + 2)
    add(db, "tool", "x", source="tool", at=LONG_AGO + 3)
    add(db, "job", "x", source="cron", at=LONG_AGO + 4)
    add(db, "filed", "x", at=LONG_AGO + 5)
    add(db, "silent", at=LONG_AGO + 6)
    add(db, "once", "x", source="oneshot", at=LONG_AGO + 6.2)
    add(db, "card", "x", source="kanban", at=LONG_AGO + 6.4)
    add(db, "far", "x", source="telegram", at=LONG_AGO + 7)
    db.store.marks.archive("filed")
    return db


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_hidden_and_shown_when_asked_for(mixed: SessionDB, kind: Hidden) -> None:
    counts = {each: len(names) for each, names in KINDS.items()}
    assert ids(mixed.store) == ["far", "root"]
    assert mixed.store.lists.hidden_counts(View()) == counts
    view = View(shown=frozenset({kind}))
    assert ids(mixed.store, view) == ["far", *KINDS[kind], "root"]
    assert mixed.store.lists.hidden_counts(view) == {
        k: n for k, n in counts.items() if k is not kind
    }


def test_all_of_it_can_be_shown(mixed: SessionDB) -> None:
    assert len(ids(mixed.store, View(shown=ALL))) == mixed.session_count()
    assert mixed.store.lists.hidden_counts(View(shown=ALL)) == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cli", ["root"]),
        ("telegram", ["far"]),
        ("cron", ["job"]),
        ("tool", ["tool"]),
        ("subagent", ["own helper"]),
        ("oneshot", ["once"]),
        ("sms", []),
    ],
)
def test_a_source_is_chosen_even_one_that_is_hidden(
    mixed: SessionDB, source: str, expected: list[str]
) -> None:
    assert ids(mixed.store, View(source)) == expected
    mixed.store.marks.unarchive("filed")
    assert set(ids(mixed.store, View(source))) - {"filed"} == set(expected)


def test_what_is_no_longer_archived_is_back(mixed: SessionDB) -> None:
    mixed.store.marks.unarchive("filed")
    assert ids(mixed.store) == ["far", "filed", "root"]
    assert Hidden.ARCHIVED not in mixed.store.lists.hidden_counts(View())


def test_archiving_a_segment_hides_the_conversation(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    db.store.marks.archive("c")
    assert ids(db.store) == []
    assert db.store.lists.hidden_counts(View()) == {Hidden.ARCHIVED: 1}
    assert row(db.store, "a").archived


def test_columns_and_marks_both_hide_in_a_newer_file(path: Path) -> None:
    newer.make(path)
    program = Newer(path)
    for name, more in {"plain": {}, "filed": {"archived": 1}, "unseen": {"hidden": 1}}.items():
        program.session(name, **more)
        program.message(name, "x")
    program.close()
    with SessionDB(path) as db:
        assert ids(db.store) == ["plain"]
        assert db.store.lists.hidden_counts(View()) == {Hidden.ARCHIVED: 1, Hidden.HIDDEN: 1}
        assert set(ids(db.store, View(shown=ALL))) == {"plain", "filed", "unseen"}
        assert row(db.store, "filed").archived
        db.store.marks.archive("plain")
        assert ids(db.store) == []


def test_a_mark_beside_an_untouched_file_hides(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "a", "x")
        add(db, "b", "x")
        db.store.marks.archive("a")
    with raw(path) as con:
        con.execute("DROP TRIGGER session_activity_say")
    with SessionDB(path, read_only=True) as reader:
        assert not reader.store.capabilities().activity
        assert ids(reader.store) == ["b"]
        assert reader.store.lists.hidden_counts(View()) == {Hidden.ARCHIVED: 1}


# -- headings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("foreign", [False, True])
def test_pinned_conversations_come_first(path: Path, foreign: bool) -> None:
    with SessionDB(path) as db:
        for place in range(6):
            add(db, f"s{place}", "x", at=LONG_AGO + place)
        for pinned in ("s1", "s3"):
            db.store.marks.pin(pinned)
        db.store.marks.archive("s3")
    if foreign:
        with raw(path) as con:
            con.execute("DROP TRIGGER session_activity_say")
    with Store(path, read_only=foreign) as store:
        assert store.capabilities().activity is not foreign
        assert ids(store) == ["s1", "s5", "s4", "s2", "s0"]
        assert ids(store, View(limit=3)) == ["s1", "s5", "s4"]
        assert ids(store, View(shown=ALL)) == ["s3", "s1", "s5", "s4", "s2", "s0"]
        every = list(store.lists.entries(View(group=Grouping.DATE), now=LONG_AGO + 9))
        assert every[:4] == [Heading("Pinned", 1), "s1", Heading("Today", 4), "s5"]
