"""All conversations at once, each chain with its sub-agents, and filters on them.

Only for questions that concern every session; `browse.recent` lists conversations by page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.errors import InvalidInput
from hermes_store.records.stored_values import (
    count,
    is_moment,
    moment,
    optional_amount,
    optional_moment,
    optional_text,
    text,
)
from hermes_store.records.workspace import Place
from hermes_store.search import field_conditions, query_language, times
from hermes_store.search.field_conditions import FieldProblem, MarkSource
from hermes_store.search.query_tree import And, Field, Node, Not, Or


@dataclass(frozen=True, slots=True)
class Member:
    """The columns of a session that a filter needs."""

    id: str
    parent: str | None
    edge: str
    source: str
    title: str | None
    model: str | None
    started_at: float
    ended_at: float | None
    end_reason: str | None
    messages: int
    tool_calls: int
    tokens: int
    cost: float
    provider: str | None
    user: str | None
    chat_id: str | None
    chat_type: str | None
    key: str | None
    """The key of a gateway's session."""
    place: Place
    last_active: float
    spoken: bool
    """Whether it has messages, whatever its counter says."""
    dated: bool
    """Whether its times are times; nobody can say how old it is otherwise."""


@dataclass(slots=True)
class Family:
    """A conversation: its chain and the sub-agents below it."""

    root: Member
    chain: list[Member] = field(default_factory=list)
    members: list[tuple[int, Member]] = field(default_factory=list)
    """All sessions, each with its distance from the root."""

    @property
    def last_active(self) -> float:
        """The last activity of any of its sessions."""
        return max(member.last_active for _, member in self.members)

    @property
    def messages(self) -> int:
        """The sum of its sessions' message counters."""
        return sum(member.messages for _, member in self.members)

    @property
    def is_dated(self) -> bool:
        """Whether the times of all its sessions are known."""
        return all(member.dated for _, member in self.members)

    @property
    def is_open(self) -> bool:
        """Whether a session of the chain has not ended."""
        return any(member.ended_at is None for member in self.chain)

    def title(self) -> str | None:
        """Return the title of the newest session that has one."""
        named = sorted((each.started_at, each.title) for each in self.chain if each.title)
        return named[-1][1] if named else None


# Columns that not every file has; what is missing is NULL.
_OPTIONAL = (
    "title",
    "end_reason",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "actual_cost_usd",
    "estimated_cost_usd",
    "billing_provider",
    "user_id",
    "chat_id",
    "chat_type",
    "session_key",
    "cwd",
    "git_repo_root",
    "git_branch",
)


def _members(tx: Transaction) -> Iterator[Member]:
    more = ", ".join(map(tx.caps.session_column, _OPTIONAL))
    rows = tx.rows(
        "SELECT s.id, p.id, a.edge, s.source, s.model, s.started_at, s.ended_at, "
        f"COALESCE(s.message_count, 0), a.last_active, a.spoken, {more} "
        "FROM session_activity a JOIN sessions s ON s.id = a.session_id "
        "LEFT JOIN sessions p ON p.id = s.parent_session_id"
    )
    return (_member(*row) for row in rows if type(row[0]) is str)


def _member(session_id: str, parent: Any, edge: Any, source: Any, *rest: Any) -> Member:
    model, started_at, ended_at, messages, last_active, spoken, *optional = rest
    more = dict(zip(_OPTIONAL, optional, strict=True))
    cost = optional_amount(more["actual_cost_usd"])
    return Member(
        id=session_id,
        parent=parent if type(parent) is str else None,
        edge=text(edge),
        source=text(source),
        title=optional_text(more["title"]),
        model=optional_text(model),
        started_at=moment(started_at),
        ended_at=optional_moment(ended_at),
        end_reason=optional_text(more["end_reason"]),
        messages=count(messages),
        tool_calls=count(more["tool_call_count"]),
        tokens=count(more["input_tokens"]) + count(more["output_tokens"]),
        cost=(optional_amount(more["estimated_cost_usd"]) if cost is None else cost) or 0.0,
        provider=optional_text(more["billing_provider"]),
        user=optional_text(more["user_id"]),
        chat_id=optional_text(more["chat_id"]),
        chat_type=optional_text(more["chat_type"]),
        key=optional_text(more["session_key"]),
        place=Place(*(optional_text(more[n]) for n in ("cwd", "git_repo_root", "git_branch"))),
        last_active=moment(last_active),
        spoken=bool(spoken),
        dated=is_moment(started_at) and is_moment(last_active),
    )


def load(tx: Transaction) -> dict[str, Family]:
    """Return all conversations by the id of their root."""
    members = {member.id: member for member in _members(tx)}
    families: dict[str, Family] = {}
    for member in members.values():
        root, depth, chained = _place(members, member)
        family = families.setdefault(root, Family(members[root]))
        family.members.append((depth, member))
        if chained:
            family.chain.append(member)
    return families


def _place(members: dict[str, Member], member: Member) -> tuple[str, int, bool]:
    """Return a session's root, its distance, and whether only continuations lie between.

    Goes up through continuations and sub-agents to a root or a branch; the root of a cycle in
    damaged data is its smallest id.
    """
    path = [member.id]
    while members[path[-1]].edge in ("compression", "agent"):
        parent = members[path[-1]].parent
        if parent in path:
            root = min(path[path.index(parent) :])
            return root, path.index(root), True
        if parent is None or parent not in members:
            break
        path.append(parent)
    chained = all(members[each].edge == "compression" for each in path[:-1])
    return path[-1], len(path) - 1, chained


# -- fields of the search language -------------------------------------------------------------


def parsed(text: str) -> Node:
    """Return the query tree of a filter; InvalidInput where a search would repair the query."""
    query = query_language.parse(text)
    # Searching repairs what it does not understand; deleting must not guess.
    if query.diagnostics:
        raise InvalidInput(f"The filter '{text}' cannot be used: {query.diagnostics[0].message}")
    if query.root is None:
        raise InvalidInput(f"The filter '{text}' is empty.")
    return query.root


class Where:
    """Finds the conversations that a query tree of fields matches."""

    def __init__(
        self,
        tx: Transaction,
        families: dict[str, Family],
        now: float,
        marks: MarkSource | None,
    ) -> None:
        self._tx = tx
        self._families = families
        self._now = now
        self._marks = marks
        self._roots = {each.id: root for root, family in families.items() for each in family.chain}

    def matching(self, node: Node) -> set[str]:
        """Return the roots of the conversations that a tree matches."""
        match node:
            case Field():
                return self._field(node)
            case Not():
                return self._families.keys() - self.matching(node.part)
            case And():
                return set.intersection(*(self.matching(part) for part in node.parts))
            case Or():
                return set.union(*(self.matching(part) for part in node.parts))
        raise InvalidInput(
            f"A filter takes only fields, such as source:cron or before:90d, not '{node.value}'."
        )

    def _field(self, wanted: Field) -> set[str]:
        if wanted.name in ("after", "before", "on"):
            return self._by_time(wanted.name, wanted.value)
        if wanted.name == "is" and wanted.value.lower() in ("live", "ended"):
            is_open = wanted.value.lower() == "live"
            return {root for root, each in self._families.items() if each.is_open == is_open}
        try:
            condition = field_conditions.condition(self._tx, wanted, self._now, self._marks)
        except FieldProblem as problem:
            raise InvalidInput(str(problem)) from problem
        if wanted.name == "tag" and condition.remark is not None:
            raise InvalidInput(condition.remark)  # a misspelled tag must not match all others
        joined = "" if condition.session else "JOIN messages m ON m.session_id = s.id"
        rows = self._tx.rows(
            f"SELECT DISTINCT s.id FROM sessions s {joined} WHERE {condition.sql}",
            condition.values,
        )
        return {self._roots[row[0]] for row in rows if row[0] in self._roots}

    def _by_time(self, name: str, value: str) -> set[str]:
        """Match times against the last activity of the conversation, not against each message."""
        span = times.span(value, self._now)
        if span is None:
            raise InvalidInput(f"'{value}' is not a time for {name}: — try {times.EXAMPLES}.")
        low = float("-inf") if name == "before" else span[0]
        high = {"before": span[0], "on": span[1]}.get(name, float("inf"))
        return {r for r, each in self._families.items() if low <= each.last_active < high}
