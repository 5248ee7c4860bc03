"""Copies everything that can still be read out of a damaged database into a new file.

The new file has the tables, indexes, views and triggers of the old one as they were declared, and
every row byte for byte, whoever made them and whatever they are for. Nothing is known here about
sessions or messages but how their full-text index is filled.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite.create_file import create
from hermes_store.engines.sqlite.damage import is_fulltext, shadows_of
from hermes_store.engines.sqlite.fulltext import indexed_text
from hermes_store.engines.sqlite.raw_rows import places, raw_rows
from hermes_store.engines.sqlite.schema_reader import quote

MAX_PROBES = 300_000
"""How many rows are looked up one by one where a table cannot be read in order."""
_UNREADABLE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError, apsw.FormatError)
_VIRTUAL = re.compile(r"\s*create\s+virtual\s+table\b", re.I)
_SETTINGS = ("page_size", "encoding", "auto_vacuum", "user_version", "application_id")


@dataclass(slots=True)
class Salvaged:
    """What was carried over, and what was not."""

    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows by table."""
    lost: list[str] = field(default_factory=list)
    """Sentences about what could not be saved."""
    declared: set[str] = field(default_factory=set)
    """The tables that the damaged database declares."""


@dataclass(frozen=True, slots=True)
class _Object:
    kind: str
    name: str
    table: str
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


class _StandIn:
    """Lets tables be declared with an order of text that only another program knows."""

    def __init__(self, target: apsw.Connection) -> None:
        self.used = False
        """Whether anything was sorted without knowing the order."""
        target.collation_needed(self._provide)

    def _provide(self, con: apsw.Connection, name: str) -> None:
        con.create_collation(name, self._compare)

    def _compare(self, one: str, other: str) -> int:
        self.used = True
        return (one > other) - (one < other)


def _copy(source: apsw.Connection, target: apsw.Connection, done: Salvaged) -> None:
    order = _StandIn(target)
    objects = list(_objects(source, done))
    virtual = [each for each in objects if each.kind == "table" and _VIRTUAL.match(each.sql)]
    ours = [each for each in virtual if is_fulltext(each.sql) and _can_be_made(each.sql)]
    shadows = {shadow for each in ours for shadow in shadows_of(each.name)}
    for each in objects:
        plain = each.kind == "table" and each not in virtual and each.name not in shadows
        if plain and _made(target, each, done):
            _copy_rows(source, target, each.name, done)
    with suppress(apsw.SQLError):
        target.execute("DELETE FROM sqlite_sequence")
        _copy_rows(source, target, "sqlite_sequence", done)
    for kind in ("view", "table", "index", "trigger"):
        for each in objects:
            is_shadow = each.table in shadows and kind == "index"
            if each.kind != kind or is_shadow or (kind == "table" and each not in ours):
                continue
            order.used = False
            if _made(target, each, done) and kind == "table":
                _fill(source, target, each, done)
            if order.used and kind == "index":
                target.execute(f"DROP INDEX {quote(each.name)}")
                done.lost.append(f"The index {each.name} can only be rebuilt by its program.")
    _declare(target, [each for each in virtual if each not in ours])


def _can_be_made(sql: str) -> bool:
    """Tell whether a virtual table needs nothing that only another program has."""
    with closing(apsw.Connection(":memory:")) as con:
        try:
            con.execute(sql)
        except apsw.Error:
            return False
    return True


def _declare(target: apsw.Connection, virtual: Sequence[_Object]) -> None:
    """Declare virtual tables whose contents were copied with the plain tables behind them."""
    target.execute("PRAGMA writable_schema = ON")
    for each in virtual:
        target.execute(
            "INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) "
            "VALUES ('table', ?, ?, 0, ?)",
            (each.name, each.name, each.sql),
        )
    target.execute("PRAGMA writable_schema = OFF")


def _objects(source: apsw.Connection, done: Salvaged) -> Iterator[_Object]:
    rows = _readable(source, "sqlite_master", ("type", "name", "tbl_name", "sql"), done)
    for kind, name, table, sql in rows:
        if kind == "table":
            done.declared.add(str(name))
        if isinstance(sql, str) and isinstance(name, str) and not name.startswith("sqlite_"):
            yield _Object(str(kind), name, str(table), sql)
        elif sql is not None and not str(name).startswith("sqlite_"):
            done.lost.append(f"The declaration of {kind} {name!s} is damaged.")


def _made(target: apsw.Connection, each: _Object, done: Salvaged) -> bool:
    try:
        target.execute(each.sql)
    except apsw.Error as error:
        done.lost.append(
            f"The {each.kind} {each.name} could not be restored ({error}); Hermes Agent adds "
            "what it needs the next time it starts."
        )
        return False
    return True


# -- rows --------------------------------------------------------------------------------------


def _copy_rows(
    source: apsw.Connection, target: apsw.Connection, table: str, done: Salvaged
) -> None:
    try:
        columns = _columns(source, table)
    except (apsw.Error, UnicodeDecodeError) as error:
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
    number = None if shown else _row_number(source, table)
    return names if number is None else (number, *names)


def _row_number(source: apsw.Connection, table: str) -> str | None:
    """Return the name under which a table shows the numbers of its rows, if it has any."""
    found = source.execute(f"PRAGMA table_xinfo({quote(table)})")
    names = {str(row[1]).lower() for row in found}
    for name in ("rowid", "_rowid_", "oid"):
        if name in names:
            continue
        with suppress(apsw.SQLError):
            source.execute(f"SELECT {name} FROM {quote(table)} LIMIT 0").fetchall()
            return name
    return None


def _readable(
    source: apsw.Connection, table: str, columns: Sequence[str], done: Salvaged
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table: in order, from the end, then one by one in between."""
    number = "rowid" if table == "sqlite_master" else _row_number(source, table)
    if number is None:
        yield from _from_both_ends(source, table, columns, done)
        return
    names, whole = (number, *columns), f"{quote(table)} NOT INDEXED"
    first: int | None = None
    last: int | None = None
    try:
        for row in raw_rows(source, names, f"{whole} ORDER BY {number}"):
            first = int(row[0])
            yield row[1:]
        return
    except _UNREADABLE:
        pass
    try:
        beyond = "" if first is None else f"WHERE {number} > {first}"
        for row in raw_rows(source, names, f"{whole} {beyond} ORDER BY {number} DESC"):
            last = int(row[0])
            yield row[1:]
    except _UNREADABLE:
        pass  # what is between both ends is looked up below
    between, is_exact = _numbers_between(source, table, number, first, last)
    lost = 0
    for each in between:
        try:
            found = next(raw_rows(source, columns, f"{whole} WHERE {number} = ?", (each,)), None)
        except _UNREADABLE:
            found = None
        lost += found is None
        if found is not None:
            yield found
    done.lost += [_unread(table, lost if is_exact else None)] if lost else []


def _numbers_between(
    source: apsw.Connection, table: str, number: str, first: int | None, last: int | None
) -> tuple[Sequence[int], bool]:
    """Return the numbers of the rows that were not reached, and whether no other ones exist.

    An index knows the numbers of all rows, even of those that cannot be read.
    """
    for (index,) in list(
        source.execute("SELECT name FROM pragma_index_list(?) WHERE NOT partial", (table,))
    ):
        try:
            rows = source.execute(
                f"SELECT {number} FROM {quote(table)} INDEXED BY {quote(index)}"
            ).fetchall()
        except apsw.Error:
            continue  # it is damaged too, or needs what only another program has
        found = sorted(row[0] for row in rows if isinstance(row[0], int))
        after = found if first is None else found[bisect_right(found, first) :]
        return after if last is None else after[: bisect_left(after, last)], True
    start = 1 if first is None else first + 1
    end = last if last is not None else _last_number(source, table, start)
    return range(start, min(end, start + MAX_PROBES)), False


def _last_number(source: apsw.Connection, table: str, start: int) -> int:
    """Return a number beyond the last row of a table whose end cannot be read."""
    try:
        sql = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        given = source.execute(sql, (table,)).get
    except apsw.Error:
        given = None
    return given + 1 if isinstance(given, int) else start + MAX_PROBES


def _unread(table: str, lost: int | None) -> str:
    if lost is None:
        return f"Some rows of {table} could not be read."
    return f"{lost:,} {'row' if lost == 1 else 'rows'} of {table} could not be read."


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
                done.lost.append(_unread(table, None))


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
