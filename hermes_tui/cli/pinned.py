"""`hermes sessions pinned`: list pinned conversations."""

from __future__ import annotations

import argparse

from hermes_store.errors import DatabaseMissing
from hermes_store.records.listing import Hidden, ListRow, View
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Column
from hermes_tui.presentation.fit_text import first_words, plain
from hermes_tui.presentation.times import age

NOTHING = "No pinned conversations. Pin one with 'hermes sessions pin SESSION'."


def describe(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example:\n  hermes sessions pinned --json"


def run(options: argparse.Namespace, context: Context) -> int:
    rows = _rows(context)
    printer = context.printer
    if printer.as_json:
        printer.data(
            "pinned",
            sessions=[
                {
                    "id": row.tip_id,
                    "title": row.title,
                    "source": row.source,
                    "last_active": row.last_active,
                    "message_count": row.message_count,
                }
                for row in rows
            ],
        )
    elif rows:
        columns = [
            Column("Title", 32), Column("Last Active", 13), Column("Src", 9), Column("ID", 0)
        ]  # fmt: skip
        printer.table(columns, (_cells(row, context.now) for row in rows))
    else:
        printer.line(NOTHING)
    return 0


def _rows(context: Context) -> list[ListRow]:
    try:
        with context.store() as store:
            pinned = store.marks.pinned()
            view = View(shown=frozenset(Hidden))
            listed = (each for each in store.lists.entries(view, now=context.now))
            ids = [each for each in listed if isinstance(each, str) and each in pinned]
            return store.lists.rows(ids, now=context.now)
    except DatabaseMissing:
        return []


def _cells(row: ListRow, now: float) -> list[str]:
    name = row.title or first_words(row.preview) or "—"
    return [plain(name), age(row.last_active, now, dates=True), plain(row.source), row.tip_id]
