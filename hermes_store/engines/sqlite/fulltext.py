"""The full-text layout: the only place that declares FTS views, tables and triggers.

Both indexes take their text from views, so that no text is stored twice. They index the content,
tool name and tool calls of a message, joined by spaces, under the names that Hermes Agent uses;
its queries and its `snippet(messages_fts, 0, …)` keep their meaning. The trigram index holds only
rows with Chinese, Japanese or Korean text; the word index covers everything else at a sixth of
the size.

A Hermes Agent with SQLite 3.40 may open the same file, so only SQL that 3.40 runs is allowed.

During a rebuild in small steps, `state_meta['hermes_sessions_fts_floor']` holds the lowest message
id indexed so far; the triggers of that time leave rows below it to the rebuild. Without that key
everything is indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from hermes_store.engines.sqlite import trigger_fingerprint
from hermes_store.engines.sqlite.schema_reader import stored
from hermes_store.records.stored_values import LARGEST, number

WORDS = "messages_fts"
TRIGRAM = "messages_fts_trigram"
WORDS_VIEW = "message_words"
TRIGRAM_VIEW = "message_cjk"
FLOOR_KEY = "hermes_sessions_fts_floor"
UNKNOWN = LARGEST
"""The floor of a rebuild whose record is unreadable; it starts over."""

PARTS_BEFORE_MERGE = 16
"""How many parts of a size FTS5 collects before it merges them in steps; its default is 4.

This makes appending a sixth faster and deleting a quarter; searching, which reads more parts,
takes up to a tenth longer.
"""
PARTS_AT_MOST = 32
"""How many parts of a size there may be before one write merges all of them; its default is 16.

Far enough above PARTS_BEFORE_MERGE for the steps to finish first: only the smallest parts, those
of single appends, arrive faster.
"""
PART_BYTES = 2_000
"""The size of an index's blocks; its default of 4050 fills a page of the file.

Two fit into a page, with room for the small blocks that an append adds, so that an append writes
a fifth fewer pages; the file grows by half a percent, and searches take as long.
"""
_SETTINGS = {"automerge": PARTS_BEFORE_MERGE, "crisismerge": PARTS_AT_MOST, "pgsz": PART_BYTES}

# Limits of one rebuild step: about 0.1 s of indexing for ordinary messages.
STEP_ROWS = 500
STEP_BYTES = 1_500_000

# Jamo, radicals to unified ideographs with kana and punctuation, Hangul, compatibility forms,
# full- and half-width forms, supplementary ideographs. A superset of Hermes Agent's CJK.
_CJK_CLASS = "ᄀ-ᇿ⺀-鿿ꥠ-꥿가-퟿豈-﫿＀-￯\U00020000-\U0003fffd"

_REBUILD_FLOOR = f"(SELECT CAST(value AS INTEGER) FROM state_meta WHERE key = '{FLOOR_KEY}')"


def indexed_text(row: str = "") -> str:
    """Return the SQL for the indexed text of a message row (`new`, `old` or a table's own)."""
    dot = f"{row}." if row else ""
    return (
        f"COALESCE({dot}content, '') || ' ' || COALESCE({dot}tool_name, '') || ' ' || "
        f"COALESCE({dot}tool_calls, '')"
    )


def trigram_text(row: str = "") -> str:
    """Return the SQL for the trigram index's text of a message row.

    The trigram tokenizer, GLOB and length() stop at NUL, which multimodal content begins with;
    json_quote avoids that. Two spaces at the end let every character begin a trigram.
    """
    text = indexed_text(row)
    return f"CASE WHEN instr({text}, char(0)) THEN json_quote({text}) ELSE {text} END || '  '"


def has_cjk(row: str = "") -> str:
    """Return the SQL condition for message rows that belong in the trigram index.

    Comparing byte and character length first spares plain ASCII the pattern match.
    """
    text = indexed_text(row)
    return (
        f"length(CAST({text} AS BLOB)) <> length({text}) "
        f"AND ({trigram_text(row)}) GLOB '*[{_CJK_CLASS}]*'"
    )


VIEWS = {
    WORDS_VIEW: (
        f"CREATE VIEW {WORDS_VIEW} AS SELECT id, {indexed_text()} AS content FROM messages"
    ),
    TRIGRAM_VIEW: (
        f"CREATE VIEW {TRIGRAM_VIEW} AS SELECT id, {trigram_text()} AS content "
        f"FROM messages WHERE {has_cjk()}"
    ),
}

TABLES = {
    WORDS: (
        f"CREATE VIRTUAL TABLE {WORDS} USING fts5("
        f"content, content='{WORDS_VIEW}', content_rowid='id')"
    ),
    TRIGRAM: (
        f"CREATE VIRTUAL TABLE {TRIGRAM} USING fts5("
        f"content, content='{TRIGRAM_VIEW}', content_rowid='id', tokenize='trigram')"
    ),
}
_TEXT = {WORDS: indexed_text, TRIGRAM: trigram_text}
_VIEW_OF = {WORDS: WORDS_VIEW, TRIGRAM: TRIGRAM_VIEW}
MADE = "fulltext"


def _wanted(table: str) -> str:
    """Return the condition under which a new row belongs in an index."""
    return has_cjk("new") if table == TRIGRAM else ""


def _held(table: str) -> str:
    """Return the condition under which an old row is in an index.

    Looking up the row in the index is several times faster than examining its text.
    """
    known = f"EXISTS (SELECT 1 FROM {table}_docsize WHERE id = old.id)"
    return known if table == TRIGRAM else ""


def _if(word: str, *conditions: str) -> str:
    given = [each for each in conditions if each]
    return f" {word} {' AND '.join(given)}" if given else ""


def _add(table: str, condition: str = "") -> str:
    text = _TEXT[table]("new")
    return f"INSERT INTO {table}(rowid, content) SELECT new.id, {text}{condition};"


def _remove(table: str, condition: str = "") -> str:
    text = _TEXT[table]("old")
    return (
        f"INSERT INTO {table}({table}, rowid, content) SELECT 'delete', old.id, {text}{condition};"
    )


_CHANGED = (
    "(old.content IS NOT new.content OR old.tool_name IS NOT new.tool_name "
    "OR old.tool_calls IS NOT new.tool_calls)"
)


def _table_triggers(table: str, rebuilding: bool) -> dict[str, str]:
    known = f"old.id >= {_REBUILD_FLOOR}" if rebuilding else ""
    # A message that is restored with its old id below the floor is indexed by the rebuild.
    reached = f"new.id >= {_REBUILD_FLOOR}" if rebuilding else ""
    wanted, held = _wanted(table), _held(table)
    return {
        f"{table}_insert": (
            f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages"
            f"{_if('WHEN', reached, wanted)} "
            f"BEGIN {_add(table)} END"
        ),
        f"{table}_delete": (
            f"CREATE TRIGGER {table}_delete AFTER DELETE ON messages{_if('WHEN', known, held)} "
            f"BEGIN {_remove(table)} END"
        ),
        f"{table}_update": (
            f"CREATE TRIGGER {table}_update AFTER UPDATE OF content, tool_name, tool_calls "
            f"ON messages{_if('WHEN', _CHANGED, known)} BEGIN "
            f"{_remove(table, _if('WHERE', held))} {_add(table, _if('WHERE', wanted))} END"
        ),
    }


def triggers(*, rebuilding: bool = False) -> dict[str, str]:
    """Return the six triggers by name, for normal use or for a rebuild."""
    return _table_triggers(WORDS, rebuilding) | _table_triggers(TRIGRAM, rebuilding)


def is_external(con: apsw.Connection) -> bool:
    """Return whether both full-text tables take their text from this store's views."""
    tables = stored(con, "table")
    return all(has_layout(tables.get(name), name) for name in TABLES)


def is_mixed(con: apsw.Connection) -> bool:
    """Return whether only one table has this layout because another program replaced the other."""
    tables = stored(con, "table")
    return len({has_layout(tables.get(name), name) for name in TABLES}) > 1


def has_layout(sql: str | None, table: str) -> bool:
    """Return whether a table's declaration takes its text from this store's view."""
    return sql is not None and f"content='{_VIEW_OF[table]}'" in sql


def is_intact(con: apsw.Connection) -> bool:
    """Return whether views and triggers are ours, in any version, so the index can be trusted.

    A program without FTS5 drops the triggers, and an older Hermes then replaces them with its
    own; those leave stale entries in an index whose text is stored elsewhere.
    """
    declared = triggers(rebuilding=floor(con) is not None) | VIEWS
    return trigger_fingerprint.is_ours(con, MADE, declared)


def floor(con: apsw.Connection) -> int | None:
    """Return the lowest indexed message id of a rebuild in progress, or None.

    UNKNOWN if the stored one is unreadable: then nothing counts as indexed.
    """
    if "state_meta" not in stored(con, "table"):
        return None
    value = con.execute(
        "SELECT CAST(value AS BLOB) FROM state_meta WHERE key = ?", (FLOOR_KEY,)
    ).get
    found = number(value)
    if value is not None and found is None:
        return UNKNOWN
    return None if found is None else int(found)


def drop(con: apsw.Connection) -> None:
    """Drop every full-text object, whatever its layout. Runs inside a transaction."""
    for name in triggers():
        con.execute(f"DROP TRIGGER IF EXISTS {name}")
    for name in TABLES:
        con.execute(f"DROP TABLE IF EXISTS {name}")
    for name in VIEWS:
        con.execute(f"DROP VIEW IF EXISTS {name}")


def create(con: apsw.Connection, *, rebuilding: bool = False) -> None:
    """Create the layout with empty indexes. Runs inside a transaction."""
    for sql in (*VIEWS.values(), *TABLES.values(), *triggers(rebuilding=rebuilding).values()):
        con.execute(sql)
    for table in TABLES:
        for setting, value in _SETTINGS.items():
            con.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (setting, value))
    trigger_fingerprint.record(con, MADE, triggers() | VIEWS)


def start_rebuild(con: apsw.Connection) -> None:
    """Replace all full-text objects with empty ones and record that all rows must be indexed.

    Runs inside a transaction. Once it commits, new messages are indexed as they arrive.
    """
    drop(con)
    create(con, rebuilding=True)
    top = con.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM messages").get
    con.execute("INSERT OR REPLACE INTO state_meta VALUES (?, ?)", (FLOOR_KEY, str(top)))


def rebuild_step(con: apsw.Connection) -> int | None:
    """Index the next rows below the floor, newest first; return the new floor, None at the end.

    Runs inside a transaction; killing the process between two steps loses nothing.
    """
    top = floor(con)
    if top is None:
        return None
    bottom = _step_bottom(con, top)
    for table, view in ((WORDS, WORDS_VIEW), (TRIGRAM, TRIGRAM_VIEW)):
        # Ascending within the step: FTS5 flushes its buffer whenever a rowid decreases.
        con.execute(
            f"INSERT INTO {table}(rowid, content) "
            f"SELECT id, content FROM {view} WHERE id >= ? AND id < ? ORDER BY id",
            (bottom, top),
        )
    if con.execute("SELECT 1 FROM messages WHERE id < ? LIMIT 1", (bottom,)).get is not None:
        con.execute("UPDATE state_meta SET value = ? WHERE key = ?", (str(bottom), FLOOR_KEY))
        return bottom
    _finish_rebuild(con)
    return None


def _step_bottom(con: apsw.Connection, top: int) -> int:
    """Return the lowest id of the step below `top` that fits the row and byte limits."""
    bottom, size = top, 0
    rows = con.execute(
        "SELECT id, length(CAST(content AS BLOB)) FROM messages WHERE id < ? "
        f"ORDER BY id DESC LIMIT {STEP_ROWS}",
        (top,),
    )
    for message_id, length in rows:
        bottom, size = message_id, size + (length or 0)
        if size >= STEP_BYTES:
            break
    return bottom


def _finish_rebuild(con: apsw.Connection) -> None:
    for name, sql in triggers().items():
        con.execute(f"DROP TRIGGER IF EXISTS {name}")
        con.execute(sql)
    trigger_fingerprint.record(con, MADE, triggers() | VIEWS)
    con.execute("DELETE FROM state_meta WHERE key = ?", (FLOOR_KEY,))


def rebuild(
    transaction: Callable[[], Iterator[apsw.Connection]],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Finish a rebuild that was started, in short transactions.

    `transaction` yields a connection inside a write transaction; `progress` is called with the
    number of messages done and their total.
    """
    total = 0
    for con in transaction():
        if floor(con) == UNKNOWN:
            start_rebuild(con)
        total = (floor(con) or 1) - 1
    remaining: int | None = total
    while remaining is not None:
        for con in transaction():
            remaining = rebuild_step(con)
        if progress is not None:
            progress(total - (remaining - 1 if remaining else 0), total)


MERGE_PAGES = 200


def merge_step(con: apsw.Connection, table: str, *, first: bool) -> bool:
    """Merge some parts of an index; return whether there is more to do.

    FTS5 could do it all at once, but would hold the write lock for as long as that takes.
    """
    before = con.total_changes()
    pages = -MERGE_PAGES if first else MERGE_PAGES
    con.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (pages,))
    # The command itself counts as one change; more means that it did some work.
    return con.total_changes() - before >= 2


def check(con: apsw.Connection) -> list[str]:
    """Run FTS5's own integrity check, including content; return the problems it reports."""
    problems = []
    for table in TABLES:
        try:
            con.execute(f"INSERT INTO {table}({table}, rank) VALUES('integrity-check', 1)")
        except apsw.Error as error:
            problems.append(f"{table}: {error}")
    return problems
