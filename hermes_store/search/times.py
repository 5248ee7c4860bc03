"""Times as typed: 7d, 12h, 2026-01-31, 2026-01, yesterday, monday."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

_AGO = re.compile(r"^(\d{1,5})\s*(min|h|d|w|mo|m|y)$")
_UNITS = {
    "min": timedelta(minutes=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMES = ("today", "yesterday", *_DAYS)
_BEGINNING = re.compile(r"\d{1,5}\s*(mi)?|\d{4}-[01]?")
_BEGINNING_OF_DAY = re.compile(r"(\d{4}-\d{2})-[0-3]?")
_BEGINNING_OF_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[t ][\d:.+-]*")
EXAMPLES = "7d, 12h, 2026-01-31, 2026-01, yesterday or monday"


def span(text: str, now: float) -> tuple[float, float] | None:
    """Return the start and end of the time that a text means; None if it is not a time.

    A duration such as 7d starts that long ago and ends now.
    """
    wanted = text.strip().lower()
    present = datetime.fromtimestamp(now)
    ago = _AGO.match(wanted)
    try:
        if ago is not None:
            length = int(ago[1]) * _UNITS[ago[2]]
            if ago[2] in ("min", "m", "h"):
                return now - length.total_seconds(), now
            # Days are calendar days, even across a clock change.
            return (present - length).timestamp(), now
        days = _calendar(wanted, present.date())
        if days is not None:
            first, last = (datetime.combine(day, datetime.min.time()) for day in days)
            return first.timestamp(), last.timestamp()
        moment = datetime.fromisoformat(wanted.upper())
    except (ValueError, OverflowError, OSError):
        return None
    return moment.timestamp(), moment.timestamp()


def may_begin(text: str, now: float) -> bool:
    """Return whether a time can begin with a text that is not a time itself, as while typing."""
    wanted = text.strip().lower()
    if _BEGINNING.fullmatch(wanted) or any(name.startswith(wanted) for name in _NAMES):
        return True
    longer = _BEGINNING_OF_DAY.fullmatch(wanted) or _BEGINNING_OF_MOMENT.fullmatch(wanted)
    return longer is not None and span(longer[1], now) is not None


def _calendar(wanted: str, today: date) -> tuple[date, date] | None:
    """Return the first day and the day after the last of a day, month or year."""
    one = timedelta(days=1)
    if wanted == "today":
        return today, today + one
    if wanted == "yesterday":
        return today - one, today
    if wanted in _DAYS:
        back = (today.weekday() - _DAYS.index(wanted)) % 7
        return today - back * one, today - back * one + one
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", wanted):
        day = date.fromisoformat(wanted)
        return day, day + one
    if re.fullmatch(r"\d{4}-\d{2}", wanted):
        first = date.fromisoformat(wanted + "-01")
        return first, (first + 31 * one).replace(day=1)
    if re.fullmatch(r"(19|20)\d{2}", wanted):
        return date(int(wanted), 1, 1), date(int(wanted) + 1, 1, 1)
    return None
