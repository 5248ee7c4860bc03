"""The `/title` command in a chat: recognizing it, and the replies to it."""

from __future__ import annotations

import re

# In groups, Telegram appends the name of the bot: /title@my_bot some words.
_TITLE = re.compile(r"\s*/title(?:@\w+)?(?:\s+(?P<title>.*))?", re.IGNORECASE | re.DOTALL)


def title_in(message: str) -> str | None:
    """Return the title in a /title command, '' for a bare one, None for any other message."""
    found = _TITLE.fullmatch(message)
    return None if found is None else (found["title"] or "").strip()


def shown(title: str | None, waiting: str | None) -> str:
    """Return the reply to a bare /title."""
    if waiting is not None:
        return f"The next conversation will be called '{waiting}'."
    if title is not None:
        return f"This conversation is called '{title}'."
    return "This conversation has no title yet. Set one with /title some words."


def given(title: str) -> str:
    """Return the reply after a title was set."""
    return f"This conversation is now called '{title}'."


def queued(title: str) -> str:
    """Return the reply when there is no conversation to set the title of."""
    return f"The conversation will be called '{title}' as soon as it starts."
