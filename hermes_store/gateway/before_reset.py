"""The one call made before a conversation is reset, with a time limit.

An entry in sessions.json claims the call, so that no other process makes it too. The claim
expires, so that a killed process blocks nobody.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from hermes_store.errors import places
from hermes_store.gateway.reset_policy import ResetReason
from hermes_store.gateway.routing_file import Route, number
from hermes_store.records.session import Session

CLAIM = "reset_claimed_until"
DONE = "expiry_finalized"

BeforeReset = Callable[[Session, ResetReason], object]
"""Called with a session whose conversation is about to be reset."""

log = logging.getLogger("hermes_store.gateway")


def claim(route: Route, seconds: float) -> Route:
    """Return an entry that claims the call."""
    return route.changed(route.updated_at, **{CLAIM: time.time() + seconds})


def claimed_for(route: Route, seconds: float) -> float:
    """Return the seconds left for a running call, 0 if none is running.

    A claim for longer than `seconds`, the time of one call, was made before the clock was set
    back, or is no time at all; waiting for it would block the chat.
    """
    until = number(route.fields.get(CLAIM))
    left = 0.0 if until is None else until - time.time()
    return left if 0 < left <= seconds else 0.0


def was_made(route: Route) -> bool:
    """Tell whether the call was made: it returned, or its time ran out."""
    return bool(route.fields.get(DONE)) or CLAIM in route.fields


def settled(route: Route) -> Route:
    """Return the entry after its call."""
    return route.changed(route.updated_at, **{CLAIM: None, DONE: True})


def forgotten(route: Route, now: float) -> Route:
    """Return the entry of a conversation that continued, so that its next reset is called for."""
    fresh: dict[str, Any] = {CLAIM: None, DONE: False, "is_fresh_reset": False}
    return route.changed(now, **fresh)


def make(call: BeforeReset, session: Session, reason: ResetReason, seconds: float) -> bool:
    """Make the call; tell whether it returned in time and without an error."""
    outcome = _Outcome()

    def work() -> None:
        with outcome:
            call(session, reason)

    # A hanging thread must block neither the reset nor the exit of the program.
    thread = threading.Thread(target=work, name=f"before reset of {session.id}", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        log.warning("Saving before the reset of %s takes more than %s s.", session.id, seconds)
        return False
    if outcome.error is not None:
        log.warning("Saving before the reset of %s failed.\n%s", session.id, places(outcome.error))
        return False
    return True


class _Outcome:
    """Keeps whatever the called code raised."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return True
