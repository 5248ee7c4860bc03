"""When a conversation is reset: pure functions of times, zones and policies.

Times are seconds since 1970, so that clock changes do not affect idle time. Only the daily hour
depends on local time.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from hermes_store.config.settings import GatewayConfig, ResetPolicy
from hermes_store.errors import ConfigError

__all__ = ["ResetPolicy", "ResetReason", "due", "last_boundary", "policy_for", "zone_of"]


class ResetReason(StrEnum):
    """Why a conversation is reset."""

    IDLE = "idle"
    DAILY = "daily"


def policy_for(config: GatewayConfig, platform: str, chat_type: str) -> ResetPolicy:
    """Return the policy of a chat: by platform, else by chat type, else the default."""
    for policies, name in ((config.reset_by_platform, platform), (config.reset_by_type, chat_type)):
        if name in policies:
            return policies[name]
    return config.session_reset


def zone_of(config: GatewayConfig) -> tzinfo | None:
    """Return the time zone of the daily hour, None for the machine's own."""
    if not config.timezone:
        return None
    try:
        return ZoneInfo(config.timezone)
    except (LookupError, ValueError, OSError):
        raise ConfigError(
            f"gateway.timezone: '{config.timezone}' is not a time zone. "
            "Use a name such as Europe/Berlin; on Windows, install the package tzdata."
        ) from None


def due(
    policy: ResetPolicy, last_active: float, now: float, zone: tzinfo | None = None
) -> ResetReason | None:
    """Return why a message now resets a conversation, None if the conversation continues.

    If the clock was set back, `now` is before the last activity and nothing is due.
    """
    if policy.mode in ("idle", "both") and now > last_active + policy.idle_minutes * 60:
        return ResetReason.IDLE
    if policy.mode in ("daily", "both") and last_active < last_boundary(now, policy.at_hour, zone):
        return ResetReason.DAILY
    return None


def last_boundary(now: float, at_hour: int, zone: tzinfo | None = None) -> float:
    """Return the latest time, not after now, at which a clock in the zone showed the hour.

    Every date has one such time. If the hour occurs twice, it is the first; an hour that is
    skipped counts in the old offset, which for a whole hour is when the clocks jump.
    """
    today = datetime.fromtimestamp(now, zone)
    # If clocks go back across midnight, tomorrow's hour may already have passed.
    moments = (_boundary(today + timedelta(days=step), at_hour, zone) for step in (1, 0, -1, -2))
    return next(moment for moment in moments if moment <= now)


def _boundary(day: datetime, at_hour: int, zone: tzinfo | None) -> float:
    return datetime(day.year, day.month, day.day, at_hour, tzinfo=zone).timestamp()
