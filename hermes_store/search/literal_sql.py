"""Conditions in SQL that the text of a message contains something literally, ignoring case.

SQLite compares: LIKE ignores the case of ASCII letters, GLOB gets both cases of other letters, and
text without case needs neither. No message leaves SQLite to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_store.records.sql_patterns import like
from hermes_store.search.field_conditions import Condition

COLUMNS = ("content", "tool_name", "tool_calls")

_GLOB = re.compile(r"[*?\[]")


def contains(needle: str, *, thoroughly: bool = True) -> Condition:
    """Return the condition that a message `m` contains a text.

    LIKE and GLOB end at NUL. Multimodal content begins with one and is always read behind it;
    text behind a NUL elsewhere only `thoroughly`, because looking for one takes twice as long.
    """
    texts = [f"m.{column}" for column in COLUMNS]
    if "\0" in needle:
        return _of_columns(texts, *_whole_test(needle))
    test, value = _test(needle)
    plain = _of_columns(texts, test, value)
    if test == _INSTR:
        return plain
    behind = test.format("CAST(substr(CAST(m.content AS BLOB), 2) AS TEXT)")
    sql, values = f"{plain.sql} OR (m.content < char(1) AND {behind})", [*plain.values, value]
    if thoroughly:
        test, value = _whole_test(needle)
        sql += "".join(
            f" OR (instr({text}, char(0)) > 1 AND {test.format(text)})" for text in texts
        )
        values += [value] * len(texts)
    return Condition(f"({sql})", tuple(values), session=False)


def _of_columns(texts: Sequence[str], test: str, value: str) -> Condition:
    tests = " OR ".join(test.format(text) for text in texts)
    return Condition(f"({tests})", (value,) * len(texts), session=False)


def has_words(tokens: Sequence[str], *, accents: bool = True) -> Condition:
    """Return a condition that every message `m` with words in a row meets, and few others.

    Words match whatever their `accents`, so text beyond ASCII counts as well.
    """
    beyond = " OR ".join(f"octet_length(m.{column}) > length(m.{column})" for column in COLUMNS)
    words = [token for token in tokens if token.isascii()]
    if not words:
        return Condition(f"({beyond})", (), session=False)
    tests = " OR ".join(f"m.{column} LIKE ? ESCAPE '\\'" for column in COLUMNS)
    row = f"%{'%'.join(words)}%"
    # length() ends at NUL, so text with one counts as well.
    sql = f"({tests} OR {beyond})" if accents else f"({tests})"
    return Condition(sql, (row,) * len(COLUMNS), session=False)


_INSTR = "instr({0}, ?)"
_LIKE = "{0} LIKE ? ESCAPE '\\'"
# A pattern of both cases is slow, so ASCII text is left out first.
_BOTH_CASES = "(octet_length({0}) > length({0}) AND {0} GLOB ?)"


def _test(needle: str) -> tuple[str, str]:
    """Return the SQL test of one text, with a place for it, and the value to bind."""
    if needle.lower() == needle.upper():
        return _INSTR, needle
    if needle.isascii():
        return _LIKE, like(needle)
    return _BOTH_CASES, f"*{''.join(map(_both_cases, needle))}*"


def _both_cases(letter: str) -> str:
    low = letter.lower()
    forms = {low, low.upper(), letter} | ({"σ", "ς", "Σ"} if low in "σς" else set())
    alike = sorted(
        each for each in forms if len(each) == 1 and (each.lower() == low or low in "σς")
    )
    if len(alike) > 1:
        return f"[{''.join(alike)}]"
    return _GLOB.sub(lambda found: f"[{found[0]}]", letter)


def _whole_test(needle: str) -> tuple[str, str]:
    """Return a slower test that goes on behind every NUL; it minds the case beyond ASCII."""
    return "instr(lower({0}), ?)", "".join(
        each.lower() if each.isascii() else each for each in needle
    )
