"""A server that goes away: nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import ChangeUncertain, ServerUnreachable
from tests import postgres

OPERATIONS = 200
STOPS = 4
"""How often the server ends at once, as if its machine had lost power."""


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    """A running server, which nobody else uses."""
    made = postgres.Server(Path(tempfile.mkdtemp(prefix="hermes-outage-")))
    try:
        yield made
    finally:
        made.remove()


class Told:
    """What was acknowledged, and what nobody can tell."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.titles: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.unsure: set[str] = set()

    def do(self, db: SessionDB, number: int) -> None:
        """Do one of many mixed operations, and note that it was done."""
        name, text = f"s{number // 20}", f"message {number}"
        match number % 20:
            case 0:
                db.create_session(name, "cli")
                self.said[name] = []
            case 5:
                db.store.marks.tag(name, f"tag{number}")
                self.tags[name] = f"tag{number}"
            case 10:
                db.store.sessions.rename(name, f"title {number}")
                self.titles[name] = f"title {number}"
            case 19 if number % 60 == 59:
                db.store.trash.delete_conversation(name, force=True)
                self.deleted.add(name)
            case _:
                db.append_message(name, "user", text)
                self.said[name].append(text)

    def check(self, db: SessionDB) -> None:
        """Compare what was acknowledged with what is there."""
        trashed = {name for each in db.store.trash.conversations() for name in each.session_ids}
        for name in self.said.keys() - self.unsure:
            gone = name in self.deleted
            assert (name in trashed, db.get_session(name) is None) == (gone, gone)
        for name in self.said.keys() - self.deleted - self.unsure:
            stored = [row["content"] for row in db.get_messages(name)]
            assert [text for text in stored if text not in self.unsure] == self.said[name]
            assert len(stored) == len(set(stored))
            if name in self.titles:
                assert db.get_session_title(name) == self.titles[name]
            if name in self.tags:
                assert self.tags[name] in db.store.marks.of([name])[name].tags


def test_nothing_acknowledged_is_lost_when_the_server_ends_at_once(
    server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, the server takes its time to recover.
    monkeypatch.setattr("hermes_store.engines.postgres.connections.PATIENCE", 120.0)
    told = Told()
    over = threading.Event()
    done = 0

    def disturb() -> None:
        for stop in range(1, STOPS + 1):
            while done < stop * OPERATIONS // (STOPS + 1) and not over.is_set():
                time.sleep(0.001)
            server.crash()
            server.start()

    with SessionDB(server.address) as db:
        trouble = threading.Thread(target=disturb)
        trouble.start()
        try:
            for number in range(OPERATIONS):
                try:
                    told.do(db, number)
                except ChangeUncertain:
                    told.unsure |= {f"message {number}", f"s{number // 20}"}
                except ServerUnreachable:
                    # What was under way was rolled back. Whoever needs it does it again.
                    if number % 20 == 0:
                        told.do(db, number)
                    elif number % 60 == 59:
                        told.unsure.add(f"s{number // 20}")  # the copy or the deletion
                done += 1
        finally:
            over.set()
            trouble.join()
        told.check(db)
        assert sum(map(len, told.said.values())) > OPERATIONS * 0.7
        assert len(told.tags) + len(told.titles) + len(told.deleted) > 15


def test_another_host_of_the_address_is_asked(server: postgres.Server) -> None:
    folder = server.address.rpartition("host=")[2]
    both = server.address.replace(f"host={folder}", f"host=/there/is/none,{folder}")
    with SessionDB(f"{both}&target_session_attrs=read-write") as db:
        db.create_session("a", "cli")
        server.crash()
        server.start()
        assert db.append_message("a", "user", "there again")


def test_a_reader_finds_the_server_again(server: postgres.Server) -> None:
    with SessionDB(server.address) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "hello")
        server.crash()
        server.start()
        assert [row["content"] for row in db.get_messages("a")] == ["hello"]
        assert db.append_message("a", "user", "again")


def test_a_server_that_stays_away_is_a_sentence(
    server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.engines.postgres.connections.PATIENCE", 0.2)
    with SessionDB(server.address) as db:
        db.create_session("a", "cli")
        server.crash()
        with pytest.raises(ServerUnreachable, match="cannot be reached"):
            db.get_messages("a")
        with pytest.raises(ServerUnreachable):
            db.store.sessions.rename("a", "x")
        server.start()
        assert db.session_count() == 1
