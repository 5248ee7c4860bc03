"""`hermes sessions tree`: the lineage of a session."""

from __future__ import annotations

import argparse
from typing import Any

from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.session import Lineage, LineageNode
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Part, dim, strong, width
from hermes_tui.presentation.fit_text import cell_width, fit, plain
from hermes_tui.presentation.lineage_lines import EDGE_NAMES
from hermes_tui.presentation.numbers import plural
from hermes_tui.presentation.times import local_time

SHORTEST = 12
"""Columns that a title gets at least."""


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or title")
    parser.epilog = 'example:\n  hermes sessions tree "my project"'


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store() as store:
        lineage = store.lineage.tree(store.sessions.find(options.session).id)
    if context.printer.as_json:
        context.printer.data(
            "tree",
            current=lineage.current_id,
            tip=lineage.tip_id,
            truncated=lineage.truncated,
            root=_as_data(lineage.root),
        )
    else:
        _print(context, lineage)
    return 0


def _as_data(root: LineageNode) -> dict[str, Any]:
    """Return a tree as nested objects, without recursion, since chains can be very long."""
    made: dict[str, dict[str, Any]] = {}
    for node in reversed(_in_order(root)):
        session = node.session
        made[session.id] = {
            "id": session.id,
            "title": session.title,
            "edge": EDGE_NAMES[node.edge] or "root",
            "source": session.source,
            "started_at": session.started_at,
            "messages": session.message_count,
            "children": [made[child.session.id] for child in node.children],
        }
    return made[root.session.id]


def _in_order(root: LineageNode) -> list[LineageNode]:
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting += reversed(node.children)
    return nodes


def _print(context: Context, lineage: Lineage) -> None:
    waiting: list[tuple[LineageNode, str, str]] = [(lineage.root, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        context.printer.line(lead, *_line(lineage, node, width() - cell_width(lead)))
        last = len(node.children) - 1
        for place, child in reversed(list(enumerate(node.children))):
            corner, bar = ("└─ ", "   ") if place == last else ("├─ ", "│  ")
            waiting.append((child, indent + corner, indent + bar))
    if lineage.truncated:
        context.printer.line("… the tree has more sessions than shown here.")


def _line(lineage: Lineage, node: LineageNode, room: int) -> tuple[Part, ...]:
    session = node.session
    kind = f"({EDGE_NAMES[node.edge]}) " if node.edge is not Edge.ROOT else ""
    marks = []
    if session.id == lineage.current_id:
        marks.append("← this one")
    if session.id == lineage.tip_id and lineage.tip_id != lineage.root.session.id:
        marks.append("◆ newest")
    number = plural(session.message_count, "message")
    name = plain(session.title or "—")
    facts = f"  {plain(session.id)}  {local_time(session.started_at)}  {number}"
    marked = f"  {' '.join(marks)}" if marks else ""
    left = room - cell_width(f"{kind}{facts}{marked}")
    if left < min(SHORTEST, cell_width(name)):
        facts = f"  {plain(session.id)}"
        left = room - cell_width(f"{kind}{facts}{marked}")
    return kind, strong(fit(name, max(SHORTEST, left), pad=False)), dim(facts), marked
