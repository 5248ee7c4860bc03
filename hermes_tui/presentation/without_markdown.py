"""A text without the marks of Markdown, for places that show only a few lines of it."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*\n?", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+", re.MULTILINE)
_CODE = re.compile(r"(`+)([^`\n]+)\1")
_STRONG = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![\w*])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\((?:https?|mailto)[^()\s]*\)")


def without_markdown(text: str) -> str:
    """Return a text without fences, headings, backticks, stars and the targets of links."""
    text = _FENCE.sub("", text)
    text = _HEADING.sub("", text)
    text = _CODE.sub(r"\2", text)
    text = _STRONG.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\1", text)
    return _LINK.sub(r"\1", text)
