"""The origin of a message, on any platform.

Independent of sessions; `keys` turns it into a session key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

from hermes_store.errors import InvalidInput
from hermes_store.records.safe_text import storable


class ChatType(StrEnum):
    """The common kinds of chat; other names are accepted unchanged."""

    DM = "dm"
    GROUP = "group"
    CHANNEL = "channel"
    THREAD = "thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSource:
    """The origin of one message; None for what the platform does not tell."""

    platform: str
    """A name from `hermes_store.records.sources`, such as telegram, or any other."""
    chat_type: str = ChatType.DM
    chat_id: str | None = None
    thread_id: str | None = None
    user_id: str | None = None
    user_id_alt: str | None = None
    """A more stable id of the same user, if there is one; takes precedence over `user_id`."""
    user_name: str | None = None
    chat_name: str | None = None
    chat_topic: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # Many platforms use numbers as ids; 5 and "5" must not become two sessions.
            if value is not None and not isinstance(value, str):
                raise InvalidInput(
                    f"{field.name} of a message source must be text, not {value!r}. Use str()."
                )
            if value is not None:
                # A lone surrogate cannot be written to a file, but a key must be.
                object.__setattr__(self, field.name, storable(str(value)))
        if not self.platform or not self.chat_type:
            raise InvalidInput("A message source needs a platform and a chat type.")

    @property
    def participant(self) -> str | None:
        """The id of the sender, if the platform tells."""
        return self.user_id_alt or self.user_id or None

    def origin(self) -> dict[str, str | None]:
        """Return the form stored in sessions.json."""
        always = {
            "platform": self.platform,
            "chat_id": self.chat_id,
            "chat_name": self.chat_name,
            "chat_type": str(self.chat_type),
            "user_id": self.user_id,
            "user_name": self.user_name,
            "thread_id": self.thread_id,
            "chat_topic": self.chat_topic,
        }
        return always | ({"user_id_alt": self.user_id_alt} if self.user_id_alt else {})

    @classmethod
    def from_origin(cls, origin: Mapping[str, Any], platform: str = "unknown") -> Self:
        """Return the source stored in sessions.json, ignoring unknown fields.

        `platform` is the default for an origin without one.
        """
        known = {field.name for field in fields(cls)}
        told = {name: str(origin[name]) for name in known & origin.keys() if origin[name]}
        return cls(**{"platform": platform} | told)
