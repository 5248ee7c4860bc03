"""Files are for their owner, logs quote nobody, and only the endpoint is contacted."""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from bench.sample_sessions import create
from hermes_store.config.settings import Config
from hermes_store.engines.sqlite import lock_waiting
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.gateway import MessageSource, SessionRouter
from hermes_store.store import Store
from hermes_store.upkeep.repair import repair
from hermes_tui.chat.provider import Provider
from hermes_tui.crash_log import write_crash_log
from hermes_tui.demo.model_server import DemoServer, Exchange
from hermes_tui.store_access import Access
from tests import everything
from tests.chat.misbehaving_servers import Talk, TroubleServer, endpoint_at, refuses
from tests.support import raw

WORD = "quokkasnark"
"""Stands in every message, title, tag and question."""


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what could lead elsewhere: keys and proxies of a person, and other agents."""
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_api_key")) or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HERMES_API_KEY", "test")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield
    sys.setswitchinterval(0.005)


def use_everything(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DemoServer:
    """Use every part once, with a server that answers; return the server."""
    folder.mkdir(mode=0o700)
    with DemoServer(delay=0) as server:
        path = everything.begin(home, WORD, server)
        everything.use_verbs(WORD, folder, monkeypatch)
        everything.use_screens(path, WORD, server)
        everything.use_gateway(path, WORD)
        everything.crash(home, WORD)
    return server


# -- modes -------------------------------------------------------------------------------------


@contextmanager
def umask(value: int) -> Iterator[None]:
    """Work with another umask for a while."""
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(*folders: Path) -> dict[str, str]:
    """Return what others could look at, with its mode."""
    found = {}
    for folder in folders:
        for each in (folder, *folder.rglob("*")):
            mode = stat.S_IMODE(each.lstat().st_mode)
            wanted = 0o700 if each.is_dir() else 0o600
            if mode != wanted and each.name != "config.yaml":
                found[str(each)] = oct(mode)
    return found


@pytest.mark.parametrize("mask", [0o000, 0o077], ids=oct)
def test_every_file_is_for_its_owner_alone(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    folder = tmp_path / "named"
    with umask(mask):
        use_everything(home, folder, monkeypatch)
        with Store(home / "state.db") as store:
            store.search.prepare()
            # With a writer at work there are the log and the shared memory too.
            store.sessions.start("20260103_120000_cccccccc", "cli")
            names = {each.name for each in home.iterdir()}
            assert open_to_others(home, folder) == {}
    assert {"state.db", "state.db-wal", "state.db-shm", "sessions", "logs"} <= names
    assert {"state.db.companion", "state.db.words"} <= names
    assert {each.suffix for each in folder.iterdir()} == {".jsonl", ".html", ".md"}
    assert (home / "sessions" / "sessions.json").exists()


def _damage_sidecar(path: Path) -> None:
    sidecar = path_for(path)
    with raw(sidecar) as con:
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(sidecar.read_bytes())
    content[100:] = (WORD.encode() * len(content))[: len(content) - 100]
    sidecar.write_bytes(content)


def test_files_that_are_made_in_trouble_are_for_their_owner_alone(home: Path) -> None:
    with umask(0):
        path = home / "state.db"
        create(path, 5, now=1_790_000_000.0)  # as the demo does
        with Store(path) as store:
            store.saved_searches.save("a", "b")
            store.trash.delete([store.lists.recent_ids(None)[0]])
        _damage_sidecar(path)
        with Store(path) as store:
            store.trash.list()
            store.saved_searches.save("a", "b")
        assert list(home.glob("*.broken-*"))
        with raw(path) as con:
            con.execute("DELETE FROM messages_fts_data WHERE id > 10")
        assert repair(path).steps
        assert list(home.glob("*.damaged-*"))
        source = MessageSource(platform="telegram", chat_id="1")
        (home / "sessions").mkdir(mode=0o700)
        (home / "sessions" / "sessions.json").write_text("{", encoding="utf-8")
        (home / "sessions" / "sessions.json").chmod(0o600)
        with Store(path) as store:
            SessionRouter(store).incoming(source, "x")
        assert list((home / "sessions").glob("*.damaged-*"))
        assert open_to_others(home) == {}


def test_new_folders_and_their_parents_are_for_their_owner_alone(
    home: Path, tmp_path: Path
) -> None:
    with umask(0):
        with Store(tmp_path / "state.db") as store:
            folder = home / "deep" / "down"
            router = SessionRouter(store, sessions_dir=folder / "sessions")
            source = MessageSource(platform="telegram", chat_id="1")
            router.save(router.incoming(source), "user", "hello")
        assert write_crash_log(ValueError("x"), home / "other" / "home") is not None
    assert open_to_others(home) == {}


def test_an_export_replaces_a_file_that_others_could_read(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "old.jsonl"
    with umask(0):
        target.write_text("old", encoding="utf-8")
        create(home / "state.db", 5, now=1_790_000_000.0)
        with Store(home / "state.db") as store:
            store.transfer.export_file(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


# -- logs --------------------------------------------------------------------------------------


class Records(logging.Handler):
    """Keeps every record as the fullest formatter would write it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter("%(name)s %(threadName)s %(message)s").format(record)
        self.lines.append(f"{text} {record.args!r}")


@pytest.fixture
def records() -> Iterator[Records]:
    """Everything that anybody logs, at the lowest level."""
    root, handler = logging.getLogger(), Records()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


def quoting(records: Records) -> list[str]:
    """Return the lines that quote what people wrote."""
    return [line for line in records.lines if WORD in line.lower()]


def test_logs_do_not_quote_what_people_wrote(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    use_everything(home, tmp_path / "named", monkeypatch)
    assert records.lines, "nothing was logged, so nothing was tested"
    assert quoting(records) == []
    logs = [each.read_text(encoding="utf-8") for each in (home / "logs").iterdir()]
    assert logs and not any(WORD in text for text in logs)


def answers_with_the_word(_: TroubleServer, exchange: Exchange) -> None:
    """Send the word where an answer should be."""
    exchange.raw(f"{WORD}\r\n\r\n".encode())
    exchange._handler.close_connection = True


def test_logs_do_not_quote_an_endpoint_that_echoes(
    home: Path, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    with TroubleServer(refuses(400, f"cannot answer {WORD}")) as server:
        path = everything.begin(home, WORD, server)
        everything.use_screens(path, WORD, server)
    with TroubleServer(answers_with_the_word, times=2) as server:
        everything.use_screens(path, WORD, server)
    # The first answer works, the request for a title does not.
    with DemoServer(delay=0) as server:
        monkeypatch.setattr(Provider, "complete", _fail)
        everything.use_screens(path, WORD, server)
    assert any("No title" in line for line in records.lines)
    assert quoting(records) == []


def _fail(*_: object, **__: object) -> str:
    raise RuntimeError(WORD)


def test_logs_do_not_quote_what_a_locked_or_damaged_database_fails_at(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.001)
    with DemoServer(delay=0) as server:
        path = everything.begin(home, WORD, server)
        with raw(path) as con:
            con.execute("BEGIN IMMEDIATE")
            everything.use_screens(path, WORD, server)
            for line in (
                ["rename", everything.SESSION, WORD],
                ["delete", everything.SESSION, "-y"],
            ):
                assert everything.code(["sessions", *line]) == 1
        _damage_sidecar(path)
        with raw(path) as con:
            con.execute("DROP TABLE messages")
        everything.use_screens(path, WORD, server)
        for line in everything.verbs(WORD, tmp_path):
            everything.code(["sessions", *line])
    assert quoting(records) == []


def test_a_bug_in_a_job_is_logged_without_its_message(path: Path, records: Records) -> None:
    def fail() -> None:
        try:
            raise KeyError(WORD)
        except KeyError as error:
            raise apsw.SQLError(f'near "{WORD}": syntax error') from error

    access = Access(path, Config())
    try:
        fail()
    except apsw.SQLError as error:
        access._mistake(error)
    access.close()
    [line] = [line for line in records.lines if "A job failed" in line]
    assert "SQLError" in line and "KeyError" in line and "in fail" in line
    assert quoting(records) == []


# -- network -----------------------------------------------------------------------------------


class Targets:
    """What this process connects to or looks up, as Python itself reports it."""

    def __init__(self) -> None:
        self.active = False
        self.found: set[tuple[str, object]] = set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            self.found.add(("to", details[1]))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            self.found.add(("name", details[0]))
        elif event == "subprocess.Popen":
            self.found.add(("program", str(details[0])))


@pytest.fixture(scope="module")
def hook() -> Targets:
    """An audit hook, of which a process can never be rid."""
    return Targets()


@pytest.fixture
def targets(hook: Targets) -> Iterator[Targets]:
    hook.found = set()
    hook.active = True
    yield hook
    hook.active = False


def test_nothing_is_contacted_but_the_endpoint(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: Targets
) -> None:
    # A developer's settings for Textual and the client must not open other ways out.
    monkeypatch.setenv("TEXTUAL", "devtools,debug")
    server = use_everything(home, tmp_path / "named", monkeypatch)
    host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
    reached = {target for kind, target in targets.found if kind == "to"}
    # `hermes chat --demo` contacts nothing: its model is a script in this process.
    assert reached == {(host, int(port))}
    assert {target for kind, target in targets.found if kind == "name"} <= {host}
    assert {target for kind, target in targets.found if kind == "program"} == set()


def test_without_the_chat_nothing_is_contacted(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: Targets
) -> None:
    with DemoServer(delay=0) as server:
        path = everything.begin(home, WORD, server)
    (home / "config.yaml").unlink()
    for line in everything.verbs(WORD, tmp_path):
        everything.code(["sessions", *line])
    everything.use_gateway(path, WORD)
    assert targets.found == set()


def test_a_server_cannot_send_requests_on_to_another_host(targets: Targets) -> None:
    def moves(_: TroubleServer, exchange: Exchange) -> None:
        exchange.refuse(307, "moved", None, {"Location": "http://127.0.0.2:9/v1/chat/completions"})

    with TroubleServer(moves) as server:
        talk = Talk(server, retries=0)
        with pytest.raises(Exception, match=r"127\.0\.0\.2"):
            talk.ask("hello")
    assert not any("127.0.0.2" in str(target) for target in targets.found)
    assert endpoint_at(server.base_url).place.startswith("127.0.0.1")
