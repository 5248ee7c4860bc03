"""Human-readable times and durations."""

from __future__ import annotations

from typing import TypeGuard

from hermes_store.records.safe_text import local_day

MINUTE, HOUR = 60, 3_600
UNKNOWN = "?"


def is_known(moment: float | None) -> TypeGuard[float]:
    """Return whether a stored time is one; Hermes is younger than 1970."""
    return moment is not None and moment > 0


def age(moment: float | None, now: float, *, short: bool = False, dates: bool = False) -> str:
    """Return how long ago a moment was: 5m ago, yesterday, 12 Mar. Days are calendar days.

    With `short`: 5m, 1d, 12 Mar. With `dates`, anything older than a week is a full date.
    """
    if not is_known(moment):
        return UNKNOWN
    ago = now - moment
    days = days_ago(moment, now)
    if ago < MINUTE:
        return "now" if short else "just now"
    if days < 1 or ago < HOUR:
        seconds, unit = (HOUR, "h") if ago >= HOUR else (MINUTE, "m")
        return f"{int(ago // seconds)}{unit}" + ("" if short else " ago")
    if days == 1 and not short:
        return "yesterday"
    if days < 7:
        return f"{days}d" + ("" if short else " ago")
    when = local_day(moment)
    if dates:
        return f"{when:%Y-%m-%d}"
    this_year = when.year == local_day(now).year
    return f"{when.day} {when:%b}" if this_year else f"{when:%b} {when.year}"


def days_ago(moment: float, now: float) -> int:
    """Return how many midnights lie between a moment and now."""
    return (local_day(now).date() - local_day(moment).date()).days


def list_age(moment: float | None, now: float, *, by_day: bool) -> str:
    """Return an age for a narrow column; `by_day` if a heading already says the day."""
    if by_day and is_known(moment) and now - moment >= HOUR and 1 <= days_ago(moment, now) < 7:
        return f"{local_day(moment):%H:%M}"
    return age(moment, now, short=True)


def local_time(moment: float | None) -> str:
    """Return a moment as local date and time."""
    return f"{local_day(moment):%Y-%m-%d %H:%M}" if is_known(moment) else "–"


def active_time(seconds: float) -> str:
    """Return time at work, in hours at most: days would count the nights too."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "<1 min" if seconds > 0 else "0 min"
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if hours < 100 else f"{hours:,} h"
