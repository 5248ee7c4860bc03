"""Sentences and tool output for sample sessions, out of drawn numbers and lines."""

from __future__ import annotations

import json
from typing import Any

from bench import sample_phrases


def clauses(drawn: list[float]) -> list[str]:
    """Return the words of a sentence; each number decides one of them.

    Squaring a number makes early words common and late ones rare, as in prose.
    """
    values = iter(drawn)

    def word(words: tuple[str, ...]) -> str:
        return words[int(next(values) ** 2 * len(words))]

    left = len(drawn)
    said: list[str] = []
    while left >= 4:
        link = word(sample_phrases.LINKS)
        said += [link] if said else []
        said += ["the", word(sample_phrases.NOUNS), word(sample_phrases.VERBS)]
        said += ["the", word(sample_phrases.NOUNS)]
        left -= 4
    return [*said, word(sample_phrases.ENDS)] if left else said


def result(tool: str, lines: list[str]) -> str:
    """Return what a tool gives back, in the form that Hermes Agent stores."""
    text = "\n".join(lines)
    if tool == "terminal":
        return _json({"output": text, "exit_code": 0, "error": None})
    if tool == "read_file":
        numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, 1))
        return _json({"content": numbered, "total_lines": len(lines), "truncated": False})
    if tool == "write_file":
        return _json({"bytes_written": len(text.encode()), "dirs_created": False, "content": text})
    if tool == "patch":
        added = "\n".join(f"+{line}" for line in lines)
        return _json({"success": True, "diff": f"@@ -1,0 +1,{len(lines)} @@\n{added}"})
    if tool == "search_files":
        found = [
            {"path": "src/main.py", "line": number, "content": line}
            for number, line in enumerate(lines, 1)
        ]
        return _json({"total_count": len(found), "matches": found})
    return text


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
