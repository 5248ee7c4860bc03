"""Session keys: the name that all messages of one conversation share.

A key is `agent:main:<platform>:<chat type>`, followed by the ids of chat, thread and user that
distinguish conversations. It is byte for byte what Hermes Agent writes, except that a colon
inside an id is written %3A, so that every key can be parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes_store.errors import InvalidInput
from hermes_store.gateway.message_source import ChatType, MessageSource

PREFIX = "agent"
MAIN = "main"

# A percent sign is escaped only where it looks like an escape, so "100%" is unchanged.
_TO_ESCAPE = re.compile(r":|%(?=25|3A)")
_ESCAPED = re.compile(r"%(25|3A)")
_CHARACTERS = {"25": "%", "3A": ":"}


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
        parts = (self.agent, self.platform, self.chat_type, *self.ids)
        return ":".join((PREFIX, *(_escape(part) for part in parts)))

    @property
    def as_hermes_writes_it(self) -> str:
        """The key without escapes, as Hermes Agent writes ids with colons."""
        return ":".join((PREFIX, self.agent, self.platform, self.chat_type, *self.ids))


def key_of(
    source: MessageSource,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    agent: str = MAIN,
) -> SessionKey:
    """Return the key of the conversation that a message belongs to.

    A direct chat is one conversation. In groups and channels each user has their own, if the
    platform tells who is speaking; a thread is shared. The settings change that.
    """
    person = source.participant
    ids: tuple[str | None, ...]
    if source.chat_type == ChatType.DM:
        # Without a chat id, the user id at least keeps conversations of different users apart.
        ids = (_canonical(source, source.chat_id or person), source.thread_id)
    else:
        apart = group_sessions_per_user and (thread_sessions_per_user or not source.thread_id)
        person = _canonical(source, person) if apart else None
        ids = (source.chat_id, source.thread_id, person)
    return SessionKey(source.platform, str(source.chat_type), tuple(filter(None, ids)), agent)


def build(
    source: MessageSource,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    agent: str = MAIN,
) -> str:
    """Return the text of the key of a conversation; see `key_of`."""
    return str(
        key_of(
            source,
            group_sessions_per_user=group_sessions_per_user,
            thread_sessions_per_user=thread_sessions_per_user,
            agent=agent,
        )
    )


def parse(text: str) -> SessionKey:
    """Parse a key; InvalidInput if it is not one."""
    prefix, *parts = text.split(":")
    if prefix != PREFIX or len(parts) < 3 or not all(parts[:3]):
        raise InvalidInput(f"'{text}' is not a session key. Example: agent:main:telegram:dm:12345.")
    agent, platform, chat_type, *ids = (_unescape(part) for part in parts)
    return SessionKey(platform, chat_type, tuple(ids), agent)


def _escape(part: str) -> str:
    return _TO_ESCAPE.sub(lambda found: "%3A" if found[0] == ":" else "%25", part)


def _unescape(part: str) -> str:
    return _ESCAPED.sub(lambda found: _CHARACTERS[found[1]], part)


def _canonical(source: MessageSource, person: str | None) -> str | None:
    """Return the bare number of a WhatsApp id, which may come with +, @server or :device."""
    if person is None or source.platform != "whatsapp":
        return person
    bare = re.split("[:@]", person.strip().removeprefix("+"), maxsplit=1)[0]
    return bare or person
