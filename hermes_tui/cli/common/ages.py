"""Ages and points in time on the command line: 30m, 5h, 2d, 1w, 90 (days), 2026-07-05 14:30."""

from __future__ import annotations

import re
from datetime import datetime

from hermes_store.errors import InvalidInput
from hermes_tui.cli.common.number_options import check_number

DAY = 86_400.0
EXAMPLES = "30m, 5h, 2d, 1w, 6mo, 1y, or a number of days"
MOST_DAYS = 36_500
_DATE = re.compile(r"[0-9]{8}")
_AGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
_SECONDS = {
    "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0,
    "h": 3_600.0, "hr": 3_600.0, "hour": 3_600.0,
    "": DAY, "d": DAY, "day": DAY,
    "w": 7 * DAY, "wk": 7 * DAY, "week": 7 * DAY,
    "mo": 30 * DAY, "month": 30 * DAY,
    "y": 365 * DAY, "yr": 365 * DAY, "year": 365 * DAY,
}  # fmt: skip


def _seconds(text: str) -> float | None:
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        return None
    unit = found[2]
    per = _SECONDS.get(unit, _SECONDS.get(unit.removesuffix("s")) if len(unit) > 1 else None)
    return None if per is None else float(found[1]) * per


def days(text: str, flag: str = "--older-than") -> float:
    """Return an age in days."""
    seconds = _seconds(text)
    if seconds is None:
        raise InvalidInput(f"'{text}' is not an age for {flag}; try {EXAMPLES}.")
    check_number(flag, seconds / DAY, least=0)
    return seconds / DAY


def moment(text: str, flag: str, now: float) -> float:
    """Return a point in time: that long ago, or a date, local unless it names a zone."""
    # As a number of days it would be before every time there is; people mean a date.
    seconds = None if _DATE.fullmatch(text.strip()) else _seconds(text)
    if seconds is not None:
        check_number(flag, seconds / DAY, least=0, most=MOST_DAYS)
        return now - seconds
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"'{text}' is not a time for {flag}; try {EXAMPLES}, or a date such as 2026-07-05 or "
            "'2026-07-05 14:30'."
        ) from None
