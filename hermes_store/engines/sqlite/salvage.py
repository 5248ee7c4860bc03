"""Copies everything that can still be read out of a damaged database into a new file.

The new file has the tables, indexes, views and triggers of the old one as they were declared, and
every row byte for byte, whoever made them and whatever they are for. Nothing is known here about
sessions or messages but how their full-text index is filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite.create_file import create
from hermes_store.engines.sqlite.damage import is_fulltext
from hermes_store.engines.sqlite.fulltext import indexed_text
from hermes_store.engines.sqlite.raw_rows import places, quote, raw_rows

MAX_PROBES = 300_000
"""How many rows are looked up one by one where a table cannot be read in order."""
_UNREADABLE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError, apsw.FormatError)
_SETTINGS = ("page_size", "encoding", "auto_vacuum", "user_version", "application_id")


@dataclass(slots=True)
class Salvaged:
    """What was carried over, and what was not."""

    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows by table."""
    lost: list[str] = field(default_factory=list)
    """Sentences about what could not be saved."""


@dataclass(frozen=True, slots=True)
class _Object:
    kind: str
    name: str
    sql: str


def salvage(source: apsw.Connection, path: Path) -> Salvaged:
    """Copy everything readable from a connection into a new file."""
    # Reads the declarations that can be understood, even if others are damaged.
    source.execute("PRAGMA writable_schema = ON")
    create(path)
    target = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    done = Salvaged()
    try:
        for name in _SETTINGS:
            value = source.execute(f"PRAGMA {name}").get
            target.execute(
                f"PRAGMA {name} = {value!r}"
                if name == "encoding"
                else f"PRAGMA {name} = {int(value)}"
            )
        target.execute("PRAGMA foreign_keys = OFF")
        source.execute("BEGIN")  # one snapshot, whoever writes meanwhile
        try:
            with target:
                _copy(source, target, done)
        finally:
            source.execute("ROLLBACK")
    finally:
        target.close()
    return done


def _copy(source: apsw.Connection, target: apsw.Connection, done: Salvaged) -> None:
    objects = list(_objects(source, done))
    virtual = [each for each in objects if each.kind == "table" and is_fulltext(each.sql)]
    shadows = tuple(f"{each.name}_" for each in virtual)
    for each in objects:
        plain = each.kind == "table" and each not in virtual and not each.name.startswith(shadows)
        if plain and _made(target, each, done):
            _copy_rows(source, target, each.name, done)
    with suppress(apsw.SQLError):
        target.execute("DELETE FROM sqlite_sequence")
        _copy_rows(source, target, "sqlite_sequence", done)
    for kind in ("view", "table", "index", "trigger"):
        for each in objects:
            is_shadow = each.name.startswith(shadows) and kind == "index"
            if each.kind != kind or is_shadow or (kind == "table" and each not in virtual):
                continue
            if _made(target, each, done) and kind == "table":
                _fill(source, target, each, done)


def _objects(source: apsw.Connection, done: Salvaged) -> Iterator[_Object]:
    rows = _readable(source, "sqlite_master", ("type", "name", "sql"), done)
    for kind, name, sql in rows:
        if isinstance(sql, str) and isinstance(name, str) and not name.startswith("sqlite_"):
            yield _Object(str(kind), name, sql)
        elif sql is not None and not str(name).startswith("sqlite_"):
            done.lost.append(f"The declaration of {kind} {name!s} is damaged.")


def _made(target: apsw.Connection, each: _Object, done: Salvaged) -> bool:
    try:
        target.execute(each.sql)
    except apsw.Error as error:
        done.lost.append(
            f"The {each.kind} {each.name} could not be restored ({error}); Hermes Agent adds "
            "what it needs at its next start."
        )
        return False
    return True


# -- rows --------------------------------------------------------------------------------------


def _copy_rows(
    source: apsw.Connection, target: apsw.Connection, table: str, done: Salvaged
) -> None:
    try:
        columns = _columns(source, table)
    except apsw.Error as error:
        done.lost.append(f"The table {table} cannot be read ({error}).")
        return
    kept, refused = 0, 0
    for row in _readable(source, table, columns, done):
        sql = f"INSERT OR IGNORE INTO {quote(table)}({', '.join(map(quote, columns))}) "
        target.execute(f"{sql} VALUES ({places(row)})", row)
        kept, refused = kept + target.changes(), refused + (not target.changes())
    done.rows[table] = kept
    if refused:
        done.lost.append(f"{refused:,} rows of {table} contradict others and were left out.")


def _columns(source: apsw.Connection, table: str) -> tuple[str, ...]:
    """Return the columns to copy; a row number that no column shows is copied, too."""
    found = list(source.execute(f"PRAGMA table_xinfo({quote(table)})"))
    names = tuple(str(row[1]) for row in found if row[6] == 0)
    keys = [row for row in found if row[5]]
    shown = len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER"
    return names if shown or not _has_rowid(source, table) else ("rowid", *names)


def _has_rowid(source: apsw.Connection, table: str) -> bool:
    try:
        source.execute(f"SELECT rowid FROM {quote(table)} LIMIT 0").fetchall()
    except apsw.SQLError:
        return False
    return True


def _readable(
    source: apsw.Connection, table: str, columns: Sequence[str], done: Salvaged
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table: in order, from the end, then one by one in between."""
    if table != "sqlite_master" and not _has_rowid(source, table):
        yield from _from_both_ends(source, table, columns, done)
        return
    names = ("rowid", *columns)
    first: int | None = None
    last: int | None = None
    try:
        for row in raw_rows(source, names, f"{quote(table)} NOT INDEXED ORDER BY rowid"):
            first = int(row[0])
            yield row[1:]
        return
    except _UNREADABLE:
        first = first or 0
    try:
        order = f"{quote(table)} NOT INDEXED WHERE rowid > ? ORDER BY rowid DESC"
        for row in raw_rows(source, names, order, (first,)):
            last = int(row[0])
            yield row[1:]
    except _UNREADABLE:
        pass  # what is between both ends is looked up below
    unreadable = 0
    end = _last_number(source, table, first) if last is None else last
    for number in range(first + 1, min(end, first + MAX_PROBES)):
        one = f"{quote(table)} NOT INDEXED WHERE rowid = ?"
        try:
            found = next(raw_rows(source, columns, one, (number,)), None)
        except _UNREADABLE:
            unreadable += 1
            continue
        if found is not None:
            yield found
    done.lost.append(_unread(table, unreadable))


def _last_number(source: apsw.Connection, table: str, first: int) -> int:
    """Return a number beyond the last row of a table whose end cannot be read."""
    try:
        sql = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        given = source.execute(sql, (table,)).get
    except apsw.Error:
        given = None
    return given + 1 if isinstance(given, int) else first + MAX_PROBES


def _unread(table: str, unreadable: int) -> str:
    if unreadable:
        return f"Up to {unreadable:,} rows of {table} could not be read."
    return f"Some rows of {table} could not be read."


def _from_both_ends(
    source: apsw.Connection, table: str, columns: Sequence[str], done: Salvaged
) -> Iterator[tuple[Any, ...]]:
    keys = [row[1] for row in source.execute(f"PRAGMA table_xinfo({quote(table)})") if row[5]]
    if not keys:
        return  # there is no such table
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{quote(str(key))} {direction}" for key in keys)
        try:
            yield from raw_rows(source, columns, f"{quote(table)} ORDER BY {order}")
            return
        except _UNREADABLE:
            if direction == "DESC":
                done.lost.append(_unread(table, 0))


# -- full-text indexes -------------------------------------------------------------------------


def _fill(source: apsw.Connection, target: apsw.Connection, each: _Object, done: Salvaged) -> None:
    """Fill a full-text index from its own copy of the text, if it has one, and the messages."""
    name, lost = quote(each.name), Salvaged()
    config, content = f"{each.name}_config", f"{each.name}_content"
    try:
        for key, value in _readable(source, config, ("k", "v"), lost):
            if key != "version":
                sql = f"INSERT OR REPLACE INTO {quote(config)} VALUES (?, ?)"
                target.execute(sql, (key, value))
        if any(target.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (content,))):
            columns = _columns(target, content)
            for row in _readable(source, content, columns, lost):
                marks = places(row)
                target.execute(f"INSERT OR IGNORE INTO {quote(content)} VALUES ({marks})", row)
            _add_missing(target, name, quote(content), columns)
        target.execute(f"INSERT INTO {name}({name}) VALUES('rebuild')")
    except apsw.Error as error:
        done.lost.append(f"The search index {each.name} could not be filled ({error}).")


def _add_missing(target: apsw.Connection, name: str, content: str, columns: Sequence[str]) -> None:
    """Add the messages whose copy in an index of one column was lost."""
    if len(columns) == 2:
        target.execute(
            f"INSERT INTO {content} SELECT id, {indexed_text()} FROM messages "
            f"WHERE id NOT IN (SELECT id FROM {content})"
        )
