"""Session keys: the name under which all messages of one conversation are found.

A key is `agent:main:<platform>:<chat type>` and then what is known of chat, thread and person,
as far as they tell conversations apart. It is what Hermes Agent writes, byte for byte, except
that a colon inside an id is written %3A, so that every key can be taken apart again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes_store.errors import InvalidInput
from hermes_store.gateway.message_source import ChatType, MessageSource

PREFIX = "agent"
MAIN = "main"

# Only what would be taken for an escape is escaped, so that "100%" stays as it is.
_TO_ESCAPE = re.compile(r":|%(?=25|3A)")
_ESCAPED = re.compile(r"%(25|3A)")
_CHARACTERS = {"25": "%", "3A": ":"}


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A key in its parts."""

    platform: str
    chat_type: str
    ids: tuple[str, ...] = ()
    """Chat, thread and person in this order, those that are part of the key. The text of a key
    does not say which of them is missing; the `origin` in sessions.json does."""
    agent: str = MAIN
    """The profile that the bot runs in."""

    def __str__(self) -> str:
        parts = (self.agent, self.platform, self.chat_type, *self.ids)
        return ":".join((PREFIX, *(_escape(part) for part in parts)))

    @property
    def as_hermes_writes_it(self) -> str:
        """The key without escapes, which is how Hermes Agent writes ids with colons."""
        return ":".join((PREFIX, self.agent, self.platform, self.chat_type, *self.ids))


def key_of(
    source: MessageSource,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    agent: str = MAIN,
) -> SessionKey:
    """Return the key of the conversation that a message belongs to.

    A direct chat is one conversation. In groups and channels everybody has their own, where
    the platform tells who is speaking; a thread is shared by all in it. The settings change
    that.
    """
    person = source.participant
    ids: tuple[str | None, ...]
    if source.chat_type == ChatType.DM:
        # Without a chat, the person at least keeps strangers out of each other's conversation.
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
    """Return the parts of a key; InvalidInput if it is none."""
    prefix, *parts = text.split(":")
    if prefix != PREFIX or len(parts) < 3 or not all(parts[:3]):
        raise InvalidInput(
            f"'{text}' is no session key. One looks like agent:main:telegram:dm:12345."
        )
    agent, platform, chat_type, *ids = (_unescape(part) for part in parts)
    return SessionKey(platform, chat_type, tuple(ids), agent)


def _escape(part: str) -> str:
    return _TO_ESCAPE.sub(lambda found: "%3A" if found[0] == ":" else "%25", part)


def _unescape(part: str) -> str:
    return _ESCAPED.sub(lambda found: _CHARACTERS[found[1]], part)


def _canonical(source: MessageSource, person: str | None) -> str | None:
    """Return one form of a WhatsApp id: a number comes with + or @server, and :device."""
    if person is None or source.platform != "whatsapp":
        return person
    bare = re.split("[:@]", person.strip().removeprefix("+"), maxsplit=1)[0]
    return bare or person
