"""Patterns for LIKE."""

from __future__ import annotations

import re


def like(text: str) -> str:
    """Return a LIKE pattern (with ESCAPE '\\') for text that contains `text`."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
