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


PLATFORMS = (
    "local", "telegram", "discord", "whatsapp", "slack", "signal", "mattermost", "matrix",
    "homeassistant", "email", "sms", "dingtalk", "api_server", "webhook", "msgraph_webhook",
    "feishu", "wecom", "wecom_callback", "weixin", "bluebubbles", "qqbot", "yuanbao",
)  # fmt: skip
KINDS = ("dm", "group", "channel", "thread", "forum")
IDS: dict[str, tuple[tuple[str | None, ...], ...]] = {
    # chats, threads, users, other names of users
    "": (("-100123", "üser 名", "100%", "a:b", "%3A"), (None, "77", "t:1"),
         (None, "alice", "a%25"), (None, "alt")),
    "whatsapp": (
        ("49170@s.whatsapp.net", "49170:12@s.whatsapp.net", "+49170", " 49170 ", "1234567@lid",
         "120363@g.us", "12+3", "@lid"),
        (None, "77"),
        (None, "49170@s.whatsapp.net", "1234567:3@lid", "+491", "@lid"),
        (None, "55@lid"),
    ),
    "matrix": (
        ("!room:matrix.org", "!room:matrix.org:8448", "!v12room"), (None, "$event", "$e:b.org"),
        (None, "@user:matrix.org", "@user:b.org:8448"), (None, "@other:c.org"),
    ),
}  # fmt: skip


def sources() -> list[dict[str, Any]]:
    return [
        {"platform": platform, "chat_type": kind, "chat_id": chat, "thread_id": thread,
         "user_id": user, "user_id_alt": other}
        for platform in PLATFORMS
        for kind, chat, thread, user, other in itertools.product(
            KINDS, *IDS.get(platform, IDS[""])
        )
    ]  # fmt: skip


def compare(python: str, home: Path, told: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return our key and theirs for each source and all settings."""
    asked = [
        (each, groups, threads)
        for each in told
        for groups, threads in itertools.product((True, False), repeat=2)
    ]
    lines = "".join(json.dumps(each) + "\n" for each in asked)
    theirs = [json.loads(line) for line in run(python, home, _KEYS, stdin=lines)]
    ours = [
        build(
            MessageSource(**each),
            group_sessions_per_user=groups,
            thread_sessions_per_user=threads,
            home=home,
        )
        for each, groups, threads in asked
    ]
    return list(zip(ours, theirs, strict=True))


@pytest.mark.parametrize("version", ["hermes13", "hermes19"])
def test_keys_are_the_same(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    # A WhatsApp chat of which nothing is left: 0.13.0 gives everybody the same session.
    told = [
        each
        for each in sources()
        if version == "hermes19" or (each["chat_id"], each["chat_type"]) != ("@lid", "dm")
    ]
    pairs = compare(request.getfixturevalue(version), tmp_path, told)
    assert len(pairs) > 10_000
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    assert all(str(parse(key)) == key for key, _ in pairs)


@pytest.mark.parametrize("version", ["hermes13", "hermes19"])
@pytest.mark.parametrize("folder", ["whatsapp/session", "platforms/whatsapp/session"])
def test_people_on_whatsapp_have_the_same_names(
    version: str, folder: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if version == "hermes13" and folder.startswith("platforms"):
        pytest.skip("0.13.0 does not know this folder")
    bridge = tmp_path / folder
    bridge.mkdir(parents=True)
    for name, text in {
        "49170": '"1234567@lid"', "1234567_reverse": '"49170:3@s.whatsapp.net"',
        "1234567": '"88@lid"', "88": "null", "491": "not json", "491_reverse": "987654321",
    }.items():  # fmt: skip
        (bridge / f"lid-mapping-{name}.json").write_text(text)
    told = [
        each for each in sources() if each["platform"] == "whatsapp" and each["chat_id"] != "@lid"
    ]
    pairs = compare(request.getfixturevalue(version), tmp_path, told)
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    assert any(key.startswith("agent:main:whatsapp:dm:88") for key, _ in pairs)


@pytest.mark.parametrize("version", ["hermes13", "hermes19"])
def test_strangers_without_a_chat_stay_apart(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """As in 0.19.0; 0.13.0 puts all of them into one conversation."""
    told = [
        {"platform": platform, "chat_type": "dm", "chat_id": "", "user_id": user,
         "thread_id": thread}
        for platform in ("telegram", "whatsapp", "matrix")
        for user in ("4917", "@b:c")
        for thread in (None, "7")
    ]  # fmt: skip
    pairs = compare(request.getfixturevalue(version), tmp_path, told)
    assert all((ours == theirs) == (version == "hermes19") for ours, theirs in pairs)


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
