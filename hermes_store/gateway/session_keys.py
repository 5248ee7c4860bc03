"""Session keys: the name that all messages of one conversation share.

A key is `agent:main:<platform>:<chat type>`, followed by the ids of chat, thread and user that
distinguish conversations. It is byte for byte what Hermes Agent writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hermes_store.config import paths
from hermes_store.errors import InvalidInput
from hermes_store.gateway import whatsapp_aliases
from hermes_store.gateway.message_source import ChatType, MessageSource

PREFIX = "agent"
MAIN = "main"
_WHATSAPP = "whatsapp"

# Matrix ids hold colons, but begin with a sign that tells what they name.
_MATRIX = "matrix"
_MATRIX_SIGNS = ("!", "@", "#", "$")

# Earlier versions wrote a colon inside an id as %3A, and a percent sign that looked like an escape.
_TO_ESCAPE = re.compile(r":|%(?=25|3A)")


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session key, parsed."""

    platform: str
    chat_type: str
    ids: tuple[str, ...] = ()
    """Those of chat, thread and user, in this order, that are part of the key. Its text does not
    say which are missing; the `origin` in sessions.json does."""
    agent: str = MAIN
    """The profile that the bot runs in."""

    def __str__(self) -> str:
        return ":".join((PREFIX, self.agent, self.platform, self.chat_type, *self.ids))

    @property
    def with_escapes(self) -> str:
        """The key as earlier versions of this store wrote ids with colons."""
        parts = (self.agent, self.platform, self.chat_type, *self.ids)
        return ":".join((PREFIX, *(_escape(part) for part in parts)))


def key_of(
    source: MessageSource,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    agent: str = MAIN,
    home: Path | None = None,
) -> SessionKey:
    """Return the key of the conversation that a message belongs to.

    A direct chat is one conversation. In groups and channels each user has their own, if the
    platform tells who is speaking; a thread is shared. The settings change that. `home`, by
    default $HERMES_HOME, holds the files that tell who is who on WhatsApp.
    """
    chat, person = source.chat_id, source.participant
    if source.platform == _WHATSAPP:
        folder = home or paths.hermes_home()
        if chat and source.chat_type == ChatType.DM:
            chat = whatsapp_aliases.canonical(chat, folder)
        person = (whatsapp_aliases.canonical(person, folder) or person) if person else None
    ids: tuple[str | None, ...]
    if source.chat_type == ChatType.DM:
        # Without a chat id, the user id at least keeps conversations of different users apart.
        ids = (chat or person, source.thread_id)
    else:
        apart = group_sessions_per_user and (thread_sessions_per_user or not source.thread_id)
        ids = (chat, source.thread_id, person if apart else None)
    return SessionKey(source.platform, str(source.chat_type), tuple(filter(None, ids)), agent)


def build(
    source: MessageSource,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    agent: str = MAIN,
    home: Path | None = None,
) -> str:
    """Return the text of the key of a conversation; see `key_of`."""
    return str(
        key_of(
            source,
            group_sessions_per_user=group_sessions_per_user,
            thread_sessions_per_user=thread_sessions_per_user,
            agent=agent,
            home=home,
        )
    )


def parse(text: str) -> SessionKey:
    """Parse a key; InvalidInput if it is not one.

    Ids of Matrix are put together again. On other platforms, an id with a colon comes out in
    pieces: the text does not say where it ends.
    """
    prefix, *parts = text.split(":")
    if prefix != PREFIX or len(parts) < 3 or not all(parts[:3]):
        raise InvalidInput(f"'{text}' is not a session key. Example: agent:main:telegram:dm:12345.")
    agent, platform, chat_type, *ids = parts
    if platform == _MATRIX:
        ids = _joined(ids)
    return SessionKey(platform, chat_type, tuple(ids), agent)


def _joined(pieces: list[str]) -> list[str]:
    """Put ids of Matrix together: each begins with a sign, and the server follows a colon."""
    ids: list[str] = []
    for piece in pieces:
        if ids and ids[-1].startswith(_MATRIX_SIGNS) and not piece.startswith(_MATRIX_SIGNS):
            ids[-1] += f":{piece}"
        else:
            ids.append(piece)
    return ids


def _escape(part: str) -> str:
    return _TO_ESCAPE.sub(lambda found: "%3A" if found[0] == ":" else "%25", part)
