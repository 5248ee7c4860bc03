"""Human-readable counts and sizes."""

from __future__ import annotations


def plural(number: int, thing: str) -> str:
    """Return "1 session" or "2 sessions"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def byte_size(number: float) -> str:
    """Return a number of bytes in a fitting unit."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1_000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1_000
    return f"{number:.1f} GB"


def short_number(value: int) -> str:
    """Return a count in at most five columns."""
    if value < 10_000:
        return str(value)
    return f"{value / 1_000:.0f}k" if value < 1_000_000 else f"{value / 1_000_000:.1f}M"
