"""`hermes insights`: tokens, costs and usage, with charts in the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict

from hermes_store.errors import DatabaseMissing
from hermes_store.records.sources import describe as source_names
from hermes_store.records.statistics import WEEKDAYS, Insights
from hermes_tui.cli.common import source_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import dim, strong, width
from hermes_tui.presentation.charts import bar, sparkline
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import money, plural, short_number
from hermes_tui.presentation.times import active_time

WIDE = 90
"""From this width on, a terminal has room for the bars of models."""


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=30, help="days to cover (default: 30)")
    source_option.add(parser, "count")
    parser.epilog = "examples:\n  hermes insights --days 7\n  hermes insights --source telegram"


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--days", options.days, least=1)
    try:
        with context.store() as store:
            source = source_option.chosen(store, options.source)
            found = store.upkeep.insights(days=options.days, source=source, now=context.now)
    except DatabaseMissing as error:
        if context.printer.as_json:
            context.printer.data("insights", sessions=0)
        else:
            context.printer.line(str(error))
        return 0
    if context.printer.as_json:
        context.printer.data("insights", **asdict(found), total_tokens=found.total_tokens)
    elif not found.sessions:
        source = f" (source: {plain(options.source)})" if options.source else ""
        context.printer.line(
            f"No sessions found in the last {plural(options.days, 'day')}{source}."
        )
    else:
        _print(context, found)
    return 0


def _print(context: Context, found: Insights) -> None:
    line, say = context.printer.line, context.printer.say
    source = f", {source_names(found.source).label}" if found.source else ""
    line(strong(f"Last {plural(found.days, 'day')}{source}"))
    say(f"  sessions {found.sessions:,} · messages {found.messages:,} "
         f"({found.user_messages:,} yours) · tool calls {found.tool_calls:,}")  # fmt: skip
    say(f"  tokens {found.total_tokens:,} ({found.input_tokens:,} in, {found.output_tokens:,} "
         f"out, {found.cache_tokens:,} cached) · cost {money(found.cost_usd)}")  # fmt: skip
    say(f"  active days {found.active_days} · longest streak {found.best_streak} · "
         f"active time {active_time(found.active_seconds)}")  # fmt: skip
    line(f"  {sparkline(number for _, number in found.by_day[-min(60, width() - 4) :])}")
    _models(context, found)
    if len(found.sources) > 1:
        named = [(source_names(name).label, number) for name, number in found.sources]
        _bars(context, "Sources", named)
    _bars(context, "Tools", found.tools)
    _bars(context, "Weekdays", list(zip(WEEKDAYS, found.weekdays, strict=True)))
    line(strong("Hours"))
    line(f"  {sparkline(found.hours)}")
    line(dim("  0     6     12    18"))
    line(strong("Notable"))
    for each in found.notable:
        value = active_time(each.value) if each.kind == "longest" else f"{each.value:,.0f}"
        start = f"  {each.kind:<16} {value:>10}  "
        name = plain(each.title or each.session_id)
        line(f"{start}{fit(name, max(12, width() - len(start)), pad=False)}")


def _models(context: Context, found: Insights) -> None:
    context.printer.line(strong("Models"))
    top = max((model.input_tokens + model.output_tokens for model in found.models), default=0)
    for model in found.models:
        tokens = model.input_tokens + model.output_tokens
        name = fit(plain(model.model.rsplit("/", 1)[-1]), 20)
        drawn = f" {bar(tokens / top if top else 0)}" if width() >= WIDE else ""
        context.printer.line(
            f"  {name}{drawn} {short_number(tokens):>6} tokens "
            f"{money(model.cost_usd):>9}  {plural(model.sessions, 'session')}"
        )


def _bars(context: Context, heading: str, values: Iterable[tuple[str, int]]) -> None:
    rows = list(values)
    top = max((number for _, number in rows), default=0)
    if not top:
        return
    context.printer.line(strong(heading))
    for name, number in rows:
        context.printer.line(f"  {fit(plain(name), 16)} {bar(number / top)} {number:>6,}")
