"""A server that goes away: nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import ChangeUncertain, ServerUnreachable
from tests import postgres

OPERATIONS = 200
STOPS = 4
"""How often the server ends at once, as if its machine had lost power."""


class Server:
    """A server of its own, which can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._server = postgres.started(folder)
        self.address = self._server.get_uri()

    def crash(self) -> None:
        """End the server at once, without letting it finish anything."""
        subprocess.run(
            [
                self._server.bin_path / "pg_ctl",
                "-D",
                self._server.pgdata,
                "-m",
                "immediate",
                "stop",
            ],
            user=self._server.system_user,
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        """Start it again; it recovers from its log."""
        with postgres.quietly():
            self._server.ensure_postgres_running()

    def remove(self) -> None:
        """Stop it and delete its files."""
        with suppress(OSError, subprocess.SubprocessError):
            self._server.cleanup()


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server, which nobody else uses."""
    made = Server(Path(tempfile.mkdtemp(prefix="hermes-outage-")))
    try:
        yield made
    finally:
        made.remove()


def test_nothing_acknowledged_is_lost_when_the_server_ends_at_once(server: Server) -> None:
    said: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    unsure: set[str] = set()
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
                name = f"s{number // 20}"
                text = f"message {number}"
                try:
                    if number % 20 == 0:
                        db.create_session(name, "cli")
                        said[name] = []
                    elif number % 20 == 10:
                        db.store.sessions.rename(name, f"title {number}")
                        titles[name] = f"title {number}"
                    else:
                        db.append_message(name, "user", text)
                        said[name].append(text)
                except ChangeUncertain:
                    unsure.add(text)
                except ServerUnreachable:
                    # It says that nothing was changed, so it is done again, as a person would.
                    if number % 20 == 0:
                        db.create_session(name, "cli")
                        said[name] = []
                done += 1
        finally:
            over.set()
            trouble.join()
        for name, texts in said.items():
            stored = [row["content"] for row in db.get_messages(name)]
            assert [text for text in stored if text not in unsure] == texts
            assert len(stored) == len(set(stored))
            if name in titles:
                assert db.get_session_title(name) == titles[name]
        assert sum(map(len, said.values())) > OPERATIONS * 0.8
        assert db.session_count() == len(said)


def test_a_reader_finds_the_server_again(server: Server) -> None:
    with SessionDB(server.address) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "hello")
        server.crash()
        server.start()
        assert [row["content"] for row in db.get_messages("a")] == ["hello"]
        assert db.append_message("a", "user", "again")


def test_a_server_that_stays_away_is_a_sentence(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.engines.postgres.connections.PATIENCE", 0.2)
    monkeypatch.setattr(
        "hermes_store.engines.postgres.connections.Connections.take.__defaults__", (0.2,)
    )
    with SessionDB(server.address) as db:
        db.create_session("a", "cli")
        server.crash()
        with pytest.raises(ServerUnreachable, match="cannot be reached"):
            db.get_messages("a")
        with pytest.raises(ServerUnreachable):
            db.store.sessions.rename("a", "x")
        server.start()
        assert db.session_count() == 1
