"""`hermes sessions list`: recent conversations as a plain table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing
from hermes_store.records import stored_values
from hermes_store.records.listing import Filter
from hermes_store.records.sources import describe as source_names
from hermes_store.records.sources import known_name
from hermes_store.records.workspace import Place, short_name
from hermes_tui.cli.common import last_list, workspace_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Column, dim
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.times import age

NOTHING = "No sessions found."
HIDDEN_SOURCES = ("tool", "oneshot", "kanban")
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
    "cwd",
    "git_repo_root",
    "git_branch",
)


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", help="list only this source, such as telegram")
    workspace_option.add(parser, "list")
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
        numbered = context.printer.is_terminal and not options.all_profiles
        if numbered:
            last_list.keep(context.database, [row["id"] for row in rows])
        _print(context, rows, profiles=options.all_profiles, numbered=numbered)
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
                workspace=options.workspace,
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
    return (
        {key: row.get(key) for key in keys}
        | {"workspace": _workspace(row)}
        | ({"root_id": row["_lineage_root_id"]} if "_lineage_root_id" in row else {})
    )


def _print(context: Context, rows: list[dict[str, Any]], *, profiles: bool, numbered: bool) -> None:
    titled = any(row["title"] for row in rows)
    placed = any(_workspace(row) is not None for row in rows)
    columns = [Column("Last Active", 13), Column("ID", 0)]
    where = [Column("Workspace", 18)] if placed else []
    if titled:
        name = [Column("Title", 28)] if placed else [Column("Title", 32), Column("Preview", 40)]
        columns = [*name, *where, *columns]
    else:
        name = [Column("Preview", 38 if placed else 50)]
        columns = [*name, *where, columns[0], Column("Src", 6), columns[1]]
    lead: list[str] = []
    if profiles:
        columns.insert(0, Column("Profile", 12))
        lead = [row["profile"] for row in rows]
    elif numbered:
        columns.insert(0, Column("#", 4))
        lead = [str(number) for number in range(1, len(rows) + 1)]
    cells = [_cells(context, row, titled=titled, placed=placed) for row in rows]
    if lead:
        cells = [[first, *each] for first, each in zip(lead, cells, strict=True)]
    context.printer.table(columns, cells)
    if numbered:
        context.printer.line(dim("hermes -r NUMBER resumes one of them."))


def _cells(context: Context, row: dict[str, Any], *, titled: bool, placed: bool) -> list[str]:
    when = age(row["last_active"], context.now, dates=True)
    preview = plain(row["preview"])
    workspace = _workspace(row)
    where = ["—" if workspace is None else plain(short_name(workspace))] if placed else []
    if titled:
        name = [row["title"] or ("—" if not placed else preview or "—")]
        return [*name, *([] if placed else [preview]), *where, when, row["id"]]
    return [preview, *where, when, source_names(row["source"]).short, row["id"]]


def _workspace(row: dict[str, Any]) -> str | None:
    return Place(
        stored_values.optional_text(row.get("cwd")),
        stored_values.optional_text(row.get("git_repo_root")),
    ).workspace
