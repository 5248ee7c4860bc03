"""The one place that cleans text: what may be stored, what may be shown, and short previews.

And stored moments, which in damaged files need cleaning too.

Knows nothing of sessions or databases.
"""

from __future__ import annotations

import re
from datetime import datetime

# C0 and C1 controls except tab and line feed, DEL, and the bidirectional controls that can
# reorder what a reader sees. Anything here could drive a terminal or forge a line.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CRLF = re.compile("\r\n?")
_SPACE = re.compile(r"\s+")


def storable(text: str) -> str:
    """Return text that can be bound as UTF-8: lone surrogates become U+FFFD, the rest stays.

    JSON from a chat platform can carry half of a surrogate pair; SQLite refuses it whole.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if code < 0xA0 else ""


def clean(text: str) -> str:
    """Return text that is safe to show: no byte of it can act on a terminal.

    Control characters become their visible symbols (ESC is shown as ␛), carriage returns
    become line ends, bidirectional overrides vanish. Emoji with joiners stay whole. A lone
    surrogate, which no terminal can be sent at all, becomes U+FFFD.
    """
    text = storable(text)
    if "\r" in text:
        text = _CRLF.sub("\n", text)
    if not _UNSAFE.search(text):
        return text
    return _UNSAFE.sub(_visible, text)


def one_line(text: str) -> str:
    """Fold every run of white space into one space and trim the ends."""
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, limit: int, ending: str = "…") -> str:
    """Cut text to `limit` characters and mark the cut with `ending`, which counts too."""
    if len(text) <= limit:
        return text
    return text[: max(0, limit - len(ending))].rstrip() + ending


LATEST = 32_503_680_000.0
"""The year 3000; damaged files hold moments beyond what a calendar can express."""


def local_day(moment: float) -> datetime:
    """Return a stored moment in local time; one that no calendar has becomes the nearest."""
    return datetime.fromtimestamp(min(max(moment, 86_400.0), LATEST))
