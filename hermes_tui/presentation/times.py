"""Human-readable times and durations."""

from __future__ import annotations

from typing import TypeGuard

from hermes_store.records.safe_text import local_day

MINUTE, HOUR, DAY = 60, 3_600, 86_400
WEEK = 7 * DAY
UNKNOWN = "?"


def is_known(moment: float | None) -> TypeGuard[float]:
    """Return whether a stored time is one; Hermes is younger than 1970."""
    return moment is not None and moment > 0


def age(moment: float | None, now: float, *, short: bool = False, dates: bool = False) -> str:
    """Return how long ago a moment was: 5m ago, yesterday, 12 Mar.

    With `short`: 5m, 1d, 12 Mar. With `dates`, anything older than a week is a full date.
    """
    if not is_known(moment):
        return UNKNOWN
    ago = now - moment
    if ago < MINUTE:
        return "now" if short else "just now"
    if ago < WEEK:
        if DAY <= ago < 2 * DAY and not short:
            return "yesterday"
        seconds, unit = next(
            each for each in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m")) if ago >= each[0]
        )
        return f"{int(ago // seconds)}{unit}" + ("" if short else " ago")
    when = local_day(moment)
    if dates:
        return f"{when:%Y-%m-%d}"
    this_year = when.year == local_day(now).year
    return f"{when.day} {when:%b}" if this_year else f"{when:%b} {when.year}"


def local_time(moment: float | None) -> str:
    """Return a moment as local date and time."""
    return f"{local_day(moment):%Y-%m-%d %H:%M}" if is_known(moment) else "–"


def duration(seconds: float) -> str:
    """Return a duration in a fitting unit."""
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3_600:
        return f"{seconds / 60:.0f}m"
    if seconds < 86_400:
        return f"{seconds // 3_600:.0f}h {seconds % 3_600 // 60:.0f}m"
    return f"{seconds / 86_400:.1f}d"
