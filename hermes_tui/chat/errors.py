"""What can go wrong between a chat and its model, as sentences for a person.

    StoreError
    └── ChatError
        ├── NotReady           no model, a bad address, the package is not installed
        │   └── NoKey
        ├── NotAuthorised      401, 403
        ├── UnknownModel       404, or the server knows no such model
        ├── RateLimited        429, or no credit left
        ├── Unreachable        refused, no such host, no network
        ├── TimedOut
        ├── BadAnswer          garbage, a malformed stream, one that broke off
        ├── TooLong            more than the model can take in
        └── ServerTrouble      5xx

An error that ends an answer carries what had come of it as `partial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hermes_store.errors import StoreError

if TYPE_CHECKING:
    from hermes_tui.chat.streamed_reply import Reply


class ChatError(StoreError):
    """Base of everything below; also raised itself for a request that a server refuses."""

    passing: ClassVar[bool] = False
    """Whether the same request may well succeed a little later."""

    def __init__(
        self, sentence: str, *, partial: Reply | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.partial = partial
        """What had come of the answer, if anything had."""
        self.retry_after = retry_after
        """How many seconds the server asks to wait, if it says so."""


class NotReady(ChatError):
    """Something is missing before any request can be sent."""


class NoKey(NotReady):
    """No key was found for the model's server."""


class NotAuthorised(ChatError):
    """The server does not take the key."""


class UnknownModel(ChatError):
    """The server has no such model, or nothing at this address."""


class RateLimited(ChatError):
    """Too many requests, or no credit left."""

    passing = True


class Unreachable(ChatError):
    """No connection to the server comes about."""

    passing = True


class TimedOut(ChatError):
    """The server said nothing for too long."""


class BadAnswer(ChatError):
    """The answer cannot be understood or broke off."""


class Dropped(BadAnswer):
    """The connection ended before the answer did."""

    passing = True


class TooLong(ChatError):
    """The conversation is longer than the model can take in."""


class ServerTrouble(ChatError):
    """The server failed."""

    passing = True
