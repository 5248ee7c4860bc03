"""The first rows of a list by activity are the same, whether or not the rest was computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB, Store
from hermes_store.browse import activity_order, order, recent_sessions
from hermes_store.browse.activity_order import ORIGIN
from hermes_store.engines.base import Transaction
from hermes_store.records.listing import Filter, Grouping, Hidden, View
from hermes_store.records.stored_values import text
from hermes_store.sessions.lineage import over_chain
from tests.sqlite_parts import connection
from tests.store import newer
from tests.store.newer import Newer
from tests.store.search.layouts import make_inline
from tests.support import LONG_AGO, raw


@pytest.fixture(scope="module", autouse=True)
def eager() -> Iterator[None]:
    """Look for the first rows even of the smallest list, and at nothing to spare."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(activity_order, "FEW", 0)
        patch.setattr(activity_order, "SPARE", 0)
        yield


# -- any file ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A session to write; times are anything that a column can hold."""

    parent: int | None = None
    """The number of its parent; one that is not drawn is missing."""
    started: Any = 0
    ended: Any = None
    reason: str | None = None
    config: str | None = None
    source: str = "cli"
    filed: str | None = None
    said: tuple[Any, ...] = ()


seconds = st.integers(0, 9).map(lambda n: LONG_AGO + n)
odd = st.sampled_from(
    ["soon", b"later", None, float("inf"), -1e300, str(LONG_AGO + 5).encode(),
     (LONG_AGO + 3) * 1e3, (LONG_AGO + 7) * 1e6]
)  # fmt: skip


def drawn_with(times: st.SearchStrategy[Any]) -> st.SearchStrategy[Drawn]:
    return st.builds(
        Drawn,
        parent=st.none() | st.integers(0, 14),
        started=times,
        ended=st.none() | times,
        reason=st.sampled_from(["compression"] * 4 + ["branched", None]),
        config=st.sampled_from([None] * 4 + ['{"_branched_from": "a"}', '{"_delegate_from": "a"}']),
        source=st.sampled_from(["cli", "cli", "telegram", "cron", "tool", "api-server"]),
        filed=st.sampled_from([None, None, None, "archived", "hidden"]),
        said=st.lists(times, max_size=3).map(tuple),
    )


families = st.lists(drawn_with(seconds), max_size=14) | st.lists(
    drawn_with(seconds | seconds | seconds | odd), max_size=14
)


def name(number: int) -> str:
    return f"s{number:02}"


def write(tx: Transaction, family: Sequence[Drawn], shuffled: Sequence[int]) -> None:
    """Write sessions, and their messages in any order: ids say nothing about times."""
    for number, each in enumerate(family):
        parent = None if each.parent is None else name(each.parent)
        tx.run(
            "INSERT INTO sessions(id, source, parent_session_id, started_at, ended_at, end_reason, "
            "model_config, archived, hidden) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (name(number), each.source, parent, each.started, each.ended, each.reason,
             each.config, each.filed == "archived", each.filed == "hidden"),
        )  # fmt: skip
    said = [(number, at) for number, each in enumerate(family) for at in each.said]
    places = sorted(range(len(said)), key=lambda place: shuffled[place % len(shuffled)])
    for number, at in (said[place] for place in places):
        tx.run(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, 'user', 'x', ?)",
            (name(number), at),
        )


class Undo(Exception):
    """Ends a trial so that everything it wrote is rolled back."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A file of a newer Hermes in which any time may be missing."""
    path = tmp_path_factory.mktemp("newer") / "state.db"
    newer.make(path)
    with raw(path) as con:
        con.execute("PRAGMA writable_schema = ON")
        con.execute("UPDATE sqlite_master SET sql = replace(sql, 'REAL NOT NULL', 'REAL')")
    with Store(path, synchronous="NORMAL") as store:
        assert not store.capabilities().activity
        yield store


_CHAIN = over_chain("MAX(k.last_active)", "JOIN session_activity k ON k.session_id = c.id")


def whole(tx: Transaction, last: str, where: str) -> list[str]:
    """Return all ids of a list, computed from the whole relation."""
    rows = tx.rows(
        f"SELECT s.id, {last} FROM {ORIGIN} WHERE {where} "
        f"ORDER BY {last} DESC, s.started_at DESC, s.id DESC"
    )
    return [each for each, _ in activity_order.in_time(rows)]


Page = Callable[[Transaction, int, int], list[dict[str, Any]]]


def _chosen(*where: str, last: str = "a.chain_active", **chosen: Any) -> tuple[str, str, Page]:
    """Return what a list is sorted by, its condition in SQL, and how to get a page of it."""

    def page(tx: Transaction, limit: int, offset: int) -> list[dict[str, Any]]:
        rows = recent_sessions.rich(
            tx, Filter(**chosen), limit=limit, offset=offset, by_activity=True, project_tips=False
        )
        assert rows == [recent_sessions.rich_row(tx, row["id"]) for row in rows]
        return rows

    return last, " AND ".join(where), page


def _recent(source: str | None, where: str) -> tuple[str, str, Page]:
    def page(tx: Transaction, limit: int, offset: int) -> list[dict[str, Any]]:
        return recent_sessions.recent(tx, source, limit=limit, offset=offset)

    return "a.last_active", where, page


_SHOWN = "COALESCE(s.archived, 0) = 0 AND COALESCE(s.hidden, 0) = 0"
_LISTED = f"a.listed = TRUE AND {_SHOWN}"
LISTS: dict[str, tuple[str, str, Page]] = {
    "conversations": _chosen(_LISTED),
    "one source": _chosen(_LISTED, "a.source = 'cli'", source="cli"),
    "two spellings": _chosen(
        _LISTED, "a.source IN ('api-server', 'api_server')", source="api_server"
    ),
    "not two sources": _chosen(
        "a.listed = TRUE",
        "a.source NOT IN ('cli', 'cron')",
        exclude_sources=("cli", "cron"),
        include_archived=True,
    ),
    "not some sessions": _chosen(
        _LISTED, "s.id NOT IN ('s00', 's03')", archived_ids=("s00", "s03")
    ),
    "children": _chosen(_SHOWN, last=_CHAIN, include_children=True),
    "children of one source": _chosen(
        _SHOWN, "a.source = 'telegram'", last=_CHAIN, source="telegram", include_children=True
    ),
    "recent": _recent(None, "1"),
    "recent of one source": _recent("cli", "a.source = 'cli'"),
}
VIEWS = [
    View(),
    View(shown=frozenset(Hidden)),
    View("cli"),
    View("tool"),
    View("cron", shown=frozenset({Hidden.ARCHIVED})),
]


def check(tx: Transaction, lists: Sequence[str], limit: int) -> None:
    for each in lists:
        last, where, page = LISTS[each]
        found = whole(tx, last, where)
        for offset in range(0, len(found) + limit, limit):
            rows = page(tx, limit, offset)
            assert [row["id"] for row in rows] == found[offset : offset + limit]
    for view in VIEWS:
        every = list(order.entries(tx, view, archived=["s01"], now=LONG_AGO))
        for grouping in (Grouping.NONE, Grouping.SOURCE):
            part = replace(view, limit=limit, group=grouping)
            first = order.entries(tx, part, archived=["s01"], now=LONG_AGO)
            assert {e for e in first if isinstance(e, str)} == {*every[:limit]}
        first = order.entries(tx, replace(view, limit=limit), archived=["s01"], now=LONG_AGO)
        assert list(first) == every[:limit]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    family=families,
    shuffled=st.lists(st.integers(0, 99), min_size=1, max_size=30),
    lists=st.lists(st.sampled_from([*LISTS]), min_size=2, max_size=2, unique=True),
    limit=st.integers(1, 4),
)
# A continuation makes the first of its chain recent, which itself is older than everything else.
@example(
    family=[
        Drawn(None, LONG_AGO, LONG_AGO + 1, "compression"),
        Drawn(0, LONG_AGO + 1, LONG_AGO + 2, "compression"),
        *[Drawn(None, LONG_AGO + n, said=(LONG_AGO + n,)) for n in range(3, 8)],
        Drawn(1, LONG_AGO + 2, said=(LONG_AGO + 9,)),
    ],
    shuffled=[0],
    lists=[*LISTS],
    limit=1,
)
# Two and three that are each other's ancestors.
@example(
    family=[
        *[Drawn(n, LONG_AGO, LONG_AGO, "compression", said=(LONG_AGO + n,)) for n in (1, 0)],
        *[Drawn(n, LONG_AGO, LONG_AGO, "compression", said=(LONG_AGO + n,)) for n in (3, 4, 2)],
    ],
    shuffled=[0],
    lists=[*LISTS],
    limit=1,
)
# As recent as the last row of a page, only less by what sorts sessions of the same time.
@example(
    family=[Drawn(None, LONG_AGO + n % 2, said=(LONG_AGO + 5,)) for n in range(6)],
    shuffled=[0],
    lists=[*LISTS],
    limit=3,
)
# What started last has an odd time, which SQL takes for a later one than it is.
@example(
    family=[
        Drawn(None, LONG_AGO + 8, said=("soon",)),
        Drawn(None, LONG_AGO + 7),
        Drawn(None, LONG_AGO, said=(LONG_AGO + 9,)),
    ],
    shuffled=[0],
    lists=[*LISTS],
    limit=1,
)
def test_page_after_page_is_that_of_the_whole_list(
    shared: Store, family: list[Drawn], shuffled: list[int], lists: list[str], limit: int
) -> None:
    try:
        with shared.database.write() as tx:
            tx.run("PRAGMA defer_foreign_keys = ON")
            write(tx, family, shuffled)
            check(tx, lists, limit)
            raise Undo
    except Undo:
        pass


# -- files in which ids say the wrong thing --------------------------------------------------------


@pytest.fixture
def program(path: Path) -> Iterator[Newer]:
    newer.make(path)
    writer = Newer(path)
    yield writer
    writer.close()


def _ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def _lists(db: SessionDB, limit: int) -> list[list[str]]:
    """Return what every list by activity begins with."""
    lists = db.store.lists
    return [
        _ids(db.list_sessions_rich(limit=limit, order_by_last_active=True)),
        _ids(db.search_sessions(limit=limit)),
        [each.root_id for each in lists.conversations(limit=limit)],
        _ids(lists.as_dictionaries(limit=limit)),
        lists.recent_ids(limit=limit),
        [e for e in lists.entries(View(limit=limit), now=LONG_AGO) if isinstance(e, str)],
    ]


@pytest.mark.parametrize("imported", [range(20), range(19, -1, -1)])
def test_imported_old_messages_are_not_recent(program: Newer, path: Path, imported: range) -> None:
    """They have the highest ids of all, in either order of their times."""
    for number in range(20):
        program.session(f"new {number:02}", at=LONG_AGO + 1000 + number)
        program.message(f"new {number:02}", "x", at=LONG_AGO + 1000 + number)
    for number in imported:
        program.session(f"old {number:02}", at=LONG_AGO + number)
        program.message(f"old {number:02}", "x", at=LONG_AGO + number)
    with SessionDB(path, read_only=True) as db:
        for found in _lists(db, 5):
            assert found == [f"new {number}" for number in range(19, 14, -1)]


def test_the_oldest_message_can_be_the_most_recent(program: Newer, path: Path) -> None:
    """A clock was wrong, or files were joined: neither ids nor starts tell."""
    program.session("odd", at=LONG_AGO)
    program.message("odd", "x", at=LONG_AGO + 999)
    for number in range(20):
        program.session(f"s{number}", at=LONG_AGO + number)
        program.message(f"s{number}", "x", at=LONG_AGO + number)
    with SessionDB(path, read_only=True) as db:
        for found in _lists(db, 3):
            assert found == ["odd", "s19", "s18"]


def test_sessions_that_cannot_be_looked_up_are_listed(program: Newer, path: Path) -> None:
    for number in range(6):
        program.session(f"s{number}", at=LONG_AGO + number)
    with raw(path) as con:
        con.execute("UPDATE sessions SET id = CAST(x'ff41' AS TEXT) WHERE id = 's4'")
        con.execute("UPDATE sessions SET id = x'ff42' WHERE id = 's3'")
        con.execute("UPDATE sessions SET id = NULL WHERE id = 's5'")
    with SessionDB(path, read_only=True) as db:
        for page in (0, 1, 2):
            (row,) = db.list_sessions_rich(limit=1, offset=page, order_by_last_active=True)
            assert text(row["id"]) == ("\ufffdA", "\ufffdB", "s2")[page]


# -- which way is taken ----------------------------------------------------------------------------


def _is_computed_completely(db: SessionDB) -> bool:
    listing = activity_order.Listing("a.last_active", ("s.id",), "1", (), None)
    with db._db.read() as tx:
        return activity_order._with_first(tx, listing, 2) == (ORIGIN, [])


def _fill(con: Any, number: int) -> None:
    for place in range(number):
        con.execute(
            "INSERT INTO sessions(id, source, started_at) VALUES (?, 'cli', ?)",
            (f"s{place:03}", LONG_AGO + place),
        )


@pytest.mark.parametrize(
    "index",
    [
        "",
        "CREATE INDEX other ON messages(session_id)",
        "CREATE INDEX other ON messages(timestamp, session_id)",
        "CREATE INDEX other ON messages(session_id, timestamp) WHERE role = 'user'",
    ],
)
def test_without_the_index_the_whole_list_is_computed(path: Path, index: str) -> None:
    make_inline(path)
    with raw(path) as con:
        _fill(con, 9)
    with SessionDB(path, read_only=True) as db:
        assert not _is_computed_completely(db)
        with_index = _lists(db, 4)
    with raw(path) as con:
        con.execute("DROP INDEX idx_messages_session")
        con.execute(index)
    with SessionDB(path, read_only=True) as db:
        assert _is_computed_completely(db)
        assert _lists(db, 4) == with_index


def test_an_index_of_another_name_is_as_good(path: Path) -> None:
    make_inline(path)
    with raw(path) as con:
        _fill(con, 9)
        con.execute("DROP INDEX idx_messages_session")
        con.execute("CREATE INDEX other ON messages(session_id, timestamp DESC, role)")
    with SessionDB(path, read_only=True) as db:
        assert not _is_computed_completely(db)


def test_many_odd_times_are_no_hindrance(path: Path) -> None:
    make_inline(path)
    with raw(path) as con:
        _fill(con, 9)
        con.execute("UPDATE sessions SET started_at = started_at * 1000 WHERE id > 's002'")
    with SessionDB(path, read_only=True) as db:
        assert not _is_computed_completely(db)
        for found in (each for each in _lists(db, 4) if each):  # those without messages are hidden
            assert found == ["s008", "s007", "s006", "s005"]


def test_a_short_list_is_computed_completely(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_order, "FEW", 10)
    make_inline(path)
    with raw(path) as con:
        _fill(con, 12)
    with SessionDB(path, read_only=True) as db:
        assert _is_computed_completely(db)
        with raw(path) as con:
            con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('x', 'cli', 1)")
        assert not _is_computed_completely(db)


@pytest.mark.sqlite("looks at the plan of SQLite")
def test_our_own_files_have_the_order_stored(db: SessionDB) -> None:
    with db._db.write() as tx:
        _fill(connection(tx), 9)
    assert _is_computed_completely(db)
