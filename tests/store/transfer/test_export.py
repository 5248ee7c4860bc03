"""Exports: complete, in order, in little memory, and never half a file."""

from __future__ import annotations

import io
import json
import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.sample_sessions import fill
from hermes_store import SessionDB, StoreError
from hermes_store.errors import InvalidInput, SessionNotFound
from hermes_store.transfer.export import Format
from tests.sqlite_parts import connection, sqlite
from tests.store import newer
from tests.support import LONG_AGO, add, raw

FORMATS = [pytest.param(each, id=each.value) for each in Format]


def exported(db: SessionDB, fmt: str = "jsonl", **options: Any) -> str:
    sink = io.StringIO()
    db.store.transfer.export(sink, fmt, **options)
    return sink.getvalue()


def test_a_line_is_what_export_session_says(db: SessionDB) -> None:
    fill(db._db, 30, now=LONG_AGO)
    add(db, "parts", [{"type": "text", "text": "größe"}, {"type": "image_url"}])
    lines = exported(db).splitlines()
    assert len(lines) == db.session_count()
    for line in lines:
        found = json.loads(line)
        assert found == db.export_session(found["id"])
        assert line == json.dumps(found, ensure_ascii=False)


def test_the_most_recently_active_comes_first(db: SessionDB) -> None:
    add(db, "old", "x", at=LONG_AGO)
    add(db, "new", "x", at=LONG_AGO + 100)
    add(db, "silent", at=LONG_AGO + 50)
    assert [json.loads(line)["id"] for line in exported(db).splitlines()] == [
        "new",
        "silent",
        "old",
    ]


def test_chosen_sessions_come_once_and_in_the_order_given(db: SessionDB) -> None:
    for name in ("a", "b", "c"):
        add(db, name, "x")
    text = exported(db, session_ids=iter(["c", "a", "c"]))
    assert [json.loads(line)["id"] for line in text.splitlines()] == ["c", "a"]


def test_an_unknown_id_writes_nothing(db: SessionDB, tmp_path: Path) -> None:
    add(db, "a", "x")
    sink = io.StringIO()
    with pytest.raises(SessionNotFound):
        db.store.transfer.export(sink, session_ids=["a", "gone"])
    assert not sink.getvalue()
    with pytest.raises(SessionNotFound):
        db.store.transfer.export_file(tmp_path / "out.jsonl", session_ids=["gone"])
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unknown_format_is_named(db: SessionDB) -> None:
    with pytest.raises(InvalidInput, match=r"Unknown format 'pdf'.*jsonl, markdown, html"):
        db.store.transfer.export(io.StringIO(), "pdf")
    assert Format("md") is Format.MARKDOWN


@pytest.mark.parametrize("fmt", FORMATS)
def test_an_empty_store_exports(db: SessionDB, fmt: Format) -> None:
    sink = io.StringIO()
    assert db.store.transfer.export(sink, fmt) == 0
    assert ("<html" in sink.getvalue()) == (fmt is Format.HTML)


@pytest.mark.parametrize("fmt", FORMATS)
def test_progress_is_told(db: SessionDB, fmt: Format) -> None:
    for name in ("a", "b", "c"):
        add(db, name, "x")
    heard: list[tuple[int, int]] = []
    assert (
        db.store.transfer.export(io.StringIO(), fmt, progress=lambda *each: heard.append(each)) == 3
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_a_session_that_goes_meanwhile_is_left_out(db: SessionDB) -> None:
    for place, name in enumerate(("c", "b", "a")):
        add(db, name, "x", at=LONG_AGO + place)

    def delete_next(done: int, total: int) -> None:
        if done == 1:
            db.delete_session("b")

    sink = io.StringIO()
    assert db.store.transfer.export(sink, progress=delete_next) == 2
    assert [json.loads(line)["id"] for line in sink.getvalue().splitlines()] == ["a", "c"]


def test_damaged_rows_still_make_valid_lines(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", [{"text": "\ud83d"}])
    with raw(path) as con:
        con.execute("UPDATE sessions SET title = x'ff41', model = x'00'")
        con.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) "
            "VALUES ('a', 'user', char(0) || 'json:[NaN, 1e999]', 9e999)"
        )
        deep = "[" * 700 + "]" * 700
        con.execute(
            "INSERT INTO messages(session_id, role, content, tool_calls, timestamp) "
            f"VALUES ('a', 'tool', char(0) || 'json:{deep}', '{deep}', 1)"
        )
    for fmt in Format:
        exported(db, fmt).encode("utf-8")
        exported(db, fmt, redact=True).encode("utf-8")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(exported(db), parse_constant=refuse)
    assert found["title"] == "\ufffdA"
    assert found["messages"][2]["content"] == [None, None]
    assert found["messages"][2]["timestamp"] is None


def test_a_file_of_a_newer_hermes_exports_what_is_visible(tmp_path: Path) -> None:
    newer.make(tmp_path / "newer.db")
    writer = newer.Newer(tmp_path / "newer.db")
    writer.session("a", archived=1, cwd="/srv")
    writer.message("a", "kept")
    writer.message("a", "rewound", active=0)
    writer.close()
    with SessionDB(tmp_path / "newer.db", read_only=True) as db:
        found = json.loads(exported(db))
    assert found["cwd"] == "/srv"
    assert [each["content"] for each in found["messages"]] == ["kept"]


def test_memory_does_not_grow_with_a_session(db: SessionDB) -> None:
    with db._db.write() as tx:
        tx.run("INSERT INTO sessions(id, source, started_at) VALUES ('big', 'cli', 1)")
        tx.run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) "
            "INSERT INTO messages(session_id, role, content, timestamp) "
            "SELECT 'big', CASE i % 2 WHEN 0 THEN 'user' ELSE 'tool' END, ?, i FROM n",
            ("x" * 50_000,),
        )

    db.store.search.prepare()  # nothing else is to use memory meanwhile

    class Nowhere(io.StringIO):
        written = 0

        def write(self, text: str) -> int:
            self.written += len(text)
            return len(text)

    for fmt in Format:
        sink = Nowhere()
        tracemalloc.start()
        try:
            db.store.transfer.export(sink, fmt, redact=fmt is Format.JSONL)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert sink.written > 20_000_000
        assert peak < 5_000_000


@pytest.mark.sqlite("looks at a connection of SQLite")
def test_a_sink_that_fails_leaves_no_snapshot_open(db: SessionDB) -> None:
    for name in ("a", "b"):
        add(db, name, *["x" * 5_000] * 20)

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError) as caught:
        db.store.transfer.export(Broken())
    assert caught.traceback  # and with it every frame is still alive
    with db._db.read() as tx:
        con = connection(tx)
    assert not con.in_transaction
    add(db, "c", "x")
    writer = sqlite(db._db)._file._writer
    assert writer is not None
    busy, moved = writer.wal_checkpoint(mode=3)
    assert (busy, moved) == (0, 0), "an old reader would keep the log from being emptied"


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_file_is_private_and_complete(db: SessionDB, tmp_path: Path, fmt: Format) -> None:
    add(db, "a", "schön 👩‍💻")
    target = tmp_path / "out"
    assert db.store.transfer.export_file(target, fmt) == 1
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_bytes().decode() == exported(db, fmt)
    assert not list(tmp_path.glob(".out*"))


def _interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


def _fail(done: int, total: int) -> None:
    raise RuntimeError


@pytest.mark.parametrize("trouble", [_interrupt, _fail])
def test_trouble_leaves_the_old_file(
    db: SessionDB, tmp_path: Path, trouble: Callable[[int, int], None]
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "kept.jsonl").write_text("before")
    for name in ("a", "b"):
        add(db, name, "x")
    for name in ("kept.jsonl", "fresh.jsonl"):
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            db.store.transfer.export_file(folder / name, progress=trouble)
    assert [each.name for each in folder.iterdir()] == ["kept.jsonl"]
    assert (folder / "kept.jsonl").read_text() == "before"


def test_a_full_disk_is_a_sentence(
    db: SessionDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space left"):
        db.store.transfer.export_file(tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))


def test_a_target_that_cannot_be_written_is_named_with_a_way_out(
    db: SessionDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match=r"is a folder\. Give"):
        db.store.transfer.export_file(tmp_path)
    with pytest.raises(StoreError, match=r"no folder .*Create it"):
        db.store.transfer.export_file(tmp_path / "missing" / "out")
    (tmp_path / "old").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="write-protected"):
        db.store.transfer.export_file(tmp_path / "old")


def test_a_folder_without_rights_is_named(
    db: SessionDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(**_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", forbidden)
    with pytest.raises(StoreError, match="may not write to"):
        db.store.transfer.export_file(tmp_path / "out")


def test_the_database_is_never_overwritten(db: SessionDB, path: Path, tmp_path: Path) -> None:
    add(db, "a", "x")
    link = tmp_path / "link"
    link.symlink_to(path)
    for name in (path, path.with_name(path.name + "-wal"), link):
        with pytest.raises(StoreError, match="part of the session database"):
            db.store.transfer.export_file(name)
    assert db.message_count() == 1


def test_a_link_stays_a_link(db: SessionDB, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    add(db, "a", "x")
    db.store.transfer.export_file(link)
    assert link.is_symlink()
    assert json.loads((tmp_path / "real").read_text())["id"] == "a"


def test_a_device_is_written_to_and_not_replaced(db: SessionDB) -> None:
    add(db, "a", "x")
    assert db.store.transfer.export_file("/dev/null") == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
