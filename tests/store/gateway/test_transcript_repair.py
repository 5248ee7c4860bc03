"""The doctor tells where transcripts and database differ, and importing mends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.gateway import Routed, SessionRouter
from hermes_store.gateway.transcript_repair import Difference, compare
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.upkeep.doctor import examine
from tests.cli.command import hermes
from tests.store.gateway.conftest import ALICE, BOB


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home that the store of `db` belongs to."""
    return tmp_path


@pytest.fixture
def talk(router: SessionRouter) -> Routed:
    routed = router.incoming(ALICE)
    for number in range(3):
        router.save(routed, "user", f"message {number}")
    return routed


def transcripts(path: Path) -> list[Finding]:
    return [each for each in examine(path) if each.what in ("transcripts", "routing")]


def test_all_is_well(path: Path, talk: Routed) -> None:
    (found,) = transcripts(path)
    assert (found.health, found.explanation) == (
        Health.GOOD,
        "Every transcript matches the database; checked: 1.",
    )


def test_without_a_gateway_there_is_nothing_to_say(db: SessionDB, path: Path) -> None:
    assert transcripts(path) == []


def test_messages_that_only_the_transcript_has(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter, home: Path
) -> None:
    with db.store.database.write() as tx:
        tx.run("DELETE FROM messages WHERE content <> 'message 0'")
        tx.run("UPDATE sessions SET message_count = 1")
    (found,) = transcripts(path)
    assert (found.health, found.beside) == (Health.BAD, True)
    assert "have messages that the database lacks" in found.explanation
    file = router.transcripts.path(talk.session_id)
    sick = hermes(home, "sessions", "doctor")
    assert (sick.code, f"import {file}" in sick.out) == (1, True)
    assert hermes(home, "sessions", "import", str(file)).code == 0
    assert [each.content for each in db.store.messages.of(talk.session_id)] == [
        "message 0", "message 1", "message 2"
    ]  # fmt: skip
    assert hermes(home, "sessions", "doctor").code == 0


def test_messages_that_only_the_database_has(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter, home: Path
) -> None:
    file = router.transcripts.path(talk.session_id)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    (found,) = transcripts(path)
    assert found.health is Health.NOTE
    assert "lack messages that are in the database" in found.explanation
    done = hermes(home, "sessions", "import", str(file))
    assert (done.code, "Added 2 messages from the database" in done.err) == (0, True)
    assert len(router.transcripts.read(talk.session_id).messages) == 3
    assert [each.health for each in transcripts(path)] == [Health.GOOD]
    assert hermes(home, "sessions", "import", str(file)).err == ""


def test_a_line_that_was_cut_off(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter, home: Path
) -> None:
    file = router.transcripts.path(talk.session_id)
    with file.open("a") as end:
        end.write('{"role": "user", "cont')
    (found,) = transcripts(path)
    assert "end in a line that is cut off" in found.explanation
    assert "cut off" in hermes(home, "sessions", "import", str(file)).err
    assert [each.health for each in transcripts(path)] == [Health.GOOD]
    assert len(db.store.messages.of(talk.session_id)) == 3


def test_a_transcript_without_a_session(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter
) -> None:
    db.delete_session(talk.session_id)
    orphan, route = transcripts(path)
    assert "belong to sessions that are not in the database" in orphan.explanation
    assert "Chats whose session is missing: 1" in route.explanation
    db.store.transfer.import_file(router.transcripts.path(talk.session_id))
    assert [each.health for each in transcripts(path)] == [Health.GOOD]
    assert len(db.store.messages.of(talk.session_id)) == 3


def test_what_is_in_the_trash_is_no_orphan(
    db: SessionDB, path: Path, talk: Routed, folder: Path
) -> None:
    db.store.trash.delete_conversation(talk.session_id, folder, force=True)
    assert [each.what for each in transcripts(path)] == ["routing"]
    db.store.trash.restore()
    assert [each.health for each in transcripts(path)] == [Health.GOOD]


def test_what_cannot_be_mended_is_told_of_only(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter
) -> None:
    other = router.incoming(BOB)
    router.save(other, "user", "hello")
    first, second = (router.transcripts.path(each.session_id) for each in (talk, other))
    first.write_text(first.read_text().replace("message 0", "something else"))
    second.write_text("not json\n" + second.read_text())
    apart, faulty = transcripts(path)
    assert "differ from the database" in apart.explanation
    assert "have unreadable lines" in faulty.explanation
    assert "import" not in apart.explanation + faulty.explanation


def test_a_repair_is_about_the_database(
    db: SessionDB, path: Path, talk: Routed, router: SessionRouter, home: Path
) -> None:
    router.transcripts.path("stray").write_text(
        json.dumps({"role": "user", "content": "x", "timestamp": 1.0}) + "\n"
    )
    path.chmod(0o600)
    done = hermes(home, "sessions", "doctor", "--repair")
    assert "Saved" not in done.out
    assert "belong to sessions" in done.out


def test_a_damaged_sessions_json_is_told_of(path: Path, talk: Routed, folder: Path) -> None:
    (folder / "sessions.json").write_text("{")
    assert "sessions.json is damaged" in transcripts(path)[1].explanation


def test_a_file_elsewhere_is_never_changed(
    db: SessionDB, talk: Routed, router: SessionRouter, tmp_path: Path
) -> None:
    inside = router.transcripts.path(talk.session_id)
    outside = tmp_path / "elsewhere" / inside.name
    outside.parent.mkdir()
    outside.write_text("".join(inside.read_text().splitlines(keepends=True)[:2]) + '{"torn')
    before = outside.read_bytes()
    db.store.transfer.import_file(outside)
    assert outside.read_bytes() == before
    with db.store.database.read() as tx:
        assert compare(tx, outside).difference is Difference.BEHIND
