"""Many writers: one migrates, none waits long, nothing is lost or stored twice."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.postgres import migrations
from hermes_store.engines.postgres.watch import PostgresWatch
from hermes_store.errors import SessionNotFound, TitleTaken
from hermes_store.gateway import MessageSource, SessionRouter
from hermes_store.records.search import Request
from tests import postgres
from tests.store.gateway.conftest import live_sessions
from tests.support import add

WRITERS = 6
EACH = 30


def test_one_of_many_creates_the_schema(address: str) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        stores = list(pool.map(Store, [address] * WRITERS))
    with stores[0].snapshot() as tx:
        taken = [name for (name,) in tx.rows("SELECT name FROM migrations")]
    assert sorted(taken) == sorted(migrations.STEPS)
    for store in stores:
        store.close()


def _append(address: str, writer: int) -> None:
    with SessionDB(address) as db:
        for number in range(EACH):
            db.append_message(
                "shared" if number % 2 else f"own{writer}", "user", f"{writer}.{number}"
            )


def test_processes_that_write_at_once_lose_nothing(hub: SessionDB, address: str) -> None:
    hub.create_session("shared", "cli")
    for writer in range(WRITERS):
        hub.create_session(f"own{writer}", "cli")
    spawned = multiprocessing.get_context("spawn")
    processes = [spawned.Process(target=_append, args=(address, n)) for n in range(WRITERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    with hub.store.snapshot() as tx:
        said = sorted(content for (content,) in tx.rows("SELECT content FROM messages"))
        counted = tx.value("SELECT SUM(message_count) FROM sessions")
    assert said == sorted(f"{w}.{n}" for w in range(WRITERS) for n in range(EACH))
    assert counted == len(said)


def _route(address: str, home: str, number: int) -> list[str]:
    with Store(address) as store:
        router = SessionRouter(store, sessions_dir=Path(home) / str(number))
        sources = [
            MessageSource(platform="telegram", chat_id=str(chat), user_id="u") for chat in range(10)
        ]
        return [router.incoming(source).session_id for source in sources]


def test_two_routers_never_begin_two_sessions_for_one_chat(
    hub: SessionDB, address: str, tmp_path: Path
) -> None:
    spawned = multiprocessing.get_context("spawn")
    with spawned.Pool(3) as pool:
        found = pool.starmap(_route, [(address, str(tmp_path), n) for n in range(3)])
    assert found[0] == found[1] == found[2]
    assert sorted(live_sessions(hub)) == sorted(found[0])


def test_a_title_is_given_once(hub: SessionDB) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        hub.create_session(name, "cli")
    taken = []

    def rename(name: str) -> None:
        try:
            hub.store.sessions.rename(name, "the one")
        except TitleTaken:
            taken.append(name)

    threads = [threading.Thread(target=rename, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(names) - 1


def test_a_message_needs_a_session(hub: SessionDB) -> None:
    with pytest.raises(SessionNotFound):
        hub.store.messages.append("missing", {"role": "user", "content": "x"})
    hub.create_session("a", "cli")
    assert hub.append_message("a", "user", "still works")


def test_whoever_listens_is_told(hub: SessionDB, address: str) -> None:
    watch = PostgresWatch(address)
    assert not watch.changed()
    add(hub, "a", "hello")
    hub.store.search.prepare()
    told = threading.Event()
    for _ in range(600):
        if watch.changed():
            told.set()
            break
        told.wait(0.1)
    assert told.is_set()
    watch.close()
    watch.changed()
    watch.close()


def test_indexing_leaves_nothing_and_is_done_by_one(hub: SessionDB, address: str) -> None:
    with postgres.without_indexing():
        add(hub, "a", *(f"word{number} common" for number in range(30)))
    assert hub.store.search.prepare()
    with hub.store.snapshot() as tx:
        assert tx.value("SELECT COUNT(*) FROM todo") == 0
        assert tx.value("SELECT COUNT(*) FROM message_words") == 30
    with hub._db.write() as tx:
        tx.run("UPDATE messages SET content = 'changed entirely' WHERE content LIKE 'word7 %'")
    (hit,) = hub.store.search.run("entirely").hits
    assert hit.snippet.text.strip() == "changed entirely"
    hub.store.search.prepare()
    assert hub.store.search.run("entirely").hits and not hub.store.search.run('"word7"').hits


def test_words_of_what_was_deleted_for_good_are_not_listed(hub: SessionDB) -> None:
    add(hub, "kept", "plain words stay")
    add(hub, "gone", "passphrase correcthorsebattery")
    hub.store.search.prepare()
    hub.store.trash.delete_conversation("gone", force=True)
    purged = hub.store.trash.empty()
    assert "fragments may remain" in (purged.left or "")
    with hub.store.snapshot() as tx:
        listed = [word for (word,) in tx.rows("SELECT word FROM vocabulary")]
    assert "correcthorsebattery" not in listed and "plain" in listed
    assert hub.store.search.run("lai").hits and not hub.store.search.run("orrecthorse").hits


def test_deleting_and_indexing_at_once_leave_no_words_behind(hub: SessionDB) -> None:
    over = threading.Event()

    def index() -> None:
        while not over.is_set():
            hub.store.search.prepare()

    indexing = threading.Thread(target=index)
    indexing.start()
    try:
        for number in range(40):
            add(hub, f"s{number}", *(f"word{place}" for place in range(20)))
            hub.store.trash.delete_conversation(f"s{number}", force=True)
    finally:
        over.set()
        indexing.join()
    with hub.store.snapshot() as tx:
        assert tx.value("SELECT COUNT(*) FROM message_words") == 0
        assert tx.value("SELECT COUNT(*) FROM todo") == 0


def test_reading_inside_of_reading_takes_no_second_connection(
    hub: SessionDB, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        add(hub, name, "docker is down")
    hub.store.marks.pin("a")
    monkeypatch.setattr("hermes_store.engines.postgres.connections.MOST_CONNECTIONS", 2)
    with Store(address, read_only=True) as store:

        def look(_: int) -> int:
            found = store.search.stream(Request("docker", grouped=True))
            return sum(
                len(store.lists.rows([group.root_id for group in each.groups], now=0))
                for each in found
            )

        with ThreadPoolExecutor(8) as pool:
            assert all(number >= 3 for number in pool.map(look, range(40)))


def test_what_a_thread_changed_is_read_by_it(hub: SessionDB) -> None:
    add(hub, "a", "hello")
    with hub.store.snapshot() as tx:
        assert tx.value("SELECT title FROM sessions WHERE id = 'a'") is None
        hub.store.sessions.rename("a", "Greetings")
        assert hub.store.sessions.get("a").title == "Greetings"
        assert tx.value("SELECT title FROM sessions WHERE id = 'a'") is None
    assert hub.store.sessions.get("a").title == "Greetings"


def test_statements_stay_prepared(hub: SessionDB) -> None:
    add(hub, "a", "hello")
    for _ in range(8):
        assert hub.store.search.run("hello").hits
    with hub.store.snapshot() as tx:
        assert tx.value("SELECT COUNT(*) FROM pg_prepared_statements") > 3
