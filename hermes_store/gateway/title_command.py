"""`/title` as it comes from a chat: recognising it, and the sentences that answer it."""

from __future__ import annotations

import re

# In groups Telegram adds the name of the bot: /title@my_bot some words.
_TITLE = re.compile(r"\s*/title(?:@\w+)?(?:\s+(?P<title>.*))?", re.IGNORECASE | re.DOTALL)


def title_in(message: str) -> str | None:
    """Return the title that a message asks for, '' where it asks what the title is.

    None for a message that is no /title command.
    """
    found = _TITLE.fullmatch(message)
    return None if found is None else (found["title"] or "").strip()


def shown(title: str | None, waiting: str | None) -> str:
    """Return the answer to a bare /title."""
    if waiting is not None:
        return f"The next conversation will be called '{waiting}'."
    if title is not None:
        return f"This conversation is called '{title}'."
    return "This conversation has no title yet. /title some words gives it one."


def given(title: str) -> str:
    """Return the answer once a title was given."""
    return f"This conversation is now called '{title}'."


def queued(title: str) -> str:
    """Return the answer while there is no conversation to give a title to."""
    return f"The conversation will be called '{title}' as soon as it begins."
