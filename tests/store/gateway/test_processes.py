"""Real processes: several routers on one home, and kill -9 between any two file operations."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.gateway import MessageSource, SessionRouter, Transcripts, build
from hermes_store.gateway.transcript_repair import Difference, compare_all
from tests.store import processes
from tests.store.gateway.conftest import NOON, live_sessions

ROUTERS = 3
KEYS = 25

ROUTE = f"""
import json, random, sys
from hermes_store import SessionDB
from hermes_store.gateway import MessageSource, SessionRouter
now = {NOON}
name = sys.argv[2]
def note(session, reason):
    print("call", session.id, flush=True)
with SessionDB(sys.argv[1], synchronous="NORMAL") as db:
    router = SessionRouter(db.store, on_before_reset=note, clock=lambda: now)
    sources = [MessageSource(platform="telegram", chat_id=str(n)) for n in range({KEYS})]
    print("ready", flush=True)
    for phase in range(3):
        sys.stdin.readline()
        random.Random(name + str(phase)).shuffle(sources)
        for source in sources:
            routed = router.incoming(source, "hello")
            router.save(routed, "user", f"{{phase}} {{name}}")
            print("went", phase, source.chat_id, routed.session_id, flush=True)
        now += 2 * 86_400
        print("phase", phase, flush=True)
"""


def test_several_routers_never_make_two_live_sessions_for_one_key(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    routers = [processes.start(ROUTE, path, f"router{n}") for n in range(ROUTERS)]
    said: list[str] = []
    try:
        for router in routers:
            assert processes.heard(router) == "ready"
        for phase in range(3):
            for router in routers:
                processes.tell(router)
            for router in routers:
                while (line := processes.heard(router)) != f"phase {phase}":
                    said.append(line)
            with SessionDB(path, read_only=True) as db:
                assert len(live_sessions(db)) == KEYS
        for router in routers:
            processes.finish(router)
    finally:
        for router in routers:
            if router.poll() is None:
                processes.kill(router)
    went = {tuple(line.split()[1:]) for line in said if line.startswith("went")}
    # In each phase every router was sent to the same session for a key, in each to another one.
    assert len(went) == KEYS * 3
    calls = Counter(line.split()[1] for line in said if line.startswith("call"))
    assert len(calls) == KEYS * 2
    assert set(calls.values()) == {1}
    with SessionDB(path) as db:
        assert db.session_count() == KEYS * 3
        with db.store.database.read() as tx:
            found = list(compare_all(tx, tmp_path / "sessions"))
            assert {each.difference for each in found} == {Difference.NONE}
        assert len(found) == KEYS * 3
        assert db.message_count() == KEYS * 3 * ROUTERS


# Forks a child for each place; in it the n-th file operation is the last thing that happens.
KILLED = f"""
import os, shutil, signal, sys
from pathlib import Path
from hermes_store import SessionDB
from hermes_store.config.settings import GatewayConfig
from hermes_store.gateway import MessageSource, SessionRouter
root, torn = Path(sys.argv[1]), sys.argv[2] == "torn"
OPERATIONS = ("open", "write", "fsync", "fdatasync", "replace", "ftruncate", "close")

def guard(last):
    done = 0
    def guarded(name, real):
        def call(*arguments, **named):
            nonlocal done
            done += 1
            if done == last:
                if torn and name == "write":
                    content = bytes(arguments[1])
                    real(arguments[0], content[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)
        return call
    for name in OPERATIONS:
        setattr(os, name, guarded(name, getattr(os, name)))

def work(home, last):
    said = open(home / "said", "w")
    now = {NOON}
    alice = MessageSource(platform="telegram", chat_id="1")
    bob = MessageSource(platform="matrix", chat_type="group", chat_id="!a:b", user_id="@b:c")
    db = SessionDB(home / "state.db", synchronous="NORMAL")
    note = lambda session, reason: db.append_message(session.id, "assistant", "noted")
    # A kill during the call holds the next message up for so long, and no longer.
    config = GatewayConfig(before_reset_seconds=1)
    router = SessionRouter(db.store, config, on_before_reset=note, clock=lambda: now)
    guard(last)
    for step in range(2):
        for source in (alice, bob):
            routed = router.incoming(source, "hello")
            for number in range(2):
                text = f"{{step}} {{number}} " + "long " * 40
                print(routed.session_id, router.save(routed, "user", text), file=said, flush=True)
        now += 2 * 86_400
    (home / "sessions" / "sessions.json").write_text("{{ torn by hand")
    router.incoming(alice, "hello")

SessionDB(root / "empty.db").close()
last = 0
while True:
    last += 1
    home = root / str(last)
    home.mkdir()
    shutil.copy(root / "empty.db", home / "state.db")
    child = os.fork()
    if not child:
        work(home, last)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(last, flush=True)
"""


@pytest.mark.parametrize("how", ["clean", "torn"])
def test_killed_between_any_two_file_operations(tmp_path: Path, how: str) -> None:
    places = int(processes.run(KILLED, tmp_path, how))
    print(places, "places")
    assert places > 60
    for place in range(1, places + 1):
        _assert_usable(tmp_path / str(place))


def _assert_usable(home: Path) -> None:
    folder = home / "sessions"
    index = folder / "sessions.json"
    if index.exists() and index.read_text() != "{ torn by hand":
        assert isinstance(json.loads(index.read_text()), dict)
    for path in folder.glob("*.jsonl"):
        found = Transcripts(folder).read(path.stem)
        assert found.faulty_lines == ()
    acknowledged = [line.split() for line in (home / "said").read_text().splitlines()]
    sources = [
        MessageSource(platform="telegram", chat_id="1"),
        MessageSource(platform="matrix", chat_type="group", chat_id="!a:b", user_id="@b:c"),
    ]
    with SessionDB(home / "state.db", synchronous="NORMAL") as db:
        for session_id, message_id in acknowledged:
            assert int(message_id) in {each.id for each in db.store.messages.of(session_id)}
        router = SessionRouter(db.store, clock=lambda: NOON + 2 * 86_400 + 60)
        for source in sources:
            routed = router.incoming(source, "I am back")
            router.save(routed, "user", "I am back")
            assert router.incoming(source).session_id == routed.session_id
        assert len(live_sessions(db)) == 2
        entries = json.loads(index.read_text())
        assert set(entries) == {build(source) for source in sources}
        for path in folder.glob("*.jsonl"):
            db.store.transfer.import_file(path)
        with db.store.database.read() as tx:
            differences = {each.difference for each in compare_all(tx, folder)}
        assert differences == {Difference.NONE}
