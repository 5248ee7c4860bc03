"""The gateway beside the real one: the same keys, and one sessions.json for both."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.gateway import MessageSource, SessionRouter, build, parse

pytestmark = pytest.mark.peer

_KEYS = """
import json, sys
from gateway.config import Platform
from gateway.session import SessionSource, build_session_key
for line in sys.stdin:
    told, groups, threads = json.loads(line)
    source = SessionSource(**told | {"platform": Platform(told["platform"])})
    print(json.dumps(build_session_key(source, groups, threads)))
"""

_ROUTE = """
import sys
from pathlib import Path
from gateway.config import GatewayConfig, Platform
from gateway.session import SessionSource, SessionStore
store = SessionStore(Path(sys.argv[1]) / "sessions", GatewayConfig())
source = SessionSource(
    platform=Platform("telegram"), chat_id="-100", chat_type="group", user_id=sys.argv[2]
)
print(store.get_or_create_session(source).session_id)
"""


def run(python: str, home: Path, script: str, *arguments: object, stdin: str = "") -> list[str]:
    done = subprocess.run(
        [python, "-c", script, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        env=os.environ | {"HERMES_HOME": str(home), "HOME": str(home)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def sources() -> list[dict[str, Any]]:
    ids = ("-100123", "üser 名", "100%")
    return [
        {"platform": platform, "chat_type": kind, "chat_id": chat, "thread_id": thread,
         "user_id": user, "user_id_alt": other}
        for platform, kind, chat, thread, user, other in itertools.product(
            ("telegram", "discord", "whatsapp", "slack"), ("dm", "group", "channel", "thread"),
            ids, (None, "77"), (None, "alice"), (None, "alt"),
        )
        if platform != "whatsapp" or chat == "-100123"
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["hermes13", "hermes19"])
def test_keys_are_the_same(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    python = request.getfixturevalue(version)
    asked = [
        (told, groups, threads)
        for told in sources()
        for groups, threads in itertools.product((True, False), repeat=2)
    ]
    lines = "".join(json.dumps(each) + "\n" for each in asked)
    theirs = [json.loads(line) for line in run(python, tmp_path, _KEYS, stdin=lines)]
    ours = [
        build(
            MessageSource(**told),
            group_sessions_per_user=groups,
            thread_sessions_per_user=threads,
        )
        for told, groups, threads in asked
    ]
    assert ours == theirs
    assert all(str(parse(key)) == key for key in theirs)


@pytest.mark.parametrize("version", ["hermes13", "hermes19"])
def test_each_finds_the_sessions_of_the_other(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    python = request.getfixturevalue(version)
    mine = MessageSource(platform="telegram", chat_type="group", chat_id="-100", user_id="mine")
    with SessionDB(tmp_path / "state.db") as db:
        session_id = SessionRouter(db.store).incoming(mine, "hello").session_id
    assert run(python, tmp_path, _ROUTE, tmp_path, "mine") == [session_id]
    (theirs,) = run(python, tmp_path, _ROUTE, tmp_path, "theirs")
    with SessionDB(tmp_path / "state.db") as db:
        router = SessionRouter(db.store)
        assert router.incoming(mine, "hello").session_id == session_id
        other = MessageSource(
            platform="telegram", chat_type="group", chat_id="-100", user_id="theirs"
        )
        assert router.incoming(other, "hello").session_id == theirs
    assert run(python, tmp_path, _ROUTE, tmp_path, "theirs") == [theirs]
