"""Push and pull: what the server has is what the files have, while they are being written."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB, Store
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.search import Request
from hermes_store.records.transfer import PushReport
from hermes_store.transfer import stored_forms
from tests import postgres
from tests.store import newer
from tests.support import add, add_chain

HOSTS = ("ada", "bob", "cleo")


@pytest.fixture
def hub() -> Iterator[Store]:
    """An empty store on a server."""
    address = postgres.fresh_address()
    try:
        with Store(address) as store:
            yield store
    finally:
        postgres.drop(address)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SessionDB]:
    """The file of one machine."""
    with SessionDB(tmp_path / "file.db") as db:
        yield db


def push(db: SessionDB, hub: Store, host: str = "ada") -> PushReport:
    return db.store.transfer.push(hub.database, host=host)


def said(store: Store, host: str | None = None) -> dict[str, list[Any]]:
    """Return the contents of all sessions by their id in the file."""
    found: dict[str, list[Any]] = {}
    with store.snapshot() as tx:
        on_server = tx.caps.has_session("host")
        name = "origin_id" if on_server else "id"
        where = "WHERE host = ?" if host else ""
        for hub_id, session_id in list(
            tx.rows(f"SELECT id, {name} FROM sessions {where}", (host,) if host else ())
        ):
            rows = tx.rows(
                "SELECT role, content, timestamp, tool_calls FROM messages "
                "WHERE session_id = ? ORDER BY id",
                (hub_id,),
            )
            found[session_id] = list(rows)
    return found


def test_everything_is_sent_once(file: SessionDB, hub: Store) -> None:
    add_chain(file, "abc")
    add(file, "d", "hello", "there", title="Greetings")
    file.append_message("d", "assistant", [{"type": "text", "text": "structured\0"}])
    first = push(file, hub)
    assert (first.added, first.changed, first.removed) == (4, 0, 0)
    assert said(hub) == said(file.store)
    assert push(file, hub) == PushReport(0, 0, 0, 0)
    assert hub.sessions.get("d").title == "Greetings"
    assert hub.lineage.tree("a") == file.store.lineage.tree("a")
    (row,) = [row for row in hub.lists.rows(["d"], now=0)]
    assert row.host == "ada"


def test_only_what_is_new_is_sent(file: SessionDB, hub: Store) -> None:
    add(file, "a", "one")
    add(file, "b", "two")
    push(file, hub)
    file.append_message("a", "user", "three")
    file.set_session_title("b", "Renamed")
    assert push(file, hub) == PushReport(0, 2, 1, 0)
    assert said(hub) == said(file.store)
    assert hub.sessions.get("b").title == "Renamed"


def test_what_was_taken_back_goes_and_what_was_deleted_stays(file: SessionDB, hub: Store) -> None:
    add(file, "a", "one", "two", "three")
    add(file, "b", "kept on the server")
    push(file, hub)
    file.store.messages.undo_exchange("a")
    file.delete_session("b")
    report = push(file, hub)
    assert report.removed == 1
    assert said(hub)["a"] == said(file.store)["a"]
    assert "b" in said(hub)


def test_what_came_from_the_server_is_not_sent_back(
    file: SessionDB, hub: Store, tmp_path: Path
) -> None:
    add_chain(file, "abc")
    add(file, "d", "hello", title="Greetings")
    push(file, hub, "ada")
    with SessionDB(tmp_path / "other.db") as other:
        add(other, "d", "another one of this id")
        add(other, "own", "of this machine")
        push(other, hub, "bob")
        everyone = sorted(said(hub))
        ids = [row[0] for row in _ids(hub)]
        other.store.transfer.pull(hub.database, ids)
        again = other.store.transfer.push(hub.database, host="bob")
        assert (again.added, again.changed, again.messages) == (0, 0, 0)
        assert sorted(said(hub)) == everyone and len(_ids(hub)) == len(ids)
        assert other.store.transfer.pull(hub.database, ids).added == 0
        # Whoever goes on with one has a conversation of its own.
        other.append_message("c", "user", "further here")
        assert other.store.transfer.push(hub.database, host="bob").added == 1
        assert [each.content for each in hub.messages.of("c@bob")][-1] == "further here"
        assert "further here" not in [each.content for each in hub.messages.of("c")]


def test_what_was_said_on_the_server_comes_back_and_is_not_doubled(
    file: SessionDB, hub: Store
) -> None:
    add(file, "a", "one", "two")
    push(file, hub)
    hub.messages.append("a", {"role": "user", "content": "on the server"})
    report = file.store.transfer.pull(hub.database, ["a"])
    assert (report.added, report.extended, report.messages) == (0, 1, 1)
    file.append_message("a", "user", "here again")
    push(file, hub)
    said_there = [each.content for each in hub.messages.of("a")]
    assert said_there == ["one", "two", "on the server", "here again"]
    assert push(file, hub) == PushReport(0, 0, 0, 0)


def test_what_was_taken_back_or_compacted_is_no_difference(hub: Store, tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    newer.make(path)
    writer = newer.Newer(path)
    writer.session("a", cwd="/srv")
    for text, more in (
        ("old", {"active": 0, "compacted": 1}),
        ("gone", {"active": 0}),
        ("now", {}),
    ):
        writer.message("a", text, **more)
    writer.close()
    with Store(path, read_only=True) as source:
        source.transfer.push(hub.database, host="ada")
    with SessionDB(tmp_path / "own.db") as own:
        report = own.store.transfer.pull(hub.database, ["a"])
        assert (report.added, report.skipped) == (1, ())
        assert [each.content for each in own.store.messages.of("a")] == ["old", "now"]
        assert push(own, hub, "bob").elsewhere == 1


def test_a_parent_that_was_deleted_on_the_server_is_no_hindrance(
    file: SessionDB, hub: Store
) -> None:
    add_chain(file, "ab")
    push(file, hub)
    hub.trash.delete_conversation("a", force=True)
    hub.trash.empty()
    file.append_message("b", "user", "goes on")
    assert push(file, hub).messages == 2
    assert hub.sessions.get("b").parent_session_id is None
    assert push(file, hub) == PushReport(0, 0, 0, 0)


def test_another_session_of_the_same_id_is_left_alone(
    file: SessionDB, hub: Store, tmp_path: Path
) -> None:
    add(file, "a", "hello")
    push(file, hub)
    with SessionDB(tmp_path / "other.db") as other:
        add(other, "a", "something else", "and more")
        report = other.store.transfer.pull(hub.database, ["a"])
        assert (report.added, len(report.skipped)) == (0, 1)
        said_here = [each.content for each in other.store.messages.of("a")]
        assert said_here == ["something else", "and more"]


def test_another_name_of_the_same_machine_sends_nothing_twice(file: SessionDB, hub: Store) -> None:
    add(file, "a", "hello")
    add(file, "b", "there")
    push(file, hub, "server")
    report = push(file, hub, "vm")
    assert (report.added, report.elsewhere) == (0, 2)
    assert push(file, hub, "vm") == PushReport(0, 0, 0, 0)
    assert len(_ids(hub)) == 2


def _ids(hub: Store) -> list[Any]:
    with hub.snapshot() as tx:
        return list(tx.rows("SELECT id FROM sessions ORDER BY id"))


def test_a_host_is_not_another_one_that_begins_alike(
    file: SessionDB, hub: Store, tmp_path: Path
) -> None:
    add(file, "a", "hello")
    push(file, hub, "k")
    with SessionDB(tmp_path / "other.db") as other:
        add(other, "a", "hello from elsewhere")
        push(other, hub, "k2")
    assert [hit.session_id for hit in hub.search.run("host:k").hits] == ["a"]
    assert [hit.session_id for hit in hub.search.run("host:2").hits] == ["a@k2"]


def test_two_machines_may_use_the_same_names(hub: Store, tmp_path: Path) -> None:
    for host in HOSTS[:2]:
        with closing(SessionDB(tmp_path / f"{host}.db")) as db:
            add(db, "same", f"from {host}", title="Same title")
            push(db, hub, host)
    assert hub.sessions.get("same").title == hub.sessions.get("same@bob").title == "Same title"
    (hit,) = hub.search.run("from host:bob").hits
    assert hit.session_id == "same@bob"
    unknown = hub.search.run("from host:nobody")
    assert not unknown.hits
    assert any("Known hosts: ada, bob" in each.message for each in unknown.diagnostics)


def test_titles_may_change_hands(file: SessionDB, hub: Store) -> None:
    for name in "abc":
        add(file, name, "x", title=f"Title {name}")
    push(file, hub)
    for name, title in (("a", None), ("b", "Title a"), ("a", "Title b")):
        file.store.sessions.rename(name, title)
    file.delete_session("c")
    add(file, "d", "y", title="Title c")
    push(file, hub)
    found = {name: hub.sessions.get(name).title for name in "abcd"}
    assert found == {"a": "Title b", "b": "Title a", "c": "Title c (c)", "d": "Title c"}
    assert push(file, hub) == PushReport(0, 0, 0, 0)


def test_a_number_that_no_server_takes_is_left_out(file: SessionDB, hub: Store) -> None:
    add(file, "a", "x")
    with file._db.write() as tx:
        tx.run("UPDATE sessions SET input_tokens = 1e300, output_tokens = 'many' WHERE id = 'a'")
    push(file, hub)
    assert hub.sessions.get("a").output_tokens == 0


def test_a_newer_file_is_sent_without_being_touched(hub: Store, tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    newer.make(path)
    writer = newer.Newer(path)
    writer.session("a", cwd="/srv")
    writer.message("a", "kept")
    writer.message("a", "rewound", active=0)
    writer.close()
    before = path.read_bytes()
    with Store(path, read_only=True) as source:
        source.transfer.push(hub.database, host="ada")
    assert path.read_bytes() == before
    assert [each.content for each in hub.messages.of("a")] == ["kept"]
    assert len(hub.messages.of("a", everything=True)) == 2


def test_what_a_newer_hermes_took_back_disappears(hub: Store, tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    newer.make(path)
    writer = newer.Newer(path)
    writer.session("a", cwd="/srv")
    for text in ("kept", "regretted"):
        writer.message("a", text)
    writer.close()
    with SessionDB(path) as source:
        push(source, hub)
        source.store.messages.undo_exchange("a")
        assert push(source, hub).changed == 1
    assert [each.content for each in hub.messages.of("a")] == ["kept"]
    assert not hub.search.run("regretted").hits


def test_what_was_edited_in_place_is_sent_if_asked_for(file: SessionDB, hub: Store) -> None:
    add(file, "a", "one", "two")
    add(file, "b", "other")
    push(file, hub)
    with file._db.write() as tx:
        tx.run("UPDATE messages SET content = 'edited' WHERE content = 'two'")
    assert push(file, hub) == PushReport(0, 0, 0, 0)
    report = file.store.transfer.push(hub.database, host="ada", full=True)
    assert report == PushReport(0, 1, 1, 0)
    assert said(hub) == said(file.store)


def test_two_pushes_of_one_file_at_once_send_everything_once(
    file: SessionDB, hub: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.transfer.push.GROUP_MESSAGES", 3)
    for number in range(20):
        add(file, f"s{number}", "one", "two")
    reports: list[PushReport] = []
    threads = [threading.Thread(target=lambda: reports.append(push(file, hub))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 3
    assert sum(each.added for each in reports) == 20
    assert sum(each.messages for each in reports) == 40
    assert said(hub) == said(file.store)


def test_what_is_stored_otherwise_is_not_kept(
    file: SessionDB, hub: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(file, "a", "one")
    original = stored_forms.checksum
    numbers = iter(range(1_000))
    monkeypatch.setattr(stored_forms, "checksum", lambda message: original(message) + next(numbers))
    with pytest.raises(DatabaseCorrupt, match="not what was sent"):
        push(file, hub)
    assert said(hub) == {}


def _write(path: str, host: str, number: int) -> None:
    with SessionDB(path) as db:
        for place in range(number):
            name = f"{host}{place // 15}"
            db.create_session(name, "cli")
            db.append_message(name, "user", f"{host} says {place}")


def test_a_hub_of_three_machines_that_write_is_the_union(hub: Store, tmp_path: Path) -> None:
    spawned = multiprocessing.get_context("spawn")
    paths = {host: tmp_path / f"{host}.db" for host in HOSTS}
    for path in paths.values():
        SessionDB(path).close()
    writers = [
        spawned.Process(target=_write, args=(str(path), host, 150)) for host, path in paths.items()
    ]
    for writer in writers:
        writer.start()
    over = threading.Event()
    failed: list[Exception] = []

    def send(host: str) -> None:
        try:
            with Store(hub.address) as server, Store(paths[host], read_only=True) as source:
                last = False
                while not last:
                    last = over.is_set()
                    source.transfer.push(server.database, host=host)
        except Exception as error:
            failed.append(error)

    senders = [threading.Thread(target=send, args=(host,)) for host in HOSTS]
    for sender in senders:
        sender.start()
    for writer in writers:
        writer.join()
    over.set()
    for sender in senders:
        sender.join()
    assert not failed
    for host, path in paths.items():
        with Store(path, read_only=True) as source:
            assert said(hub, host) == said(source)
    hits = hub.search.run(Request("says", limit=1_000)).hits
    assert len(hits) == 450 and len({hit.message_id for hit in hits}) == 450


def test_a_selection_comes_back(file: SessionDB, hub: Store, tmp_path: Path) -> None:
    add(file, "a", "hello", title="A")
    add(file, "b", "other")
    push(file, hub)
    with Store(tmp_path / "back.db") as back:
        report = back.transfer.pull(hub.database, ["a"])
        assert (report.sessions, report.added, report.messages) == (1, 1, 1)
        assert said(back) == {"a": said(file.store)["a"]}
        assert back.transfer.pull(hub.database, ["a"]).added == 0
        assert back.transfer.pull(hub.database, []).sessions == 0


_VALUES = st.none() | st.integers() | st.floats() | st.text() | st.binary(max_size=20)


@given(st.lists(_VALUES, min_size=len(stored_forms.MESSAGE), max_size=len(stored_forms.MESSAGE)))
def test_any_value_has_a_form_and_the_form_has_itself(values: list[Any]) -> None:
    formed = stored_forms.formed(stored_forms.MESSAGE, values)
    again = stored_forms.formed(stored_forms.MESSAGE, list(formed.values()))
    assert again == formed
    assert 0 <= stored_forms.checksum(formed) < 2**62
