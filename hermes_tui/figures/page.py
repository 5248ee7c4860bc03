"""What the figures screen says around the heat map: a day, totals, weeks, tokens and costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from textual.content import Content

from hermes_store.records.sources import describe
from hermes_store.records.statistics import Activity, DayFigures, Share, Usage
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.charts import HEAT, bar, sparkline
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import byte_size, money, percent, plural
from hermes_tui.presentation.times import active_time

Part = tuple[str, str] | str
HEADING, MUTED, UP, DOWN, BAR = (
    "$primary bold",
    "$foreground-muted",
    "$success",
    "$warning",
    "$accent",
)
LABEL, VALUE = 15, 12
MOST_BAR = 48
ROWS = 8
"""How many models, workspaces and sources are named."""
LONG_WEEKDAYS = (
    "Mondays",
    "Tuesdays",
    "Wednesdays",
    "Thursdays",
    "Fridays",
    "Saturdays",
    "Sundays",
)
NOT_RECORDED = "not recorded"
EMPTY = (
    "No conversations yet.\n\n"
    "Once you have talked to Hermes, you see here how much on which day, what it cost,\n"
    "and how this week compares with the one before."
)
NOTES = (
    "A conversation can span several sessions: when it is compressed, a new session continues "
    "it. Hidden conversations count too. Active time leaves out pauses of 30 minutes or more. "
    "Tokens and cost count on the day a session starts."
)


def day_lines(day: date, found: DayFigures | None, width: int) -> Content:
    """Return two lines about a day; what does not fit is left out."""
    named = f"{day:%a} {day.day} {day:%b %Y}"
    if found is None or found == DayFigures():
        return Content.assemble((named, "bold"), "\n", ("Nothing on this day", MUTED))
    what = plural(found.messages, "message")
    more = [plural(found.conversations, "conversation")] if found.conversations else []
    more += [f"{active_time(found.active_seconds)} active"] if found.active_seconds else []
    more += [f"{found.tokens:,} tokens"] if found.tokens else []
    more += [money(found.cost_usd)] if found.cost_usd else []
    while len(" · ".join(more)) > width:
        more.pop()
    return Content.assemble((named, "bold"), f"  {what}\n", (" · ".join(more), MUTED))


def legend(found: Activity, first: date, width: int) -> Content:
    """Return what the signs of the heat map mean and, if it fits, what there was in all of it."""
    shown = [each for day, each in found.days.items() if day >= first and each.messages]
    messages = sum(each.messages for each in shown)
    what = f"{plural(messages, 'message')} on {plural(len(shown), 'day')} in the last year"
    signs = Content.assemble(("less ", MUTED), (" ".join(HEAT), "$success"), (" more   ", MUTED))
    return signs + Content.styled(what, MUTED) if len(signs) + len(what) <= width else signs


# -- all of it, and the last week ----------------------------------------------------------------


def overview(found: Activity, width: int) -> Content:
    """Return the totals, the streaks, the week on week and the hours."""
    parts: list[Part] = [
        *_heading("All time"),
        *_row("Conversations", f"{found.conversations:,}", f"in {found.sessions:,} sessions"),
        *_row("Messages", f"{found.messages:,}"),
        *_row("Active time", active_time(found.active_seconds)),
        *_row("Database", byte_size(found.database_bytes)),
        "\n",
        *_heading("Last 7 days", "against the 7 before"),
        *_compared("Conversations", found, width, lambda each: each.conversations),
        *_compared("Messages", found, width, lambda each: each.messages),
        *_compared("Active time", found, width, lambda each: each.active_seconds, active_time),
        *_compared("Tokens", found, width, lambda each: each.tokens),
        *_compared("Cost", found, width, lambda each: each.cost_usd, money),
        "\n",
        *_heading("Habits"),
        *_row("Current streak", plural(found.streak, "day")),
        *_row("Longest streak", plural(found.longest_streak, "day")),
        *_row("Active days", f"{sum(1 for day in found.days.values() if day.messages):,}"),
        *_busiest(found, width),
    ]
    return Content.assemble(*parts).rstrip()


def _heading(text: str, note: str = "") -> list[Part]:
    return [(text, HEADING), (f"  {note}\n" if note else "\n", MUTED)]


def _row(label: str, value: str, note: str = "") -> list[Part]:
    return [(fit(label, LABEL), MUTED), f" {value}", (f"  {note}\n" if note else "\n", MUTED)]


def _compared(
    label: str,
    found: Activity,
    width: int,
    of: Callable[[DayFigures], float],
    written: Callable[[float], str] = lambda value: f"{value:,.0f}",
) -> list[Part]:
    now, before = of(found.week), of(found.week_before)
    parts: list[Part] = [(fit(label, LABEL), MUTED), f" {fit(written(now), VALUE)} "]
    if now == before:
        return [*parts, ("the same\n", MUTED)]
    sign, style = ("▲", UP) if now > before else ("▼", DOWN)
    change = f" {percent(abs(now - before) / before)}" if before else ""
    earlier = f" from {written(before)}"
    fits = LABEL + VALUE + 3 + len(change) + len(earlier) <= width
    return [*parts, (f"{sign}{change}", style), (f"{earlier}\n" if fits else "\n", MUTED)]


def _busiest(found: Activity, width: int) -> list[Part]:
    if not found.messages:
        return []
    weekdays = [0] * 7
    for day, each in found.days.items():
        weekdays[day.weekday()] += each.messages
    hour = found.hours.index(max(found.hours))
    weekday = LONG_WEEKDAYS[weekdays.index(max(weekdays))]
    top, most = max(found.days.items(), key=lambda each: (each[1].conversations, each[0]))
    hours = sparkline(found.hours)
    beside = LABEL + 1 + len(hours) <= width
    before = f"{'':<{LABEL}} " if beside else ""
    return [
        *_row("Busiest day", f"{top:%-d %b %Y}", plural(most.conversations, "conversation")),
        *_row("Busiest time", f"{weekday}, {hour}–{hour + 1} h"),
        (f"{fit('By hour', LABEL)} " if beside else "By hour\n", MUTED),
        (hours, BAR),
        (f"\n{before}0     6     12    18\n", MUTED),
    ]


# -- tokens and costs ----------------------------------------------------------------------------


def usage(found: Usage, period: str, keys: str, width: int) -> Content:
    """Return tokens and costs of a period, and who used them."""
    parts: list[Part] = [*_heading(period, keys), *_row("Sessions", f"{found.sessions:,}")]
    if not found.sessions:
        return Content.assemble((period, HEADING), (f"  {keys}\n", MUTED), "No session started.")
    if found.tokens:
        parts += _row("Tokens in", f"{found.tokens - found.output_tokens:,}")
        parts += _row("Tokens out", f"{found.output_tokens:,}")
    else:
        parts += _row("Tokens", NOT_RECORDED)
    cached = found.cache_share
    parts += _row("Cache hits", NOT_RECORDED if cached is None else percent(cached),
                  "" if cached is None else "of the tokens in")  # fmt: skip
    parts += _row("Cost", NOT_RECORDED if found.cost_usd is None else money(found.cost_usd))
    parts.append("\n")
    measure = _measure(found)
    parts += _bars(f"{measure} by model", found.models, measure, width, _model)
    parts += _bars(f"{measure} by workspace", found.workspaces, measure, width, short_name)
    parts += _bars(
        "Sessions by source", found.sources, "Sessions", width, lambda name: describe(name).label
    )
    return Content.assemble(*parts).rstrip()


def _model(name: str) -> str:
    """Return a model without its provider, which is often longer than the model."""
    return name.rsplit("/", 1)[-1] or name


def _measure(found: Usage) -> str:
    if found.cost_usd:
        return "Cost"
    return "Tokens" if found.tokens else "Sessions"


def _bars(
    title: str,
    shares: Sequence[Share],
    measure: str,
    width: int,
    named: Callable[[str], str],
) -> list[Part]:
    of: dict[str, Callable[[Share], float]] = {
        "Cost": lambda each: each.cost_usd,
        "Tokens": lambda each: each.tokens,
        "Sessions": lambda each: each.sessions,
    }
    written = money if measure == "Cost" else lambda value: f"{value:,.0f}"
    found = sorted(
        ((of[measure](each), each.name) for each in shares if of[measure](each) > 0),
        key=lambda pair: -pair[0],
    )
    if not found or all(name is None for _, name in found):
        return []
    texts = [written(value) for value, _ in found[:ROWS]]
    right = max(map(len, texts))
    left = max(8, min(24, (width - right) // 2))
    room = max(4, min(MOST_BAR, width - left - right - 2))
    parts: list[Part] = [*_heading(title)]
    for text, (value, name) in zip(texts, found, strict=False):
        label = "none" if name is None else plain(named(name))
        parts += [
            (f"{fit(label, left)} ", "" if name is not None else MUTED),
            (bar(value / found[0][0], room), BAR),
            f" {text:>{right}}\n",
        ]
    if found[ROWS:]:
        rest = sum(value for value, _ in found[ROWS:])
        parts.append((f"and {len(found) - ROWS:,} more: {written(rest)}\n", MUTED))
    return [*parts, "\n"]
