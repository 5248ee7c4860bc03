"""`hermes sessions list`: recent conversations as a plain table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing
from hermes_store.records.listing import Filter
from hermes_store.records.sources import describe as source_names
from hermes_store.records.sources import known_name
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Column
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.times import age

NOTHING = "No sessions found."
HIDDEN_SOURCES = ("tool",)
FIELDS = (
    "id",
    "title",
    "preview",
    "source",
    "model",
    "started_at",
    "last_active",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
)


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", help="list only this source, such as telegram")
    parser.add_argument("--limit", type=int, default=20, help="how many (default: 20, 0 for all)")
    parser.add_argument("--archived", action="store_true", help="include archived conversations")
    parser.add_argument("--all-profiles", action="store_true", help="list all profiles")
    parser.epilog = (
        "examples:\n  hermes sessions list --source telegram --limit 50\n"
        "  hermes sessions list --json | jq -r '.sessions[].id'"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--limit", options.limit, least=0)
    if options.all_profiles:
        rows = _of_all_profiles(options, context)
    else:
        rows = list(_rows(options, context))
    if context.printer.as_json:
        keys = ("profile", *FIELDS) if options.all_profiles else FIELDS
        context.printer.data("sessions", sessions=[_chosen(row, keys) for row in rows])
    elif rows:
        _print(context, rows, profiles=options.all_profiles)
    else:
        context.printer.line(NOTHING)
    return 0


def _rows(options: argparse.Namespace, context: Context) -> Iterator[dict[str, Any]]:
    try:
        with context.store() as store:
            chosen = Filter(
                source=known_name(options.source),
                exclude_sources=() if options.source else HIDDEN_SOURCES,
                include_archived=getattr(options, "archived", False),
            )
            yield from store.lists.as_dictionaries(chosen, limit=options.limit or -1)
    except DatabaseMissing:
        return


def profile_contexts(context: Context) -> Iterator[tuple[str, Context]]:
    """Yield every profile that has a database, the default profile first."""
    for name in ("default", *paths.profiles(context.home)):
        home = paths.profile_home(name, context.home)
        database: Path = paths.database_path(home)
        if database.exists():
            yield name, replace(context, home=home, database=database)


def _of_all_profiles(options: argparse.Namespace, context: Context) -> list[dict[str, Any]]:
    rows = [
        row | {"profile": name}
        for name, each in profile_contexts(context)
        for row in _rows(options, each)
    ]
    rows.sort(key=lambda row: -row["last_active"])
    return rows[: options.limit or None]


def _chosen(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row.get(key) for key in keys} | (
        {"root_id": row["_lineage_root_id"]} if "_lineage_root_id" in row else {}
    )


def _print(context: Context, rows: list[dict[str, Any]], *, profiles: bool) -> None:
    titled = any(row["title"] for row in rows)
    columns = [Column("Last Active", 13), Column("ID", 0)]
    if titled:
        columns = [Column("Title", 32), Column("Preview", 40), *columns]
    else:
        columns = [Column("Preview", 50), columns[0], Column("Src", 6), columns[1]]
    if profiles:
        columns.insert(0, Column("Profile", 12))
    context.printer.table(columns, (_cells(context, row, titled, profiles) for row in rows))


def _cells(context: Context, row: dict[str, Any], titled: bool, profiles: bool) -> list[str]:
    when = age(row["last_active"], context.now, dates=True)
    preview = plain(row["preview"])
    if titled:
        cells = [row["title"] or "—", preview, when, row["id"]]
    else:
        cells = [preview, when, source_names(row["source"]).short, row["id"]]
    return [row["profile"], *cells] if profiles else cells
