"""Changes to files as lines with a sign: from a unified diff, or from an old and a new text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

FIRST_LINES = 8
"""Lines of a diff that are always visible."""
COMPARED = 2_000
"""Lines of an old and a new text that are compared; longer texts are shown one after the other."""
CONTEXT = 2

_HUNK = re.compile(r"^@@ .*@@|^@@$|^@@ ", re.MULTILINE)
_HEADS = ("diff --git ", "index ", "--- ", "+++ ", "new file mode", "deleted file mode", "***")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff."""

    sign: str
    """+, - or a space; @ for a place in a file."""
    text: str

    @property
    def style(self) -> str:
        """The name of the style to draw it with."""
        return {"+": "added", "-": "removed", "@": "note"}.get(self.sign, "dim")


def is_diff(text: str) -> bool:
    """Tell whether a text is a unified diff."""
    head = text.lstrip()[:400]
    if head.startswith(("diff --git ", "*** Begin Patch")):
        return True
    return head.startswith(("--- ", "@@ ")) and _HUNK.search(text[:4_000]) is not None


def read(text: str) -> list[DiffLine]:
    """Return the lines of a unified diff; those that name the files are left out."""
    lines: list[DiffLine] = []
    in_hunk = False
    for line in text.strip("\n").split("\n"):
        if line.startswith("@@"):
            in_hunk = True
            lines.append(DiffLine("@", line))
        elif line.startswith("diff --git ") or (line.startswith(_HEADS) and not in_hunk):
            in_hunk = False
            if (line.startswith("+++ ") and line[4:].strip() not in ("", "/dev/null")) or (
                line.startswith("*** ") and ":" in line
            ):
                lines.append(DiffLine("@", line[4:]))
        elif line.startswith("\\"):
            continue
        else:
            lines.append(_signed(line))
    return lines


def _signed(line: str) -> DiffLine:
    if line[:1] in ("+", "-", " "):
        return DiffLine(line[0], line[1:])
    return DiffLine(" ", line)


def between(old: str, new: str) -> list[DiffLine]:
    """Return what changed between two texts."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > COMPARED:
        return [*(DiffLine("-", each) for each in before), *added(new)]
    found = difflib.unified_diff(before, after, n=CONTEXT, lineterm="")
    return [_signed(line) for line in found if not line.startswith(("---", "+++", "@@"))] or [
        DiffLine(" ", each) for each in after
    ]


def added(text: str) -> list[DiffLine]:
    """Return a new text, all of it added."""
    return [DiffLine("+", each) for each in text.splitlines()]


def size(lines: Iterable[DiffLine]) -> str:
    """Return "+3 −1"."""
    signs = [line.sign for line in lines]
    parts = [f"+{signs.count('+'):,}" if "+" in signs else ""]
    parts.append(f"−{signs.count('-'):,}" if "-" in signs else "")
    return " ".join(filter(None, parts)) or "no change"


def first(lines: Sequence[DiffLine]) -> tuple[list[DiffLine], int]:
    """Return the lines that are always visible, and how many follow.

    They begin just before the first change, without the places in the file, and with as much of
    their indentation as tells them apart: there is little room.
    """
    change = next((place for place, line in enumerate(lines) if line.sign in "+-"), 0)
    rest = [line for line in lines[max(0, change - 1) :] if line.sign != "@"]
    return _outdented(rest[:FIRST_LINES]), max(0, len(rest) - FIRST_LINES)


def _outdented(lines: list[DiffLine]) -> list[DiffLine]:
    blanks = [len(each.text) - len(each.text.lstrip(" ")) for each in lines if each.text.strip()]
    common = min(blanks, default=0)
    return [DiffLine(line.sign, line.text[common:]) for line in lines]


def as_text(lines: Sequence[DiffLine], path: str = "") -> str:
    """Return a diff as text to copy: a patch, or all of a file that is new.

    `path` names the file if the diff does not.
    """
    if all(line.sign == "+" for line in lines):
        return "\n".join(line.text for line in lines)
    named = any(line.sign == "@" and not line.text.startswith("@@") for line in lines)
    return "\n".join([*(_names(path) if path and not named else ()), *_lines_of_text(lines)])


def _names(path: str) -> tuple[str, str]:
    bare = path.rpartition(": ")[2].removeprefix("b/").split("\t")[0].strip()
    return f"--- a/{bare.lstrip('/')}", f"+++ b/{bare.lstrip('/')}"


def _lines_of_text(lines: Iterable[DiffLine]) -> Iterator[str]:
    for line in lines:
        if line.sign != "@":
            yield f"{line.sign}{line.text}"
        elif line.text.startswith("@@"):
            yield line.text
        else:
            yield from _names(line.text)
