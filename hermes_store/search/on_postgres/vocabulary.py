"""The words that messages have, for mending typos."""

from __future__ import annotations

from collections.abc import Iterator, Set

from hermes_store.engines.base import Transaction

SHORT_WORD = 5
"""One wrong letter in the middle of a word this short leaves no three in a row."""


class PostgresVocabulary:
    """The list of words on a server, and words that are not in it yet."""

    def __init__(self, tx: Transaction, unlisted: Set[str]) -> None:
        self._tx = tx
        self._unlisted = unlisted

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three letters in a row with a word."""
        pieces = list(_pieces(word))
        if not pieces:
            return []
        tests = " OR ".join(["strpos(w.bounded, ?) > 0"] * len(pieces))
        rows = self._tx.rows(
            "SELECT DISTINCT w.word FROM words c, LATERAL (SELECT each.word, "
            "'\n' || each.word || '\n' AS bounded "
            "FROM string_to_table(c.words, '\n') AS each(word)) w "
            f"WHERE length(w.word) BETWEEN ? AND ? AND ({tests}) LIMIT ?",
            (max(1, len(word) - 2), len(word) + 2, *pieces, limit),
        )
        found = dict.fromkeys(str(each) for (each,) in rows)
        for each in self._unlisted:
            if abs(len(each) - len(word)) <= 2 and any(p in f"\n{each}\n" for p in pieces):
                found[each] = None
        return list(found)


def _pieces(word: str) -> Iterator[str]:
    for place in range(len(word) - 2):
        yield word[place : place + 3]
    if len(word) <= SHORT_WORD:
        yield f"\n{word[:2]}"
        yield f"{word[-2:]}\n"
