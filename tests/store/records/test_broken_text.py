"""Text that is not UTF-8, as other programs can store it, is shown and takes nothing down."""

from __future__ import annotations

from pathlib import Path

from hermes_store import SessionDB
from tests.support import add, raw


def test_broken_text_reads_as_replacement_characters(db: SessionDB, path: Path) -> None:
    for name in ("a", "b", "c"):
        add(db, name, f"said in {name}", "again", title=f"title of {name}")
    with raw(path) as con:
        con.execute("UPDATE sessions SET title = CAST(x'eda080' || 'half' AS TEXT) WHERE id = 'b'")
        con.execute("UPDATE messages SET content = CAST(x'ff' || content AS TEXT) WHERE id = 4")
    assert db.get_session_title("b") == "\ufffd\ufffd\ufffdhalf"
    listed = {row["id"]: row["title"] for row in db.list_sessions_rich()}
    assert listed == {"a": "title of a", "b": "\ufffd\ufffd\ufffdhalf", "c": "title of c"}
    said = [message["content"] for message in db.get_messages("b")]
    assert said == ["said in b", "\ufffdagain"]


def test_rows_before_and_after_broken_text_come_once(db: SessionDB, path: Path) -> None:
    add(db, "s", *(f"message {n}" for n in range(5)))
    with raw(path) as con:
        con.execute("UPDATE messages SET content = CAST(x'ff' AS TEXT) WHERE id = 3")
        con.execute("UPDATE messages SET content = x'ff00' WHERE id = 4")
    with db._db.read() as tx:
        rows = list(tx.rows("SELECT id, content FROM messages ORDER BY id DESC"))
    assert rows == [
        (5, "message 4"), (4, b"\xff\x00"), (3, "\ufffd"), (2, "message 1"), (1, "message 0")
    ]  # fmt: skip
