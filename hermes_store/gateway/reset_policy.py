"""When a conversation begins anew: pure functions of times, zones and policies.

Moments are seconds since 1970, so that idle time is real time whatever clocks do. Only the
daily hour looks at a clock on the wall.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from hermes_store.config.settings import GatewayConfig, ResetPolicy
from hermes_store.errors import ConfigError

__all__ = ["ResetPolicy", "ResetReason", "due", "last_boundary", "policy_for", "zone_of"]


class ResetReason(StrEnum):
    """Why a conversation begins anew."""

    IDLE = "idle"
    DAILY = "daily"


def policy_for(config: GatewayConfig, platform: str, chat_type: str) -> ResetPolicy:
    """Return the policy of a chat: that of its platform, else of its kind, else the general."""
    for policies, name in ((config.reset_by_platform, platform), (config.reset_by_type, chat_type)):
        if name in policies:
            return policies[name]
    return config.session_reset


def zone_of(config: GatewayConfig) -> tzinfo | None:
    """Return the zone of the daily hour, None for the machine's own."""
    if not config.timezone:
        return None
    try:
        return ZoneInfo(config.timezone)
    except (LookupError, ValueError, OSError):
        raise ConfigError(
            f"gateway.timezone names '{config.timezone}', which is no time zone. "
            "One looks like Europe/Berlin; on Windows the package tzdata brings them."
        ) from None


def due(
    policy: ResetPolicy, last_active: float, now: float, zone: tzinfo | None = None
) -> ResetReason | None:
    """Return why a conversation begins anew with a message now, None if it goes on.

    A clock that was set back makes nothing due: `now` is then before the last activity.
    """
    if policy.mode in ("idle", "both") and now > last_active + policy.idle_minutes * 60:
        return ResetReason.IDLE
    if policy.mode in ("daily", "both") and last_active < last_boundary(now, policy.at_hour, zone):
        return ResetReason.DAILY
    return None


def last_boundary(now: float, at_hour: int, zone: tzinfo | None = None) -> float:
    """Return the latest moment, not after now, at which a clock in the zone showed the hour.

    Every date has one such moment. Where an hour comes twice it is the first; an hour that is
    left out counts from the old time, which for a whole hour is the moment clocks jump.
    """
    today = datetime.fromtimestamp(now, zone)
    # A clock that goes back over midnight can be past tomorrow's hour already.
    moments = (_boundary(today + timedelta(days=step), at_hour, zone) for step in (1, 0, -1, -2))
    return next(moment for moment in moments if moment <= now)


def _boundary(day: datetime, at_hour: int, zone: tzinfo | None) -> float:
    return datetime(day.year, day.month, day.day, at_hour, tzinfo=zone).timestamp()
