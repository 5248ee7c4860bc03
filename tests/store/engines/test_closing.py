"""Leaving a database: what a program closes, forgets to close, or cannot write at the end."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import lasting_locks
from tests.store import processes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a database with one session and one message."""
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "hello")
    return path


def _texts(path: Path) -> list[str]:
    with SessionDB(path, read_only=True) as db:
        return [message["content"] for message in db.get_messages("s")]


def test_a_store_that_nobody_closes_lets_go_of_its_locks(path: Path) -> None:
    before = len(lasting_locks._held)
    for _ in range(5):
        SessionDB(path).append_message("s", "user", "and goes")
        gc.collect()
    SessionDB(path).close()
    assert len(lasting_locks._held) == before


FULL_DISK = """
import sys
import apsw
from tests.store import vfs

full = False

def hurt(call, path):
    if full and call == "write" and not path.endswith("-wal"):
        raise apsw.FullError("the disk is full")

vfs.KEPT.append(vfs.HurtLayer(hurt))
from hermes_store import SessionDB
from hermes_store.engines.sqlite import checkpoint

checkpoint.EVERY_WRITES = 2
db = SessionDB(sys.argv[1])
full = True
for number in range(6):
    db.append_message("s", "user", str(number))
    print("acknowledged", flush=True)
full = False
db.close()
"""


def test_a_full_disk_at_a_checkpoint_does_not_take_a_commit_back(path: Path) -> None:
    assert processes.run(FULL_DISK, path).split() == ["acknowledged"] * 6
    assert len(_texts(path)) == 7


FORGETFUL = """
import os, sys
from hermes_store import SessionDB

db = SessionDB(sys.argv[1])
db.append_message("s", "user", "before the child")
child = os.fork()
if not child:
    sys.exit()  # it must not touch the connections of its parent
os.waitpid(child, 0)
db.append_message("s", "user", "after the child")
db.store.marks.pin("s")
"""


def test_a_program_that_forgets_to_close_leaves_no_log(path: Path) -> None:
    processes.run(FORGETFUL, path)
    assert _texts(path) == ["hello", "before the child", "after the child"]
    for name in ("state.db-wal", "state.db.companion-wal"):
        assert path.with_name(name).stat().st_size == 0, name


def test_the_sidecar_leaves_no_log_either(path: Path) -> None:
    with Store(path) as store:
        store.marks.pin("s")
    assert path.with_name("state.db.companion-wal").stat().st_size == 0
    with Store(path) as store:
        assert store.marks.of(["s"])["s"].pinned
