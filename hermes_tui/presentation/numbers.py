"""Human-readable counts and sizes."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_store.records.message import State


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


def money(dollars: float) -> str:
    """Return an amount as people write it: $12.40, <$0.01."""
    if 0 < dollars < 0.01:
        return "<$0.01"
    sign = "-" if round(dollars, 2) < 0 else ""
    return f"{sign}${abs(dollars):,.2f}"


def percent(share: float) -> str:
    """Return a share between 0 and 1: 42%, <1%."""
    return "<1%" if 0 < share < 0.01 else f"{share * 100:.0f}%"


def left_out(numbers: Mapping[State, int]) -> list[str]:
    """Return how many messages a page leaves out, such as "2 taken back"."""
    words = {State.REWOUND: "taken back", State.HIDDEN: "hidden"}
    return [f"{numbers[each]:,} {word}" for each, word in words.items() if numbers.get(each)]
