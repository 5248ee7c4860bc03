"""Finds out what is broken in a database, and mends what needs no more than its own contents.

An index can be built again from its table, a full-text index from its messages, the list of free
pages from all others. Only damage to the tables themselves loses anything; see `salvage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import apsw

from hermes_store.engines.sqlite.raw_rows import quote
from hermes_store.engines.sqlite.schema_reader import stored

MAX_COMPLAINTS = 1_000

_INDEX = re.compile(
    r"(?:missing from|wrong # of entries in|non-unique entry in|row \d+ of) index (.+)"
)
_FULLTEXT = re.compile(r"fts5.* table (?:main\.)?\"?([^\":]+)", re.I)
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

    @property
    def found(self) -> bool:
        """Whether anything is broken."""
        return bool(self.indexes or self.fulltext or self.free_pages or self.tables)


def find_damage(con: apsw.Connection) -> Damage:
    """Run SQLite's integrity check, which includes the full-text indexes."""
    try:
        rows = con.execute(f"PRAGMA integrity_check({MAX_COMPLAINTS})")
        complaints = tuple(str(row[0]) for row in rows)
        owners = _owners(con)
    except (apsw.Error, UnicodeDecodeError) as error:
        return Damage((str(error),), tables=True)
    if complaints == ("ok",):
        return Damage()
    indexes, fulltext, free, tables = set(), set(), False, False
    for line in (each for text in complaints for each in text.splitlines()):
        if found := _INDEX.search(line):
            indexes.add(found[1])
        elif found := _FULLTEXT.search(line):
            fulltext.add(found[1])
        elif _FREE.search(line):
            free = True
        elif found := _TREE.search(line):
            kind, name = owners.get(int(found[1]), ("table", ""))
            {"index": indexes, "fulltext": fulltext}.get(kind, set()).add(name)
            tables = tables or kind == "table"
        elif not line.startswith("***") and not _is_about_values(line):
            tables = True
    return Damage(complaints, frozenset(indexes), frozenset(fulltext), free, tables)


def _is_about_values(line: str) -> bool:
    """Tell whether a line complains about what was stored, which is no damage to the file."""
    return line.startswith(("NULL value in", "CHECK constraint failed", "NUMERIC value in"))


def _owners(con: apsw.Connection) -> dict[int, tuple[str, str]]:
    """Return the kind and name of what each tree of the file belongs to, by its first page."""
    virtual = fulltext_tables(con)
    owners = {}
    for kind, name, page in con.execute("SELECT type, name, rootpage FROM main.sqlite_master"):
        of = next((each for each in virtual if str(name).startswith(f"{each}_")), None)
        owners[int(page or 0)] = ("fulltext", of) if of else (str(kind), str(name))
    return owners


def fulltext_tables(con: apsw.Connection) -> dict[str, str]:
    """Return the names and declarations of all FTS5 tables."""
    return {name: sql for name, sql in stored(con, "table").items() if is_fulltext(sql)}


def is_fulltext(sql: str) -> bool:
    """Tell whether a declaration is that of an FTS5 table."""
    return _DECLARED.match(sql) is not None


# -- mending -----------------------------------------------------------------------------------


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
