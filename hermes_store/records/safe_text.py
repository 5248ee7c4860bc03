"""Makes text safe to store and to show, shortens it, and clamps stored timestamps."""

from __future__ import annotations

import re
from datetime import datetime

# C0 and C1 controls except tab and line feed, DEL, the line ends of Unicode, and the bidirectional
# controls that can reorder visible text. Any of these could control a terminal or forge a line.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_UNESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_ENDS = "\u2028\u2029"
_SURROGATE = re.compile("[\ud800-\udfff]")
_CRLF = re.compile("\r\n?")
_SPACE = re.compile(r"\s+")


def storable(text: str) -> str:
    """Return text that can be stored as UTF-8: lone surrogates become U+FFFD.

    JSON from a chat platform can contain half a surrogate pair; SQLite then rejects all of it.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text)


def _visible(match: re.Match[str]) -> str:
    if match[0] in _LINE_ENDS:
        return "\n"
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if code < 0xA0 else ""


def clean(text: str) -> str:
    """Return text that is safe to show: none of it can control a terminal.

    Control characters become visible symbols (ESC is shown as ␛), carriage returns and Unicode's
    line and paragraph separators become line ends, bidirectional overrides are removed. Emoji with
    joiners stay whole. A lone surrogate, which cannot be sent to a terminal, becomes U+FFFD.
    """
    text = storable(text)
    if "\r" in text:
        text = _CRLF.sub("\n", text)
    if not _UNSAFE.search(text):
        return text
    return _UNSAFE.sub(_visible, text)


def clean_in_place(text: str) -> str:
    """Return text that is safe to show and in which every character keeps its place."""
    text = storable(text)
    return _UNSAFE.sub(lambda match: _visible(match).replace("\n", "␊") or "\ufffd", text)


def clean_line(text: str) -> str:
    """Return text that is safe to show and cannot start a line of its own."""
    return clean(text).replace("\n", "␊")


def escape_json(dumped: str) -> str:
    """Return JSON of the same value that cannot control a terminal.

    `json.dumps` escapes only the controls below U+0020. Elsewhere than in a string such
    characters do not occur, so each can become an escape sequence of JSON.
    """
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", dumped)


def one_line(text: str) -> str:
    """Replace every run of whitespace with one space and trim the ends."""
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, limit: int, ending: str = "…") -> str:
    """Cut text to `limit` characters, including the `ending` that marks the cut."""
    if len(text) <= limit:
        return text
    return text[: max(0, limit - len(ending))].rstrip() + ending


LATEST = 32_503_680_000.0
"""The year 3000; damaged databases contain timestamps that no calendar can express."""


def local_day(moment: float) -> datetime:
    """Return a stored timestamp in local time; impossible ones are clamped."""
    return datetime.fromtimestamp(min(max(moment, 86_400.0), LATEST))
