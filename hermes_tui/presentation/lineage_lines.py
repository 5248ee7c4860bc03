"""The lineage tree of a conversation, as lines."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.session import Lineage, LineageNode, Session
from hermes_tui.presentation.fit_text import cell_width, fit_title, plain
from hermes_tui.presentation.numbers import short_number
from hermes_tui.presentation.styled_line import Line
from hermes_tui.presentation.times import age

EDGE_NAMES = {
    Edge.ROOT: "",
    Edge.COMPRESSION: "compression",
    Edge.BRANCH: "branch",
    Edge.AGENT: "sub-agent",
    Edge.RESET: "after a reset",
}


@dataclass(frozen=True, slots=True)
class Branch:
    """A session of a lineage tree with the lines that lead to it."""

    session: Session
    edge: Edge
    lead: str
    tip: bool = False
    current: bool = False


def branches(lineage: Lineage) -> list[Branch]:
    """Return a lineage tree from top to bottom. Not recursive: a chain can be very long."""
    found: list[Branch] = []
    waiting: list[tuple[LineageNode, str, str]] = [(lineage.root, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        session = node.session
        found.append(
            Branch(
                session,
                node.edge,
                lead,
                tip=session.id == lineage.tip_id,
                current=session.id == lineage.current_id,
            )
        )
        last = len(node.children) - 1
        for place, child in reversed(list(enumerate(node.children))):
            # A continuation is not indented below what it continues; only real forks are.
            if last == 0 and child.edge is Edge.COMPRESSION:
                waiting.append((child, f"{indent}↓ ", indent))
                continue
            corner, bar = ("└ ", "  ") if place == last else ("├ ", "│ ")
            waiting.append((child, indent + corner, indent + bar))
    return found


def branch_line(branch: Branch, width: int, now: float) -> Line:
    """Return a session of a lineage tree as one line."""
    session = branch.session
    name = plain(session.title or "") or plain(session.id)
    kind = EDGE_NAMES[branch.edge]
    notes = [kind] if kind else []
    if branch.tip:
        notes.append("newest")
    if branch.current:
        notes.append("this one")
    said = f" ({', '.join(notes)})" if notes else ""
    right = (
        f" {short_number(session.message_count):>5} {age(session.started_at, now, short=True):>7}"
    )
    lead = branch.lead
    while cell_width(lead) > width // 2:
        lead = "…" + lead[3:]
    room = width - cell_width(lead) - cell_width(right)
    title = "title" if branch.current or branch.tip else "untitled"
    name_room = room - cell_width(said)
    if name_room < 8:
        said, name_room = "", room
    return [
        (lead, "tree"),
        (name if cell_width(name) <= name_room else fit_title(name, name_room).rstrip(), title),
        (said, "edge"),
        (" " * max(0, name_room - min(cell_width(name), name_room)), ""),
        (right, "age"),
    ]
