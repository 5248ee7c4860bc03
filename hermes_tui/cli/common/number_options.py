"""Checks numbers from the command line."""

from __future__ import annotations

from hermes_store.errors import InvalidInput

MOST = 1_000_000_000
"""More than any home holds, and still a number that every database and calendar can take."""


def check_number(option: str, value: float | None, least: int, most: int = MOST) -> None:
    """Raise InvalidInput for a number that is too small, too large or none at all."""
    if value is None or least <= value <= most:
        return
    if value < least:
        raise InvalidInput(f"{option} must be at least {least}, not {value}.")
    if value > most:
        raise InvalidInput(f"{option} must be at most {most:,}.")
    raise InvalidInput(f"{option} must be a number, not {value}.")
