"""rename, delete, restore, prune, marks, export, import: what changes something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.cli.command import hermes

TIP, ROOT, CHAT, JOB = (
    "20250305_091523_bbbb",
    "20250304_143022_aaaa",
    "20250303_101500_f00d",
    "20250302_080000_beef",
)


def _ids(home: Path) -> set[str]:
    with SessionDB(home / "state.db", read_only=True) as db:
        return {row["id"] for row in db.search_sessions(limit=-1)}


@pytest.mark.parametrize(
    "title", ["debugging auth flow", "天气 ☀️", "👩‍💻 pair", "naïve Ünïcode", "[/x] $(rm)"]
)
def test_rename_takes_every_kind_of_title(full_home: Path, title: str) -> None:
    done = hermes(full_home, "sessions", "rename", CHAT, *title.split(" "))
    assert done.code == 0 and done.out == f"Session '{CHAT}' renamed to: {title}\n"
    assert hermes(full_home, "sessions", "show", title).code == 0


def test_titles_that_cannot_be_given_say_why(full_home: Path) -> None:
    taken = hermes(full_home, "sessions", "rename", CHAT, "my project #2")
    assert taken.code == 1 and TIP in taken.err
    long = hermes(full_home, "sessions", "rename", CHAT, "x" * 101)
    assert long.code == 1 and "101 characters" in long.err


def test_delete_asks_first(full_home: Path) -> None:
    before = _ids(full_home)
    for answer in ("", "n\n", "what\n"):
        done = hermes(full_home, "sessions", "delete", CHAT, stdin=answer)
        assert done.code == 1 and "Cancelled." in done.out
        assert "1 session, 1 message" in done.err
    assert _ids(full_home) == before
    assert hermes(full_home, "sessions", "delete", CHAT, stdin="y\n").code == 0
    assert _ids(full_home) == before - {CHAT}


def test_a_deleted_conversation_is_gone_as_a_whole_and_comes_back(full_home: Path) -> None:
    before = hermes(full_home, "sessions", "export", "-").out
    assert hermes(full_home, "sessions", "delete", "my project", "--yes").code == 0
    assert _ids(full_home) == {CHAT, JOB}
    assert "my project" in hermes(full_home, "sessions", "trash").out
    done = hermes(full_home, "sessions", "restore", "--last")
    assert done.code == 0 and "Restored 2 sessions, 6 messages." in done.out
    assert hermes(full_home, "sessions", "export", "-").out == before
    assert hermes(full_home, "sessions", "trash").out == "The trash is empty.\n"


def test_deleting_permanently_passes_the_trash(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "delete", JOB, "-y", "--permanently").code == 0
    assert hermes(full_home, "sessions", "trash", "--json").json()["batches"] == []
    assert hermes(full_home, "sessions", "restore").code == 1


def test_prune_shows_before_it_acts(full_home: Path) -> None:
    dry = hermes(full_home, "sessions", "prune", "--older-than", "1d", "--dry-run")
    assert dry.code == 0 and "Nothing was changed." in dry.out
    before = _ids(full_home)
    refused = hermes(full_home, "sessions", "prune", "--older-than", "1d", stdin="n\n")
    assert refused.code == 1 and _ids(full_home) == before
    plan = hermes(full_home, "sessions", "prune", "--source", "cron", "--dry-run", "--json").json()
    assert plan["sessions"] in ([JOB], [])
    done = hermes(full_home, "sessions", "prune", "--where", "source:cron", "--yes")
    assert done.code == 0 and "Pruned 1 session." in done.out
    assert _ids(full_home) == before - {JOB}
    assert hermes(full_home, "sessions", "restore").code == 0
    assert _ids(full_home) == before


def test_marks_are_found_by_search_and_hide_from_lists(full_home: Path) -> None:
    assert "tag:work" in hermes(full_home, "sessions", "tag", CHAT, "work").out
    found = hermes(full_home, "sessions", "search", "tag:work", "--json").json()["hits"]
    assert [hit["session_id"] for hit in found] == [CHAT]
    assert hermes(full_home, "sessions", "archive", CHAT).code == 0
    assert CHAT not in hermes(full_home, "sessions", "list").out
    assert CHAT in hermes(full_home, "sessions", "list", "--archived").out
    assert hermes(full_home, "sessions", "unarchive", CHAT).code == 0
    assert CHAT in hermes(full_home, "sessions", "list").out
    assert "pinned" in hermes(full_home, "sessions", "pin", CHAT).out


def test_an_export_can_be_imported_elsewhere(full_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.jsonl"
    assert "Exported 4 sessions" in hermes(full_home, "sessions", "export", str(file)).out
    lines = file.read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["id"] for line in lines} == _ids(full_home)
    elsewhere = tmp_path / "elsewhere"
    first = hermes(elsewhere, "sessions", "import", str(file))
    assert first.code == 0 and "4 added" in first.out
    assert "4 already there" in hermes(elsewhere, "sessions", "import", str(file)).out
    assert hermes(elsewhere, "sessions", "export", "-").out == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "holds"), [("a.md", "# my project"), ("a.html", "<!doctype html>")]
)
def test_the_ending_of_a_file_decides_its_format(
    full_home: Path, tmp_path: Path, name: str, holds: str
) -> None:
    file = tmp_path / name
    done = hermes(full_home, "sessions", "export", str(file), "--session-id", ROOT)
    assert done.code == 0 and holds in file.read_text(encoding="utf-8")


def test_a_bad_import_changes_nothing(full_home: Path, tmp_path: Path) -> None:
    before = _ids(full_home)
    file = tmp_path / "bad.jsonl"
    file.write_text("this is no JSON\n")
    done = hermes(full_home, "sessions", "import", str(file))
    assert done.code == 1 and "bad.jsonl" in done.err
    assert hermes(full_home, "sessions", "import", str(tmp_path / "nofile")).code == 1
    assert _ids(full_home) == before


def test_optimize_says_what_it_brought(full_home: Path) -> None:
    done = hermes(full_home, "sessions", "optimize")
    assert done.code == 0 and "→" in done.out


def test_doctor_finds_and_mends_damage(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "optimize").code == 0
    path = full_home / "state.db"
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 5] = b"x" * 8192
    path.write_bytes(content)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    sick = hermes(full_home, "sessions", "doctor")
    assert sick.code == 1 and "✗" in sick.out
    assert hermes(full_home, "sessions", "doctor", "--repair").code == 0
    assert hermes(full_home, "sessions", "doctor").code == 0
    assert [p.name for p in full_home.glob("state.db.damaged-*") if p.name[-3:].isdigit()]


@pytest.mark.parametrize("age", ["-5", "nan", "inf", "1e400", "", "9" * 23])
def test_the_trash_is_not_emptied_for_an_age_that_is_none(full_home: Path, age: str) -> None:
    assert hermes(full_home, "sessions", "delete", JOB, "-y").code == 0
    done = hermes(full_home, "sessions", "trash", "empty", f"--older-than={age}", "--yes")
    assert done.code == 2 and "--older-than" in done.err
    assert len(hermes(full_home, "sessions", "trash", "--json").json()["batches"]) == 1


def test_the_trash_is_emptied_of_what_is_old_enough(full_home: Path) -> None:
    assert hermes(full_home, "sessions", "delete", JOB, "-y").code == 0
    empty = ("sessions", "trash", "empty", "--yes", "--json", "--older-than")
    assert hermes(full_home, *empty, "1h").json()["sessions"] == 0
    assert hermes(full_home, *empty, "0").json()["sessions"] == 1


def test_prune_names_what_it_keeps(full_home: Path) -> None:
    with SessionDB(full_home / "state.db") as db, db.store.database.write() as tx:
        tx.run("UPDATE sessions SET started_at = -1e300, ended_at = 1 WHERE id = ?", (JOB,))
        tx.run("UPDATE messages SET timestamp = -1e300 WHERE session_id = ?", (JOB,))
    done = hermes(full_home, "sessions", "prune", "--where", "source:cron", "--dry-run")
    kept, name = done.out.splitlines()[-2:]
    assert kept.startswith("Kept 1 conversation: Its time of activity is not a valid time")
    assert name.startswith("  ") and name.endswith(f"  {JOB}")
    assert hermes(full_home, "sessions", "pin", CHAT).code == 0
    done = hermes(full_home, "sessions", "prune", "--older-than", "1m", "--include-open", "--yes")
    assert "Pruned 2 sessions." in done.out
    assert f"Kept 1 conversation: It is pinned.\n  What's the weather in Las Vegas?  {CHAT}\n" in (
        done.out
    )


OWN = (
    "config.yaml", ".env", "sessions/sessions.json", "sessions/20250304_143022_aaaa.jsonl",
    "state.db", "state.db-wal", "state.db.companion", "state.db.words", "state.db.drafts",
)  # fmt: skip


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("way", ["plain", "symbolic link", "detour"])
def test_an_export_replaces_no_file_of_the_store(full_home: Path, name: str, way: str) -> None:
    target = full_home / name
    target.parent.mkdir(exist_ok=True)
    if not name.startswith("state.db"):
        target.write_text("# mine\n")
    before = target.read_bytes() if target.exists() else None
    given = target
    if way == "symbolic link":
        given = full_home / "link.jsonl"
        given.symlink_to(target)
    elif way == "detour":
        given = full_home / ".." / full_home.name / name
    done = hermes(full_home, "sessions", "export", str(given))
    assert done.code == 1 and "Choose another file." in done.err
    assert (target.read_bytes() if target.exists() else None) == before


def test_import_names_the_session_and_each_line_once(full_home: Path, tmp_path: Path) -> None:
    export = tmp_path / "some.jsonl"
    export.write_text('{"id": "good", "messages": [], "started_at": 1}\n{"id": "bad"}\nno\n')
    said = hermes(full_home, "sessions", "import", str(export)).err.splitlines()
    assert said[0] == "hermes: bad: Line 2 has no list of messages."
    assert said[1].startswith("hermes: Line 3 is not JSON")
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(
        '{"role": "user", "content": "a", "timestamp": 1}\n{"content": "b", "timestamp": 2}\n'
    )
    said = hermes(full_home, "sessions", "import", str(transcript)).err.splitlines()
    assert said == ["hermes: talk: Line 2 has no role."]
