"""Bad input: each one exception of the tree, a sentence with the way out, nothing half-written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB, errors
from tests import rights
from tests.sqlite_parts import sqlite
from tests.support import add, found, is_whole, raw


def _open(path: Path, read_only: bool = False) -> None:
    SessionDB(path, read_only=read_only).close()


def _fail(kind: type[errors.StoreError], action: Callable[[], Any], *words: str) -> None:
    """Check that an action fails with this kind and a whole sentence that has these words."""
    with pytest.raises(errors.StoreError) as caught:
        action()
    # What a SessionDB raises is a class of its own below it, which is an sqlite3 error, too.
    assert kind in type(caught.value).__mro__[:2]
    message = str(caught.value)
    assert message[-1] == "."
    assert "\n" not in message
    for word in words:
        assert word in message


def test_all_exceptions_grow_on_one_tree() -> None:
    drawn = errors.__doc__ or ""
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        assert issubclass(kind, errors.StoreError), name
        assert name in drawn
        assert kind.__doc__


def test_an_unknown_id_is_named(db: SessionDB) -> None:
    for action in (
        lambda: db.store.sessions.get("nobody"),
        lambda: db.store.sessions.find("nobody"),
        lambda: db.store.lineage.tree("nobody"),
        lambda: db.store.sessions.rename("nobody", "x"),
        lambda: db.store.trash.delete_conversation("nobody"),
        lambda: db.append_message("nobody", "user", "x"),
        lambda: db.create_session("child", "cli", parent_session_id="nobody"),
    ):
        _fail(errors.SessionNotFound, action, "'nobody'", "hermes sessions list")
    assert db.session_count() == db.message_count() == 0


def test_a_session_needs_an_id_and_a_source(db: SessionDB) -> None:
    nothing: Any = None
    _fail(errors.InvalidInput, lambda: db.create_session("a", nothing), "source")
    _fail(errors.InvalidInput, lambda: db.create_session("", "cli"), "new_session_id")
    assert db.session_count() == 0


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_is_no_database(tmp_path: Path, read_only: bool) -> None:
    _fail(errors.NotADatabase, lambda: _open(tmp_path, read_only), str(tmp_path), "folder")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "content", [b"just some notes\n" * 400, b"\x00" * 8192, b"PK\x03\x04" * 999]
)
def test_another_kind_of_file_is_left_alone(path: Path, read_only: bool, content: bytes) -> None:
    path.write_bytes(content)
    _fail(errors.NotADatabase, lambda: _open(path, read_only), str(path), "not a session database")
    assert path.read_bytes() == content


def test_reading_needs_a_file(path: Path) -> None:
    _fail(errors.DatabaseMissing, lambda: _open(path, read_only=True), str(path), "HERMES_HOME")
    assert not path.exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_path_through_a_file(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "file").write_text("x")
    inside = tmp_path / "file" / "state.db"
    kind = errors.DatabaseMissing if read_only else errors.DatabaseUnreadable
    _fail(kind, lambda: _open(inside, read_only), str(inside.parent))


def test_a_file_without_rights(db: SessionDB, path: Path) -> None:
    db.close()
    path.chmod(0o000)
    with rights.respected():
        _fail(errors.DatabaseUnreadable, lambda: _open(path, read_only=True), str(path))
        _fail(errors.DatabaseUnreadable, lambda: _open(path), str(path))


def test_a_folder_without_rights(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with rights.respected():
        _fail(errors.DatabaseUnreadable, lambda: _open(locked / "state.db"), "cannot be created")


def _scribble(path: Path) -> None:
    """Overwrite everything but the header and the schema's first page."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def _closed_file(path: Path) -> None:
    """Leave a file whose log is empty, so that nothing there can mend the damage."""
    with SessionDB(path) as db:
        add(db, "a", *["some words"] * 50)
        db.vacuum()
    with raw(path) as con:
        con.execute("PRAGMA journal_mode = DELETE")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_scribbled_file_is_called_damaged(path: Path, read_only: bool) -> None:
    _closed_file(path)
    _scribble(path)

    def use() -> None:
        with SessionDB(path, read_only=read_only) as db:
            db.list_sessions_rich()
            db.get_messages("a")

    _fail(errors.DatabaseCorrupt, use, str(path), "damaged", "copy")


def test_a_cut_file_is_called_damaged(path: Path) -> None:
    _closed_file(path)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)

    def use() -> None:
        with SessionDB(path, read_only=True) as db:
            db.list_sessions_rich()
            db.export_all()
            db.store.upkeep.statistics()
            found(db, "words")

    _fail(errors.DatabaseCorrupt, use, str(path), "damaged")


def test_a_file_in_use_for_too_long(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.engines.sqlite.lock_waiting.MAX_TRIES", 1)
    with raw(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        _fail(errors.DatabaseLocked, lambda: db.create_session("a", "cli"), str(path), "Try again")
        assert db.session_count() == 0
    db.create_session("a", "cli")
    assert db.session_count() == 1


def _fill_disk(db: SessionDB) -> None:
    writer = sqlite(db._db)._file._writer
    assert writer is not None
    pages = writer.execute("PRAGMA page_count").get
    writer.execute(f"PRAGMA max_page_count = {pages + 2}")


@pytest.mark.parametrize("way", ["append", "replace", "start"])
def test_a_full_disk_leaves_nothing_half_written(db: SessionDB, path: Path, way: str) -> None:
    add(db, "a", "kept words", title="T")
    before = (db.export_all(), db.store.upkeep.statistics().messages)
    _fill_disk(db)
    big = "much too long " * 20_000
    action = {
        "append": lambda: db.append_message("a", "user", big),
        "replace": lambda: db.replace_messages("a", [{"content": "small"}, {"content": big}]),
        "start": lambda: db.create_session("b", "cli", system_prompt=big),
    }[way]
    _fail(errors.DiskFull, action, str(path), "rolled back", "free some space")
    assert (db.export_all(), db.store.upkeep.statistics().messages) == before
    assert found(db, "small") == []
    assert is_whole(path)
    db.store.sessions.rename("a", "still works")
    assert db.store.sessions.get("a").title == "still works"


def test_a_full_disk_while_the_file_is_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_store.engines.sqlite import migrations

    create = migrations._create

    def on_a_small_disk(con: Any) -> None:
        con.execute("PRAGMA max_page_count = 12")
        create(con)

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "_create", on_a_small_disk)
        _fail(errors.DiskFull, lambda: _open(path), str(path))
    with SessionDB(path) as db:
        add(db, "a", "works now")
        assert found(db, "works") == ["a"]


STRANGE = (
    "before\x00after",
    "half \ud83d pair",
    "\udc00",
    "\x00",
    "\x00\x00tail word",
    "\ufffe\uffff",
)


@pytest.mark.parametrize("text", STRANGE)
def test_strange_text_is_stored_without_loss_of_the_rest(db: SessionDB, text: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    add(db, "a", text, [{"type": "text", "text": text}])
    db.append_message(
        "a", "tool", text, tool_name=text, tool_calls=[{"name": text}], reasoning=text
    )
    plain, parts, tool = db.get_messages("a")
    assert plain["content"] == expected
    assert parts["content"] == [{"type": "text", "text": expected}]
    assert (tool["tool_name"], tool["reasoning"]) == (expected, expected)
    assert tool["tool_calls"] == [{"name": expected}]
    assert db.export_all()[0]["messages"] == db.get_messages("a")


@pytest.mark.sqlite("PostgreSQL refuses text that is not valid UTF-8")
def test_words_around_strange_bytes_are_found(db: SessionDB) -> None:
    add(db, "nul", "alpha\x00beta gamma")
    add(db, "half", "delta \ud83d epsilon")
    for word, holder in {"gamma": "nul", "delta": "half", "epsilon": "half"}.items():
        assert found(db, word) == [holder], word
    assert found(db, "alpha") == ["nul"]


def test_strange_ids_titles_and_sources(db: SessionDB) -> None:
    db.create_session("id\ud800", "so\x00urce", model="m\udfff", system_prompt="\ud83d")
    assert db.store.sessions.get("id\ud800").source == "so\x00urce"
    assert db.resolve_session_id("id") == "id\ufffd"
    assert db.store.sessions.rename("id\ud800", "t\ud800\x00t") == "t\ufffdt"
    assert db.store.sessions.find("t\ud800t").id == "id\ufffd"


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE sessions; --", '"', "%", "_", "\\", "*", "[", "?1"]
)
def test_text_is_never_taken_for_sql(db: SessionDB, text: str) -> None:
    add(db, text, text, source=text, title=text)
    add(db, "other", "x")
    assert db.store.sessions.get(text).title == text
    assert [row["id"] for row in db.list_sessions_rich(source=text)] == [text]
    assert [row["id"] for row in db.list_sessions_rich(exclude_sources=[text])] == ["other"]
    assert db.resolve_session_by_title(text) == text
    assert db.get_next_title_in_lineage(text) == f"{text} #2"
    db.set_meta(text, text)
    assert db.get_meta(text) == text
    assert db.delete_session(text)
    assert db.session_count() == 1


def test_a_session_can_be_listed_and_pruned_however_far_off_its_times_are(db: SessionDB) -> None:
    for place, moment in enumerate((-1e18, 0.0, 1e18)):
        add(db, f"s{place}", "x", at=moment, ended=moment)
    assert [row["id"] for row in db.list_sessions_rich()] == ["s2", "s1", "s0"]
    assert db.prune_sessions() == 2
