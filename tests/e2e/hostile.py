"""A database whose every text tries to take over the terminal, and what must never come of it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from tests.support import add, raw

MARK = "PWNED"
PAYLOADS = {
    "title": f"\x1b]0;{MARK}\x07\x1b]2;{MARK}\x1b\\",
    "clipboard": f"\x1b]52;c;{MARK}==\x07",
    "link": f"\x1b]8;;http://{MARK}\x1b\\",
    "c1": f"\x9b2J\x9b31m\x9d0;{MARK}\x9c\x90{MARK}\x9c",
    "erase": "\x1b[2J\x1b[H\x1b[31;44m\x1b[?1049l\x1bc",
    "query": "\x1b[6n\x1b[c\x1b[5n\x1bP$qm\x1b\\",
    "controls": "a\x00b\x07c\x08\x08\x08d\re\x0cf\x0bg\x1ah\x7f",
    "bidi": "\u202egnp.exe\u2066x\u2069\u200f\u061c",
    "markup": "[/x][@click=app.quit]x[/][red]r[/red][b]bold[on blue]${y}[$primary]",
    "joiners": "👩\u200d👩\u200d👧 e\u0301\u0301\u0301 a\u200db \ufe0f",
    "tabs": "one\ttwo\t\tthree",
}
ALL = "".join(f"{name}={payload} " for name, payload in PAYLOADS.items())
WORD = "zebrafish"
"""In every text, to be searched for."""
SESSIONS = 6
LONG_LINE = 5_000_000
MANY_LINES = 10_000


def fill(path: Path) -> None:
    """Write the database: by the store where it lets such things in, past it for the rest."""
    now = time.time() - 4_000
    with SessionDB(path) as db:
        for number in range(SESSIONS):
            _session(db, f"hostile_{number}", now + number)
        _session(db, f"hostile_id {ALL}", now + SESSIONS)
        add(db, "hostile_long", f"{WORD} {ALL}" + "x" * LONG_LINE, at=now - 50, ended=now)
        lines = "\n".join(f"line {n} {ALL if n % 50 == 0 else n}" for n in range(MANY_LINES))
        add(db, "hostile_lines", f"{WORD} {lines}", at=now - 60, ended=now)
        add(db, "hostile_child", f"{WORD} child {ALL}", at=now + 2, parent="hostile_1", ended=now)
        db.store.marks.tag("hostile_0", "tag[/x]")
        db.store.saved_searches.save("kept", WORD)
    with raw(path_for(path)) as con:
        con.execute("UPDATE marks SET value = ?", (f"tag{PAYLOADS['title']}{PAYLOADS['c1']}[/x]",))
        con.execute("UPDATE saved_searches SET name = ?, text = ?", (f"kept {ALL}", ALL))
        con.execute("INSERT INTO search_history VALUES (?, 1.0)", (f"{WORD} {ALL}",))
    with raw(path) as con:
        con.execute(
            "UPDATE sessions SET title = id || ?, model = ?, user_id = ?, end_reason = ?, "
            "billing_provider = ?",
            (ALL, f"model {ALL}", f"user {ALL}", f"reason {ALL}", ALL),
        )
        con.execute("UPDATE sessions SET source = ? WHERE id = 'hostile_2'", (f"src{ALL}",))
        con.execute("UPDATE messages SET tool_name = ? WHERE role = 'tool'", (f"tool{ALL}",))
        con.execute(
            "UPDATE sessions SET title = NULL "
            "WHERE id IN ('hostile_3', 'hostile_long') OR id GLOB 'hostile_id*'"
        )
        # Half of a surrogate pair and broken UTF-8, as other programs leave them.
        for column, text in (("content", "said"), ("reasoning", "thought")):
            con.execute(
                f"UPDATE messages SET {column} = CAST(x'eda080fffe' || ? AS TEXT) "
                "WHERE session_id = 'hostile_4' AND role = 'assistant'",
                (f"{WORD} {text} {ALL}".encode(),),
            )
        con.execute(
            "UPDATE sessions SET title = CAST(x'eda0bd' || ? AS TEXT) WHERE id = 'hostile_5'",
            (f"five {ALL}".encode(),),
        )


def _session(db: SessionDB, name: str, at: float) -> None:
    add(db, name, f"{WORD} asked {ALL}", at=at)
    arguments = json.dumps({"command": ALL, ALL: [ALL]})
    calls = [
        {"id": ALL, "function": {"name": f"call{ALL}", "arguments": arguments}},
        {"id": "2", "function": {"name": "plain", "arguments": f"not json {ALL}"}},
        {"id": "3", "name": ALL, "input": {ALL: ALL}},
        ALL,
    ]
    db.append_message(
        name,
        "assistant",
        f"# {WORD} {ALL}\n\n```sh\n{ALL}\n```\n\n* `{ALL}`\n\n| a | b |\n|---|---|\n| {ALL} | x |\n"
        f"\n[{ALL}](http://{MARK}) <b>{ALL}</b> ![{ALL}](x)",
        reasoning=f"{WORD} thought {ALL}",
        tool_calls=calls,
        timestamp=at + 2,
    )
    db.append_message(name, "tool", f"{WORD} put out {ALL}", tool_name="terminal", timestamp=at + 3)
    db.append_message(name, "system", f"system {ALL}", timestamp=at + 4)
    db.append_message(name, f"role{ALL}", f"odd {ALL}", timestamp=at + 5)
    db.append_message(name, "assistant", f"{WORD} answered {ALL}", timestamp=at + 6)
    db.end_session(name, "user_exit")


# -- what must not come out --------------------------------------------------------------------

# Everything that Textual itself sends. What else begins with ESC came from somebody else.
_KNOWN = re.compile(
    rb"\x1b\[[0-9;:]*m"  # colours
    rb"|\x1b\[[0-9]+;[0-9]+H|\x1b\[[0-9]*[ABCDGJK]"  # moving and erasing
    rb"|\x1b\[\?(?:7|25|1000|1003|1004|1006|1015|1049|2004|2026|2048)[hl]|\x1b\[<u"
    rb"|\x1b\[\?20(?:26|48)\$p"
    rb"|\x1b\]22;[a-z-]+\x07"  # the shape of the mouse pointer
)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f]")
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def escaped(output: bytes) -> list[bytes]:
    """Return whatever in some output acts on a terminal and is not Textual's own."""
    rest = _KNOWN.sub(b"", output)
    found = [rest[m.start() : m.start() + 30] for m in re.finditer(rb"\x1b", rest)]
    found += [rest[m.start() : m.start() + 30] for m in _CONTROL.finditer(rest)]
    found += [each.encode() for each in BIDI if each.encode() in output]
    try:
        output.decode()
    except UnicodeDecodeError as error:
        found.append(output[error.start : error.start + 30])
    return found
