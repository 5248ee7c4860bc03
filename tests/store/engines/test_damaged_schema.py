"""A damaged schema is named in one sentence, whatever SQLite or Python stumbles over."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from hermes_store import Store, StoreError


def _change_schema(path: Path, sql: str) -> None:
    Store(path).close()
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    con.execute("PRAGMA writable_schema = ON")
    con.execute(f"UPDATE sqlite_master SET sql = {sql}")
    assert con.changes()
    con.close()


def _open(path: Path, read_only: bool) -> None:
    with Store(path, read_only=read_only) as store:
        store.sessions.count()
        list(store.lists.conversations())


@pytest.mark.xfail(strict=True, reason="A UnicodeDecodeError gets out.")
@pytest.mark.parametrize("read_only", [False, True])
def test_a_trigger_that_is_not_utf_8(path: Path, read_only: bool) -> None:
    _change_schema(path, "replace(sql, 'ᄀ', CAST(X'e18441' AS TEXT)) WHERE type = 'trigger'")
    try:
        _open(path, read_only)
    except StoreError as error:
        assert str(error).endswith(".")


@pytest.mark.xfail(strict=True, reason="SQLite's message has the whole table definition in it.")
@pytest.mark.parametrize("read_only", [False, True])
def test_a_table_that_cannot_be_parsed(path: Path, read_only: bool) -> None:
    _change_schema(path, "replace(sql, ',', char(10) || '`') WHERE name = 'sessions'")
    with pytest.raises(StoreError) as caught:
        _open(path, read_only)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 500
