"""Errors between a chat and its model; their messages are for the user.

    StoreError
    └── ChatError
        ├── NotReady           no model, a bad address, or the package is not installed
        │   └── NoKey
        ├── NotAuthorised      401, 403
        ├── UnknownModel       404, or the server has no such model
        ├── RateLimited        429, or no credit left
        ├── Unreachable        refused, no such host, no network
        ├── TimedOut
        ├── BadAnswer          malformed, or broke off
        ├── TooLong            longer than the model's context
        └── ServerTrouble      5xx

An error that ends an answer has the part received before it as `partial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hermes_store.errors import StoreError

if TYPE_CHECKING:
    from hermes_tui.chat.streamed_reply import Reply


class ChatError(StoreError):
    """Base of the errors below; raised itself when a server refuses a request."""

    passing: ClassVar[bool] = False
    """Whether the same request may succeed a little later."""

    def __init__(
        self, sentence: str, *, partial: Reply | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.partial = partial
        """The part of the answer received before the error, if any."""
        self.retry_after = retry_after
        """How many seconds the server asks to wait, if it does."""


class NotReady(ChatError):
    """A setting or package is missing, so that no request can be sent."""


class NoKey(NotReady):
    """No key was found for the server."""


class NotAuthorised(ChatError):
    """The server rejected the key."""


class UnknownModel(ChatError):
    """The server has no such model, or nothing at this address."""


class RateLimited(ChatError):
    """Too many requests, or no credit left."""

    passing = True


class Unreachable(ChatError):
    """The server cannot be reached."""

    passing = True


class TimedOut(ChatError):
    """The server did not respond in time."""


class BadAnswer(ChatError):
    """The answer is malformed or broke off."""


class Dropped(BadAnswer):
    """The connection ended before the answer did."""

    passing = True


class TooLong(ChatError):
    """The conversation is longer than the context of the model."""


class ServerTrouble(ChatError):
    """The server failed."""

    passing = True
