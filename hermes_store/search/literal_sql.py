"""Conditions in SQL that the text of a message contains something literally, ignoring case.

SQLite compares: LIKE ignores the case of ASCII letters, GLOB gets both cases of other letters, and
text without case needs neither. No message leaves SQLite to be looked at.
"""

from __future__ import annotations

import re

from hermes_store.search.field_conditions import Condition, like

COLUMNS = ("content", "tool_name", "tool_calls")

_GLOB = re.compile(r"[*?\[]")


def contains(needle: str, *, thoroughly: bool = True) -> Condition:
    """Return the condition that a message `m` contains a text.

    LIKE and GLOB end at NUL. `thoroughly` also looks behind every NUL, which takes twice as long;
    otherwise only multimodal content, which begins with one, is read behind it.
    """
    test, value = _test(needle)
    if "\0" in needle and test != _INSTR:
        test, value = _test(_quoted(needle))
        tests = [test.format(f"json_quote(m.{column})") for column in COLUMNS]
        return Condition(f"({' OR '.join(tests)})", (value,) * len(tests), session=False)
    if test == _INSTR:
        tests = [test.format(f"m.{column}") for column in COLUMNS]
        return Condition(f"({' OR '.join(tests)})", (value,) * len(tests), session=False)
    texts = [f"m.{column}" for column in COLUMNS]
    tests = [test.format(text) for text in texts]
    values = [value] * len(tests)
    # Such content is JSON, in which some characters are escaped once more by quoting it.
    quoted = _test(_quoted(needle))[1]
    if thoroughly:
        tests += [
            f"(instr({text}, char(0)) AND {test.format(f'json_quote({text})')})" for text in texts
        ]
        values += [quoted] * len(texts)
    else:
        tests.append(f"(m.content < char(1) AND {test.format('json_quote(m.content)')})")
        values.append(quoted)
    return Condition(f"({' OR '.join(tests)})", tuple(values), session=False)


def has_word(token: str, *, accents: bool = True) -> Condition:
    """Return a condition that every message `m` with a word meets, and few others.

    Words match whatever their `accents`, so text beyond ASCII counts as well.
    """
    beyond = " OR ".join(f"octet_length(m.{column}) > length(m.{column})" for column in COLUMNS)
    if not token.isascii():
        return Condition(f"({beyond})", (), session=False)
    tests = " OR ".join(f"m.{column} LIKE ? ESCAPE '\\'" for column in COLUMNS)
    if not accents:
        return Condition(f"({tests})", (like(token),) * len(COLUMNS), session=False)
    # length() ends at NUL, so text with one counts as well.
    return Condition(f"({tests} OR {beyond})", (like(token),) * len(COLUMNS), session=False)


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


def _quoted(needle: str) -> str:
    """Return a text as it stands inside a string that json_quote has made."""
    escaped = {
        '"': '\\"',
        "\\": "\\\\",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
    }
    return "".join(
        escaped.get(each) or (f"\\u{ord(each):04x}" if each < " " else each) for each in needle
    )
