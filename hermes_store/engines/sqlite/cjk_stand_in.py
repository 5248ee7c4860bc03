"""Writing into files whose Chinese, Japanese and Korean index needs a tokenizer of its own.

A newer Hermes can have an index `messages_fts_cjk` with a tokenizer that only it brings along.
Without one of that name, every change of a message fails inside a trigger. The stand-in finds no
words, so the index misses the change; the note in `state_meta` with which Hermes itself answers
this tells it to rebuild the index before using it again. Nothing in the schema is changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from hermes_store.engines.sqlite.schema_reader import stored

TOKENIZER = "cjk_unicode61"
STALE_KEY = "fts_cjk_stale"


class StandIn:
    """Stands in for the tokenizer on one connection, and remembers whether it was needed."""

    def __init__(self, con: apsw.Connection) -> None:
        self.missed = False
        """Whether a change was made that the index does not have."""
        if any(TOKENIZER in sql for sql in stored(con, "table").values()):
            con.register_fts5_tokenizer(TOKENIZER, self._make)

    def _make(self, _con: apsw.Connection, _arguments: list[str]) -> apsw.Tokenizer:
        def tokenize(_text: bytes, _reason: int, _locale: str | None) -> Iterable[str]:
            self.missed = True
            return ()

        return tokenize

    def note(self, con: apsw.Connection) -> None:
        """Note in the same transaction that the index must be rebuilt, if it must."""
        if self.missed and "state_meta" in stored(con, "table"):
            con.execute(
                "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, '1')", (STALE_KEY,)
            )
