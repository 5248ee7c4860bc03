"""The states of copies: the tables, every crash point of every operation, and two at once.

A conversation is whole in the database or whole in the trash, whoever was killed and when.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.engines.sqlite import lock_waiting, sqlite_file
from hermes_store.errors import NotInTrash, StoreError
from hermes_store.records.relation_to_parent import Edge
from hermes_store.trash.copy_states import FATES, Fate, Original, fate, is_superseded
from hermes_store.trash.sidecar_tables import TRANSITIONS, Entry, State
from tests.store import processes
from tests.store.trash_views import everything, later
from tests.support import LONG_AGO, add, add_chain

# -- the tables ------------------------------------------------------------------------------------


def test_every_situation_has_a_fate() -> None:
    assert set(FATES) == set(product(State, Original))


@pytest.mark.parametrize("superseded", [True, False])
@pytest.mark.parametrize("in_work", [True, False])
@pytest.mark.parametrize(("state", "original"), list(FATES))
def test_the_last_copy_is_never_dropped(
    state: State, original: Original, superseded: bool, in_work: bool
) -> None:
    found = fate(state, original, superseded=superseded, in_work=in_work)
    if state is State.PURGING:
        assert found is Fate.PURGE  # the user has asked for it
    elif found is Fate.DROP:
        assert superseded or original in (Original.SAME, Original.CONTAINS)
    if original is Original.ABSENT and not superseded and state is not State.PURGING:
        assert found in (Fate.SHOW, Fate.SETTLE)  # what is nowhere else can be seen


_copies = st.builds(
    Entry,
    id=st.integers(1, 9),
    batch_id=st.just(1),
    session_id=st.just("s"),
    parent_id=st.none(),
    state=st.sampled_from(State),
    busy_until=st.sampled_from([0.0, 100.0]),
    messages=st.just(1),
    bytes=st.just(1),
    fingerprint=st.sampled_from("xy"),
)


@given(copies=st.lists(_copies, min_size=1, max_size=5, unique_by=lambda each: each.id))
def test_one_of_several_copies_always_stays(copies: list[Entry]) -> None:
    left = [each for each in copies if each.state is not State.PURGING]
    fates = [
        fate(each.state, Original.ABSENT, superseded=is_superseded(each, copies, 50.0),
             in_work=each.busy_until > 50.0)
        for each in left
    ]  # fmt: skip
    assert not left or {Fate.SHOW, Fate.SETTLE}.intersection(fates)


def test_nothing_leads_out_of_purging() -> None:
    assert all(State.PURGING not in before for before in TRANSITIONS.values())


# -- killed at every commit ------------------------------------------------------------------------

NAMES = ("long", "a", "b", "agent", "branch")

# Runs an operation on a copy of a folder for each commit it makes, and dies there.
DIE_EVERYWHERE = """
import os, shutil, signal, sys
from pathlib import Path
from hermes_store import SessionDB
from hermes_store.engines.sqlite import sqlite_file
from hermes_store.engines.sqlite.lock_waiting import retried

template, operation = Path(sys.argv[1]), sys.argv[2]
place = 0
while True:
    place += 1
    for when in ("before", "after"):
        folder = template.with_name(f"{place}-{when}")
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            left = place
            def die_at_commit(con, sql):
                global left
                left -= sql == "COMMIT"
                if left == 0 and when == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                retried(con, sql)
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            db = SessionDB(folder / "state.db")
            sqlite_file.retried = die_at_commit
            exec(operation)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(folder, status, flush=True)
        if status == 0:
            sys.exit()
        assert status == signal.SIGKILL, status
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A folder with a long session, a chain with a sub-agent, and a branch, all of them ended."""
    folder = tmp_path / "template"
    with SessionDB(folder / "state.db") as db:
        add(db, "long", *(f"word {number}" for number in range(30)), ended=LONG_AGO + 99)
        add_chain(db, ["a", "b"])
        add(db, "agent", "word", parent="b", at=LONG_AGO + 150, ended=LONG_AGO + 160)
        add(db, "branch", "word", parent="a", edge=Edge.BRANCH, at=LONG_AGO + 120,
            ended=LONG_AGO + 130)  # fmt: skip
    return folder


def _died(template: Path, operation: str) -> list[Path]:
    """Return the folders that the dead have left; the last one is of the operation that ended."""
    lines = processes.run(DIE_EVERYWHERE, template, operation).splitlines()
    return [Path(line.split()[0]) for line in lines]


def _whereabouts(db: SessionDB) -> tuple[set[str], list[str]]:
    in_file = {name for name in NAMES if db.get_session(name) is not None}
    in_trash = [
        each.session_id
        for batch in db.store.trash.list()
        for each in db.store.trash.sessions(batch.id)
    ]
    return in_file, in_trash


def _is_in_one_place(db: SessionDB) -> None:
    in_file, in_trash = _whereabouts(db)
    assert sorted([*in_file, *in_trash]) == sorted(NAMES)
    for together in ({"a", "b", "agent"},):  # a conversation is never torn
        assert together <= in_file or together <= set(in_trash)


def _restore_all(db: SessionDB) -> None:
    while db.store.trash.list():
        assert db.store.trash.restore().skipped == ()


DELETE = "db.store.trash.delete(['branch', 'long', 'a', 'b', 'agent'])"
RESTORE = "db.store.trash.restore()"
EMPTY = "db.store.trash.empty()"
FOR_GOOD = "db.store.trash.delete(['long', 'a', 'b', 'agent', 'branch'], permanently=True)"


def test_a_deletion_may_die_anywhere(template: Path) -> None:
    with SessionDB(template / "state.db") as db:
        before = everything(db)
    folders = _died(template, DELETE)
    assert len(folders) > 6
    for folder in folders:
        with SessionDB(folder / "state.db") as db:
            _is_in_one_place(db)
            assert later(db).list() == db.store.trash.list()
            _is_in_one_place(db)
            _restore_all(db)
            assert everything(db) == before
            assert db.store.trash.size() == 0


def test_a_restore_may_die_anywhere(template: Path) -> None:
    with SessionDB(template / "state.db") as db:
        before = everything(db)
        db.store.trash.delete(NAMES)
    folders = _died(template, RESTORE)
    assert len(folders) > 4
    for folder in folders:
        with SessionDB(folder / "state.db") as db:
            _is_in_one_place(db)
            _restore_all(db)
            assert everything(db) == before
            # Deleted once more, it is in the trash once.
            db.store.trash.delete(NAMES)
            _is_in_one_place(db)


def test_emptying_may_die_anywhere(template: Path) -> None:
    sessions = template / "sessions"
    sessions.mkdir()
    for name in NAMES:
        (sessions / f"{name}.jsonl").write_text("{}\n")
    with SessionDB(template / "state.db") as db:
        # The folder is recorded, so each copy of it is told where its own files are.
        db.store.trash.delete(["long", "branch"], sessions)
        db.store.marks.tag("a", "kept")
    for folder in _died(template, EMPTY):
        for name in ("long", "branch"):
            (sessions / f"{name}.jsonl").write_text("{}\n")
        with SessionDB(folder / "state.db") as db:
            in_file, in_trash = _whereabouts(db)
            assert in_file == {"a", "b", "agent"}
            assert set(in_trash) in ({"long", "branch"}, set())
            db.store.trash.empty()
            with pytest.raises(NotInTrash):
                db.store.trash.restore("long")
        assert {each.stem for each in sessions.iterdir()} >= {"a", "b", "agent"}


def test_files_of_an_interrupted_emptying_go_with_the_next_look(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = template / "sessions"
    sessions.mkdir()
    (sessions / "long.jsonl").write_text("{}\n")
    with SessionDB(template / "state.db") as db:
        db.store.trash.delete(["long"], sessions)

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("hermes_store.trash.purge.finish", die)
            with pytest.raises(KeyboardInterrupt):
                db.store.trash.empty()
        assert (sessions / "long.jsonl").exists()
        assert db.store.trash.list() == ()
        assert not (sessions / "long.jsonl").exists()


def test_deleting_for_good_may_die_anywhere(template: Path) -> None:
    for folder in _died(template, FOR_GOOD):
        with SessionDB(folder / "state.db") as db:
            in_file, in_trash = _whereabouts(db)
            assert in_trash == []
            assert {"a", "b", "agent"} <= in_file or not {"a", "b", "agent"} & in_file
            assert db.message_count("long") in (0, 30)


# -- two at once -----------------------------------------------------------------------------------


@contextmanager
def _stopped_at(place: int, work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run some work in a thread that waits after its numbered commit until the block ends."""
    reached, go_on = threading.Event(), threading.Event()
    left = place
    failures: list[BaseException] = []

    def commit(con: apsw.Connection, sql: str) -> None:
        nonlocal left
        lock_waiting.retried(con, sql)
        if threading.current_thread() is thread and sql == "COMMIT":
            left -= 1
            if left == 0:
                reached.set()
                assert go_on.wait(60)

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
        finally:
            reached.set()

    thread = threading.Thread(target=run)
    original = sqlite_file.retried  # type: ignore[attr-defined]
    sqlite_file.retried = commit  # type: ignore[attr-defined]
    try:
        thread.start()
        assert reached.wait(60)
        yield thread
    finally:
        go_on.set()
        thread.join(60)
        sqlite_file.retried = original  # type: ignore[attr-defined]
    assert all(isinstance(error, StoreError) for error in failures), failures


OTHERS: dict[str, Callable[[SessionDB], object]] = {
    "looks": lambda db: db.store.trash.list(),
    "looks much later": lambda db: later(db).list(),
    "restores": lambda db: db.store.trash.restore(),
    "restores much later": lambda db: later(db).restore(),
    "deletes": lambda db: db.store.trash.delete(NAMES),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("operation", ["delete", "restore"])
def test_somebody_comes_in_between(template: Path, operation: str, other: str) -> None:
    with SessionDB(template / "state.db") as db:
        before = everything(db)
        if operation == "restore":
            db.store.trash.delete(NAMES)
    work: Callable[[SessionDB], object] = {
        "delete": lambda db: db.store.trash.delete(NAMES),
        "restore": lambda db: db.store.trash.restore(),
    }[operation]
    for place in range(1, 7):
        folder = template.with_name(str(place))
        shutil.copytree(template, folder)
        path = folder / "state.db"
        with SessionDB(path) as first, SessionDB(path) as second:
            with _stopped_at(place, partial(work, first)) as thread:
                ended = not thread.is_alive()
                with suppress(StoreError):  # "is being deleted right now", or an empty trash
                    OTHERS[other](second)
            assert later(second).list() == second.store.trash.list()
            _is_in_one_place(second)
            _restore_all(second)
            assert everything(second) == before
        if ended:
            return


@pytest.mark.parametrize("operation", ["delete", "restore"])
def test_somebody_empties_the_trash_in_between(template: Path, operation: str) -> None:
    with SessionDB(template / "state.db") as db:
        if operation == "restore":
            db.store.trash.delete(NAMES)
    for place in range(1, 6):
        folder = template.with_name(str(place))
        shutil.copytree(template, folder)
        path = folder / "state.db"
        with SessionDB(path) as first, SessionDB(path) as second:
            work: Callable[[], object] = first.store.trash.restore
            if operation == "delete":
                work = partial(first.store.trash.delete, NAMES)
            with _stopped_at(place, work):
                in_file, in_trash = _whereabouts(second)
                purged = second.store.trash.empty()
            assert purged.sessions == len(in_trash)
            now, left = _whereabouts(second)
            assert not set(in_trash) & now  # what was purged does not come back
            assert set(left) <= in_file


# -- lineage ---------------------------------------------------------------------------------------


@st.composite
def _histories(draw: st.DrawFn) -> tuple[list[int | None], list[Edge], list[int], list[int]]:
    size = draw(st.integers(2, 6))
    parents: list[int | None] = [None]
    for place in range(1, size):
        parents.append(draw(st.one_of(st.none(), st.integers(0, place - 1))))
    edges = [draw(st.sampled_from([Edge.BRANCH, Edge.AGENT])) for _ in range(size)]
    return parents, edges, draw(st.permutations(range(size))), draw(st.permutations(range(size)))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=_histories(), again=st.booleans())
def test_lineage_survives_any_order(
    tmp_path_factory: pytest.TempPathFactory,
    history: tuple[list[int | None], list[Edge], list[int], list[int]],
    again: bool,
) -> None:
    parents, edges, gone, back = history
    with SessionDB(tmp_path_factory.mktemp("lineage") / "state.db", synchronous="NORMAL") as db:
        for place, parent in enumerate(parents):
            above = None if parent is None else f"s{parent}"
            add(db, f"s{place}", "word", parent=above, at=LONG_AGO + place,
                edge=None if above is None else edges[place], ended=LONG_AGO + 99)  # fmt: skip
        before = everything(db)
        for place in gone:
            db.store.trash.delete([f"s{place}"])
        for number, place in enumerate(back):
            db.store.trash.restore(f"s{place}")
            if again and number == 1:  # one of those that are back goes once more
                db.store.trash.delete([f"s{place}"])
        if again:
            db.store.trash.restore(f"s{back[1]}")
        assert _lineages(db, everything(db)) == _lineages(db, before)
        assert db.store.trash.list() == ()


def _lineages(db: SessionDB, found: dict[str, Any]) -> list[tuple[object, object, object]]:
    names = db.store.capabilities().session_columns
    rows = [dict(zip(names, row, strict=True)) for row in found["sessions"]]
    return [
        (row["id"], row["parent_session_id"], json.loads(row["model_config"] or "null"))
        for row in rows
    ]
