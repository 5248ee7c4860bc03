"""What this store compresses, branches and takes back, seen by the real Hermes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from tests.peer.living import assert_sound, living

pytestmark = pytest.mark.peer


@pytest.mark.parametrize("owner", ["ours", "theirs"])
@pytest.mark.parametrize("peer_version", ["0.13.0", "0.19.0"])
def test_a_real_hermes_goes_on_with_it(
    tmp_path: Path, peer_version: str, owner: str, request: pytest.FixtureRequest
) -> None:
    python = request.getfixturevalue({"0.13.0": "hermes13", "0.19.0": "hermes19"}[peer_version])
    path = tmp_path / "state.db"
    if owner == "ours":
        SessionDB(path).close()
    with living(python, path) as peer:
        peer("create_session", "old", "cli", model="opus")
        peer("set_session_title", "old", "my project")
        for number in range(6):
            peer("append_message", "old", "assistant" if number % 2 else "user", f"said {number}")
        with SessionDB(path) as db:
            continued = db.store.lineage.compress(
                "old", summary="in short", keep_last=2, now=time.time()
            )
            assert peer("get_compression_tip", "old") == continued.id
            assert peer("resolve_session_by_title", "my project") == continued.id
            assert peer("resolve_resume_session_id", continued.id) == continued.id
            said: list[dict[str, Any]] = peer("get_messages_as_conversation", continued.id)
            assert [each["role"] for each in said] == ["user", "user", "assistant"]
            assert said[0]["content"].endswith("in short")
            assert [each["content"] for each in said[1:]] == ["said 4", "said 5"]
            shown = peer("list_sessions_rich")
            assert [row["id"] for row in shown] == [continued.id]

            copy = db.store.lineage.branch(continued.id, title="another way", now=time.time())
            shown = peer("list_sessions_rich")
            assert {row["id"] for row in shown} == {continued.id, copy.id}
            assert peer("get_messages_as_conversation", copy.id) == said

            peer("append_message", copy.id, "user", "regrettable")
            assert db.store.messages.undo_exchange(copy.id) == 1
            assert peer("get_messages_as_conversation", copy.id) == said
            assert peer.found("regrettable") == []
            kept = db.store.capabilities().has_message("active")
            assert peer("get_session", copy.id)["message_count"] == (4 if kept else 3)
    assert_sound(path)


def test_taking_back_counts_as_theirs_does(tmp_path: Path, hermes19: str) -> None:
    path = tmp_path / "state.db"
    with living(hermes19, path) as peer:
        for name in ("ours", "theirs"):
            peer("create_session", name, "cli")
            peer("append_message", name, "user", "kept")
        peer("append_message", "ours", "user", "regrettable")
        undone = peer("append_message", "theirs", "user", "regrettable")
        peer("rewind_to_message", "theirs", undone)
        with SessionDB(path) as db:
            db.store.messages.undo_exchange("ours")
        ours, theirs = peer("get_session", "ours"), peer("get_session", "theirs")
        for name in ("rewind_count", "message_count"):
            assert (name, ours[name]) == (name, theirs[name])
