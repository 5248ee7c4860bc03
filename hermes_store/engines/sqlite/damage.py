"""Finds out what is broken in a database, and mends what needs no more than its own contents.

An index can be built again from its table, a full-text index from its messages, the list of free
pages from all others. Only damage to the tables themselves loses anything; see `salvage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import apsw

from hermes_store.engines.sqlite import schema
from hermes_store.engines.sqlite.file_capabilities import version
from hermes_store.engines.sqlite.schema_reader import columns, quote, stored

MAX_COMPLAINTS = 1_000

_INDEX = re.compile(
    r"(?:missing from|wrong # of entries in|non-unique entry in|row \d+ of) index (.+)"
)
_FULLTEXT = re.compile(r"fts5.* table (?:main\.)?\"?([^\":]+)", re.I)
_UNCHECKED = "unable to validate"
_SHADOWS = ("data", "idx", "content", "docsize", "config")
_WORD = re.compile(rb"[\w\x80-\xff]+")
_DECLARED = re.compile(r"\s*create\s+virtual\s+table\b.*\busing\s+fts5\b", re.I | re.S)
_TREE = re.compile(r"Tree (\d+) ")
_FREE = re.compile(r"[Ff]reelist|[Pp]age \d+:? (?:is )?never used")


@dataclass(frozen=True, slots=True)
class Damage:
    """What an integrity check complains about, by what would mend it."""

    complaints: tuple[str, ...] = ()
    indexes: frozenset[str] = frozenset()
    fulltext: frozenset[str] = frozenset()
    free_pages: bool = False
    tables: bool = False
    """Whether tables are damaged, or the check could not even be completed."""
    unchecked: frozenset[str] = frozenset()
    """Tables that need a function, collation or tokenizer that only other programs have."""

    @property
    def found(self) -> bool:
        """Whether anything is broken."""
        return bool(self.indexes or self.fulltext or self.free_pages or self.tables)


def find_damage(con: apsw.Connection) -> Damage:
    """Run SQLite's integrity check, which includes the full-text indexes."""
    try:
        complaints, unchecked = _checked(con)
        owners = _owners(con)
    except (apsw.Error, UnicodeDecodeError) as error:
        return Damage((str(error),), tables=True)
    indexes: set[str] = set()
    fulltext: set[str] = set()
    free = tables = False
    for line in (each for text in complaints for each in text.splitlines()):
        if found := _INDEX.search(line):
            indexes.add(found[1])
        elif found := _FULLTEXT.search(line):
            (unchecked if line.startswith(_UNCHECKED) else fulltext).add(found[1])
        elif _FREE.search(line):
            free = True
        elif found := _TREE.search(line):
            kind, name = owners.get(int(found[1]), ("table", ""))
            {"index": indexes, "fulltext": fulltext}.get(kind, set()).add(name)
            tables = tables or kind == "table"
        elif not line.startswith("***") and not _is_about_values(line):
            tables = True
    told = tuple(each for each in complaints if not each.startswith(_UNCHECKED))
    return Damage(told, frozenset(indexes), frozenset(fulltext), free, tables, frozenset(unchecked))


def _checked(con: apsw.Connection) -> tuple[list[str], set[str]]:
    """Check the whole file, or table by table where some need what only other programs have."""
    unchecked: set[str] = set()
    try:
        return _complaints(con, str(MAX_COMPLAINTS)), unchecked
    except apsw.SQLError:
        complaints: list[str] = []
    for name in stored(con, "table"):
        try:
            complaints += _complaints(con, quote(name))
        except apsw.SQLError:
            unchecked.add(name)
    return complaints, unchecked


def _complaints(con: apsw.Connection, what: str) -> list[str]:
    rows = con.execute(f"PRAGMA integrity_check({what})")
    return [str(row[0]) for row in rows if row[0] != "ok"]


def _is_about_values(line: str) -> bool:
    """Tell whether a line complains about what was stored, which is no damage to the file."""
    return line.startswith(("NULL value in", "CHECK constraint failed", "NUMERIC value in"))


def _owners(con: apsw.Connection) -> dict[int, tuple[str, str]]:
    """Return the kind and name of what each tree of the file belongs to, by its first page."""
    shadows = {each: name for name in fulltext_tables(con) for each in shadows_of(name)}
    owners = {}
    for kind, name, table, page in con.execute(
        "SELECT type, name, tbl_name, rootpage FROM main.sqlite_master"
    ):
        of = shadows.get(table)
        owners[int(page or 0)] = ("fulltext", of) if of else (str(kind), str(name))
    return owners


def fulltext_tables(con: apsw.Connection) -> dict[str, str]:
    """Return the names and declarations of all FTS5 tables."""
    return {name: sql for name, sql in stored(con, "table").items() if is_fulltext(sql)}


def is_fulltext(sql: str) -> bool:
    """Tell whether a declaration is that of an FTS5 table."""
    return _DECLARED.match(sql) is not None


def shadows_of(name: str) -> tuple[str, ...]:
    """Return the names of the tables in which an FTS5 table stores its contents."""
    return tuple(f"{name}_{ending}" for ending in _SHADOWS)


def mended_declarations(con: apsw.Connection) -> dict[str, str]:
    """Return how the tables of Hermes were declared before damage changed the name of a column.

    Rows are stored by position, so that nothing but the declaration has to be corrected.
    """
    con.execute("PRAGMA writable_schema = ON")  # reads what can be read of a damaged schema
    try:
        found = {name: _mended(con, name) for name in schema.COLUMNS}
    finally:
        con.execute("PRAGMA writable_schema = RESET")
    return {name: sql for name, sql in found.items() if sql is not None}


def _mended(con: apsw.Connection, table: str) -> str | None:
    there = columns(con, table)
    try:
        recorded = version(con)
    except apsw.Error:
        recorded = schema.SCHEMA_VERSION
    wanted = [each.name for each in schema.COLUMNS[table] if each.since <= recorded]
    missing = [name.encode() for name in wanted if name not in there]
    sql = con.execute(
        "SELECT CAST(sql AS BLOB) FROM main.sqlite_master WHERE type = 'table' AND name = ?",
        (table,),
    ).get
    if not there or not missing or not isinstance(sql, bytes):
        return None
    for name in missing:
        words = {word for word in _WORD.findall(sql) if _differ_in_one_byte(word, name)}
        if len(words) != 1:
            return None
        sql = _with_word(sql, words.pop(), name)
    try:
        return sql.decode()
    except UnicodeDecodeError:
        return None


def _with_word(sql: bytes, wrong: bytes, right: bytes) -> bytes:
    return _WORD.sub(lambda found: right if found[0] == wrong else found[0], sql)


def _differ_in_one_byte(one: bytes, other: bytes) -> bool:
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1


# -- mending -----------------------------------------------------------------------------------


def declare(con: apsw.Connection, declarations: dict[str, str]) -> None:
    """Correct the declarations of tables."""
    con.execute("PRAGMA writable_schema = ON")
    with con:
        for name, sql in declarations.items():
            con.execute(
                "UPDATE main.sqlite_master SET sql = ? WHERE type = 'table' AND name = ?",
                (sql, name),
            )
        number = con.execute("PRAGMA schema_version").get
        con.execute(f"PRAGMA schema_version = {number + 1}")  # others read the schema again
    con.execute("PRAGMA writable_schema = RESET")


def rebuild_indexes(con: apsw.Connection, names: frozenset[str]) -> None:
    """Build indexes again from their tables."""
    with con:
        for name in sorted(names):
            con.execute(f"REINDEX {quote(name)}")


def rebuild_fulltext(con: apsw.Connection, names: frozenset[str]) -> None:
    """Build full-text indexes again from the text they index."""
    for name in sorted(names):
        table = quote(name)
        with con:
            con.execute(f"INSERT INTO {table}({table}) VALUES('rebuild')")


def rebuild_free_pages(con: apsw.Connection) -> None:
    """Rewrite the file, and with it the list of its free pages."""
    con.execute("VACUUM")
