"""Tells triggers and views created by any version of this program from those of others.

A trigger may differ from the one declared here because another version of this program created
it. That is no reason to rebuild an index, or two installed versions would do so in turns. So the
creator of such objects leaves their fingerprint in the database, to compare with when opening it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import apsw

from hermes_store.engines.sqlite.schema_reader import stored
from hermes_store.records.stored_values import text

_KEY = "hermes_sessions_made_{what}"


def record(con: apsw.Connection, what: str, names: Iterable[str]) -> None:
    """Store the fingerprint of objects just created. Runs inside a transaction."""
    con.execute(
        "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)",
        (_KEY.format(what=what), _digest(con, names)),
    )


def is_ours(con: apsw.Connection, what: str, declared: dict[str, str]) -> bool:
    """Return whether all objects exist, exactly as a version of this program created them."""
    found = stored(con, "trigger") | stored(con, "view")
    if not declared.keys() <= found.keys():
        return False
    if all(found[name] == sql for name, sql in declared.items()):
        return True
    if "state_meta" not in stored(con, "table"):
        return False  # the fingerprint is gone
    left = con.execute(
        "SELECT CAST(value AS BLOB) FROM state_meta WHERE key = ?", (_KEY.format(what=what),)
    ).get
    return left is not None and text(left) == _digest(con, declared)


def _digest(con: apsw.Connection, names: Iterable[str]) -> str:
    found = stored(con, "trigger") | stored(con, "view")
    listed = json.dumps([[name, found.get(name)] for name in sorted(names)])
    return hashlib.sha256(listed.encode()).hexdigest()
