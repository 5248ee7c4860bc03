"""The one call that an owner gets before a conversation begins anew, bounded in time.

An entry of sessions.json says that the call is being made, so that no other process makes it
too; it says until when, so that one that was killed meanwhile holds nobody up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from hermes_store.gateway.reset_policy import ResetReason
from hermes_store.gateway.routing_file import Route
from hermes_store.records.session import Session

CLAIM = "reset_claimed_until"
DONE = "expiry_finalized"

BeforeReset = Callable[[Session, ResetReason], object]
"""What an owner does with a session whose conversation is about to begin anew."""

log = logging.getLogger("hermes_store.gateway")


def claim(route: Route, seconds: float) -> Route:
    """Return an entry that says the call is being made."""
    return route.changed(route.updated_at, **{CLAIM: time.time() + seconds})


def claimed_for(route: Route) -> float:
    """Return for how many seconds more a call may go on, 0 if none is being made."""
    until = route.fields.get(CLAIM)
    return max(0.0, until - time.time()) if isinstance(until, int | float) else 0.0


def was_made(route: Route) -> bool:
    """Tell whether the call was made: it came to its end, or to the end of its time."""
    return bool(route.fields.get(DONE)) or CLAIM in route.fields


def settled(route: Route) -> Route:
    """Return an entry whose call is over."""
    return route.changed(route.updated_at, **{CLAIM: None, DONE: True})


def forgotten(route: Route, now: float) -> Route:
    """Return the entry of a conversation that went on, so that the next end has its own call."""
    fresh: dict[str, Any] = {CLAIM: None, DONE: False, "is_fresh_reset": False}
    return route.changed(now, **fresh)


def make(call: BeforeReset, session: Session, reason: ResetReason, seconds: float) -> bool:
    """Make the call; tell whether it came to its end in time and without trouble."""
    outcome = _Outcome()

    def work() -> None:
        with outcome:
            call(session, reason)

    # A thread that hangs must hold up neither the reset nor the end of the program.
    thread = threading.Thread(target=work, name=f"before reset of {session.id}", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        log.warning("Saving before the reset of %s takes over %s s.", session.id, seconds)
        return False
    if outcome.error is not None:
        log.warning("Saving before the reset of %s failed.", session.id, exc_info=outcome.error)
        return False
    return True


class _Outcome:
    """Keeps what a call of somebody else's code raised, whatever it is."""

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
