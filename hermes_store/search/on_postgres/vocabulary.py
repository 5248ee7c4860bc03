"""The words that messages have, for mending typos."""

from __future__ import annotations

from collections.abc import Set

from hermes_store.engines.base import Transaction
from hermes_store.search.on_postgres.lookups import pieces_of

SHORT_WORD = 5
"""One wrong letter in the middle of a word this short leaves no three in a row."""


class PostgresVocabulary:
    """The list of words on a server, and words that are not in it yet."""

    def __init__(self, tx: Transaction, unlisted: Set[str]) -> None:
        self._tx = tx
        self._unlisted = unlisted

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three letters in a row with a word."""
        pieces = pieces_of(word, ends=len(word) <= SHORT_WORD)
        beginning = word[:2] if 2 <= len(word) <= SHORT_WORD else None
        if not pieces:
            return []
        begins = " OR (word >= ?5 AND word < ?6)" if beginning else ""
        rows = self._tx.rows(
            f"SELECT word FROM vocabulary WHERE (pieces(word) && CAST(?1 AS text[]){begins}) "
            "AND length(word) BETWEEN ?2 AND ?3 LIMIT ?4",
            (
                pieces,
                max(1, len(word) - 2),
                len(word) + 2,
                limit,
                *((beginning, f"{beginning}\U0010ffff") if beginning else ()),
            ),
        )
        found = dict.fromkeys(str(each) for (each,) in rows)
        for each in self._unlisted:
            alike = any(piece in f"{each}\n" for piece in pieces)
            alike = alike or (beginning is not None and each.startswith(beginning))
            if alike and abs(len(each) - len(word)) <= 2:
                found[each] = None
        return list(found)
