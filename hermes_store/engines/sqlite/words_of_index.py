"""The words of an index, and which messages of a database hold more than an index does."""

from __future__ import annotations

import re
from collections.abc import Sequence

import apsw

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.fulltext import WORDS, indexed_text
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list_file import SECTION_OF, SECTIONS, Head, Sections, joined
from hermes_store.records.stored_values import LARGEST, number, text

STEP_WORDS = 40_000
SAMPLES = 8
SAME_LETTERS = 2
INDEXED_OF_TOOLS = 8_192
"""Characters of a tool's output that the column layout indexes."""
# FTS5 cuts words off at 32,768 bytes.
_CUT_OFF = re.compile(rb"[^\n]{32760,}")


def can_be_made(tx: SqliteTransaction) -> bool:
    """Tell whether an index holds the words of all messages, and ids are assigned only once."""
    return (
        tx.caps.words is not FullText.NONE
        and tx.caps.holds_all_text
        and tx.caps.unindexed is None
        and "sqlite_sequence" in tx.caps.tables
    )


class WordsOfIndex:
    """The words of an index without a list of them: only their beginnings can be looked up."""

    def __init__(self, tx: SqliteTransaction) -> None:
        self._tx = tx

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that begin with the same two letters."""
        if self._tx.caps.words is FullText.NONE or len(word) < SAME_LETTERS:
            return []
        start = word[:SAME_LETTERS]
        rows = self._tx.rows(
            f"SELECT term FROM {_vocabulary(self._tx.connection, 'main', WORDS)} WHERE term >= ? "
            "AND term < ? AND length(term) BETWEEN ? AND ? LIMIT ?",
            (start, start + "\U0010ffff", len(word) - 2, len(word) + 2, limit),
        )
        return [text(term) for (term,) in rows]


def _vocabulary(con: apsw.Connection, schema: str, table: str) -> str:
    """Return the name of a table with the words of an index, made on first use."""
    name = f"temp.words_of_{table}"
    con.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab({schema}, {table}, row)"
    )
    return name


def words_after(
    con: apsw.Connection, schema: str, table: str, last: str
) -> tuple[Sections, str | None]:
    """Return the next words of an index, a line for each, and the last one if more may follow."""
    terms = _vocabulary(con, schema, table)
    # As bytes: other programs can store anything as text, and apsw returns only valid text.
    sections = ", ".join(
        f"CAST(group_concat(term, char(10)) FILTER (WHERE section = {place}) AS BLOB)"
        for place in range(len(SECTIONS))
    )
    # A few values instead of a row per word: SQLite does it all without holding up other threads.
    *found, number, final = con.execute(
        f"SELECT {sections}, COUNT(*), CAST(MAX(term) AS BLOB) FROM "
        f"(SELECT term, {SECTION_OF} AS section FROM {terms} WHERE term > CAST(? AS TEXT) "
        f"ORDER BY term LIMIT {STEP_WORDS})",
        (last.encode("utf-8", "surrogateescape"),),
    ).get
    step = tuple(_lines(words) if words else b"" for words in found)
    if number < STEP_WORDS:
        return step, None
    return step, final.decode("utf-8", "surrogateescape")


def _lines(words: bytes) -> bytes:
    return words.decode("utf-8", "replace").encode() + b"\n"


def words_between(con: apsw.Connection, low: int, high: int) -> Sections:
    """Return the words of the messages between two ids, split by SQLite."""
    con.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.fresh USING fts5(content, content='')")
    con.execute("INSERT INTO temp.fresh(fresh) VALUES('delete-all')")
    con.execute(
        f"INSERT INTO temp.fresh(rowid, content) SELECT id, {indexed_text()} FROM messages "
        "WHERE id > ? AND id <= ?",
        (low, high),
    )
    found: list[Sections] = []
    last: str | None = ""
    while last is not None:
        step, last = words_after(con, "temp", "fresh", last)
        found.append(step)
    con.execute("INSERT INTO temp.fresh(fresh) VALUES('delete-all')")
    return joined(found)


def apart(tx: SqliteTransaction, after: int = 0, up_to: int = LARGEST) -> list[int]:
    """Return the messages with text that the indexes do not hold.

    Trigram indexes of other programs end at NUL, with which multimodal content begins; the
    column layout indexes only the beginning of what a tool says.
    """
    if tx.caps.words is FullText.COLUMNS:
        left_out = long_output()
    elif tx.caps.trigram is FullText.INLINE:
        left_out = f"instr({indexed_text()}, char(0))"
    else:
        return []
    found = tx.rows(
        f"SELECT id FROM messages WHERE id > ? AND id <= ? AND {left_out}", (after, up_to)
    )
    return [message_id for (message_id,) in found]


def long_output(row: str = "") -> str:
    """Return the SQL condition for messages whose end the column layout does not index."""
    dot = f"{row}." if row else ""
    return f"{dot}role = 'tool' AND octet_length({dot}content) > {INDEXED_OF_TOOLS}"


def cut_off(sections: Sections) -> list[str]:
    """Return the words that FTS5 has cut off."""
    found = (word for words in sections for word in _CUT_OFF.findall(words))
    return [word.decode("utf-8", "replace") for word in found]


def having(tx: SqliteTransaction, words: Sequence[str], high: int) -> list[int]:
    """Return the messages up to an id that have one of some words."""
    return [
        message_id
        for word in words
        for (message_id,) in tx.rows(
            f"SELECT rowid FROM {WORDS} WHERE {WORDS} MATCH ? AND rowid <= ?", (f'"{word}"', high)
        )
    ]


def share(last: str | None) -> int:
    """Return about how many per cent of all words come before one; digits are a quarter."""
    if last is None:
        return 100
    first, second = ord(last[0]), ord(last[1]) if len(last) > 1 else 0
    if first < ord("a"):
        return max(0, min(24, (first - ord("0")) * 5 // 2))
    place = (first - ord("a")) * 26 + max(0, min(25, second - ord("a")))
    return min(99, 25 + place * 70 // 676)


# -- which database it is ----------------------------------------------------------------------


def _identity(tx: SqliteTransaction, message_id: int) -> str | None:
    """Return what tells the message with an id from that of another database."""
    row = tx.one("SELECT session_id, timestamp FROM messages WHERE id = ?", (message_id,))
    return None if row is None else f"{text(row[0])} {row[1]}"


def samples(tx: SqliteTransaction, top: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in range(SAMPLES, 0, -1):
        near = tx.value("SELECT MAX(id) FROM messages WHERE id <= ?", (top * place // SAMPLES,))
        known = None if near is None else _identity(tx, near)
        if known is not None:
            found[str(near)] = known
    return found


def belongs(head: Head, tx: SqliteTransaction) -> bool:
    """Tell whether a list was made from this database, and from no later state of it.

    Ids are assigned once, so a database that has assigned fewer is an older copy.
    """
    given = number(tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'messages'"))
    if given is not None and given < head.covered:
        return False
    found = [(known, _identity(tx, int(message_id))) for message_id, known in head.samples.items()]
    left = [known == now for known, now in found if now is not None]
    return all(left) and (bool(left) or not head.samples)
