"""Families of sessions, and the list of them worked out plainly, without SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw
from hypothesis import strategies as st

from hermes_store import Store
from hermes_store.records.listing import Entry, Grouping, Heading, Hidden, ListRow, Sort, View
from hermes_store.records.sources import describe

NOW = datetime(2026, 3, 15, 0, 30).timestamp()
"""Shortly after midnight, in the middle of a month."""
STEP = 7 * 3600.0
IDS = ("a", "ab", "abc", "b", "B", "ca", "c", "é", "e 'x\"")
GONE = "gone"
SOURCES = ("cli", "cli", "telegram", "cron", "tool", "subagent", "oneshot", "kanban")
FOLDERS: tuple[tuple[str | None, str | None], ...] = (
    (None, None),
    ("/src/shop-api", "/src/shop-api/tests"),
    ("/src/web", "/src/web"),
    ("", "/home/me/notes"),
    (None, "/work/web"),
)
"""Roots of repositories, and folders."""
TITLES = ("Beta", "beta", "alpha", "Éa", "éb", "_", "Zz", None, None)
CONFIGS: tuple[dict[str, str] | None, ...] = (
    *(None,) * 4,
    {},
    {"_branched_from": "a"},
    {"_delegate_from": "a"},
    {"_delegate_from": "__orphaned__"},
    {"_reset_from": "a"},
)


@dataclass(frozen=True)
class Member:
    """A session as it is written into a file."""

    id: str
    source: str = "cli"
    parent: str | None = None
    started: float = NOW
    ended: float | None = None
    reason: str | None = None
    config: dict[str, str] | None = None
    title: str | None = None
    model: str | None = None
    count: int | None = None
    said: tuple[float, ...] = ()
    filed: str | None = None
    """The column of a newer file that hides it: archived or hidden."""
    root: str | None = None
    folder: str | None = None
    cost: float | None = None
    estimate: float | None = None
    tokens: int | None = None

    @property
    def spent(self) -> float:
        return (self.estimate if self.cost is None else self.cost) or 0.0

    @property
    def workspace(self) -> str | None:
        return self.root or self.folder or None

    @property
    def last(self) -> float:
        return max(self.said, default=self.started)


def write(con: apsw.Connection, family: Iterable[Member], *, newer: bool = False) -> None:
    """Write a family, the messages in the order of their moments."""
    said: list[tuple[float, str]] = []
    for each in family:
        row: dict[str, Any] = {
            "id": each.id,
            "source": each.source,
            "parent_session_id": each.parent,
            "started_at": each.started,
            "ended_at": each.ended,
            "end_reason": each.reason,
            "model_config": None if each.config is None else json.dumps(each.config),
            "title": each.title,
            "model": each.model,
            "message_count": each.count,
            "actual_cost_usd": each.cost,
            "estimated_cost_usd": each.estimate,
            "output_tokens": each.tokens,
        }
        if each.workspace:
            row |= {"git_repo_root": each.root, "cwd": each.folder}
        if newer:
            row |= {"archived": each.filed == "archived", "hidden": each.filed == "hidden"}
        con.execute(
            f"INSERT INTO sessions({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            tuple(row.values()),
        )
        said += [(moment, each.id) for moment in each.said]
    con.executemany(
        "INSERT INTO messages(timestamp, session_id, role, content) VALUES (?, ?, 'user', 'hm')",
        sorted(said),
    )


# -- what can be drawn -----------------------------------------------------------------------


@st.composite
def families(draw: st.DrawFn) -> list[Member]:
    """Draw chains, branches, agents, circles and children of parents that are gone."""
    ids = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1, max_size=8))
    titles = draw(st.permutations(TITLES))
    moments = st.integers(0, 12).map(lambda ago: NOW - ago * STEP) | st.integers(0, 200).map(
        lambda ago: NOW - ago * STEP
    )
    return [
        Member(
            id=each,
            source=draw(st.sampled_from(SOURCES)),
            parent=draw(st.none() | st.sampled_from((*ids, *ids[:2], GONE))),
            started=draw(moments),
            ended=draw(st.none() | moments),
            reason=draw(st.sampled_from((*("compression",) * 3, "branched", "user_exit", None))),
            config=draw(st.sampled_from(CONFIGS)),
            title=title,
            model=draw(st.sampled_from((None, "", "opus", "haiku"))),
            count=draw(st.none() | st.integers(0, 3)),
            said=tuple(draw(st.lists(moments, max_size=2))),
            filed=draw(st.sampled_from((None, None, None, "archived", "hidden"))),
            root=root,
            folder=folder,
            cost=draw(st.none() | st.sampled_from((0.0, 0.5, 2.0))),
            estimate=draw(st.none() | st.sampled_from((0.25, 1.0))),
            tokens=draw(st.none() | st.integers(0, 3)),
        )
        for each, title in zip(ids, titles, strict=False)
        for root, folder in [draw(st.sampled_from(FOLDERS))]
    ]


views = st.builds(
    View,
    source=st.sampled_from((None, None, "cli", "cron", "tool", "oneshot", "subagent", "sms")),
    workspace=st.none() | st.sampled_from(("shop", "PI", "/src", "elsewhere")),
    here=st.none() | st.sampled_from(("/src/shop-api", "/src", "/home/me")),
    shown=st.frozensets(st.sampled_from(Hidden)),
    sort=st.sampled_from(Sort),
    group=st.sampled_from(Grouping),
    limit=st.none() | st.integers(0, 4),
)


# -- the list ----------------------------------------------------------------------------------


def heading(now: float, moment: float) -> str:
    """Return what a list by date says above something of a moment."""
    then = datetime.fromtimestamp(moment)
    days = (datetime.fromtimestamp(now).date() - then.date()).days
    for limit, name in ((0, "Today"), (1, "Yesterday"), (6, f"{then:%A}"), (29, "Last 30 days")):
        if days <= limit:
            return name
    return f"{then:%B} {then.year}"


class PlainList:
    """A family as a list has to show it."""

    def __init__(
        self, family: Iterable[Member], archived: Collection[str] = (), *, newer: bool = False
    ) -> None:
        self.by_id = {each.id: each for each in family}
        self._newer = newer
        self.archived = archived
        self.edges = {each.id: self._edge(each) for each in self.by_id.values()}
        self.chains: dict[str, list[Member]] = {}
        for each in self.by_id.values():
            self.chains.setdefault(self._root(each).id, []).append(each)

    def _edge(self, child: Member) -> str:
        config = child.config or {}
        parent = self.by_id.get(child.parent or "")
        if config.get("_delegate_from", "__orphaned__") != "__orphaned__":
            return "agent"
        if parent is None or (parent.parent == child.id and child.id <= parent.id):
            return ""
        if "_branched_from" in config:
            return "branch"
        reset = config.get("_reset_from")
        inherited = (parent.config or {}).get("_reset_from") == reset
        if reset and not (parent.reason == "compression" and inherited):
            return "reset"
        in_time = parent.ended is not None and child.started >= parent.ended
        if parent.reason == "compression" and child.source != "tool" and (in_time or self._newer):
            return "compression"
        return "branch" if parent.reason == "branched" and in_time else "agent"

    def _root(self, each: Member) -> Member:
        seen = {each.id}
        while self.edges[each.id] == "compression" and each.parent is not None:
            each = self.by_id[each.parent]
            if each.id in seen:
                break
            seen.add(each.id)
        return each

    def last(self, root: Member) -> float:
        """Return when something happened in a conversation."""
        return max(each.last for each in self.chains[root.id])

    def total(self, root: Member) -> int:
        """Return how many messages a conversation says it has."""
        return sum(each.count or 0 for each in self.chains[root.id])

    def spent(self, root: Member) -> float:
        """Return what a conversation cost."""
        return sum(each.spent for each in self.chains[root.id])

    def tokens(self, root: Member) -> int:
        """Return how many tokens a conversation took."""
        return sum(each.tokens or 0 for each in self.chains[root.id])

    def relatives(self, root: Member) -> int:
        """Return how many others hang on a conversation."""
        inside = {each.id for each in self.chains[root.id]}
        return sum(e.parent in inside and e.id not in inside for e in self.by_id.values())

    def starts(self) -> list[Member]:
        """Return the sessions that continue nothing."""
        return [each for each in self.by_id.values() if self.edges[each.id] != "compression"]

    def hidden(self, each: Member) -> Hidden | None:
        """Return what hides a session unless it is asked for."""
        if self.edges[each.id] == "agent" or each.source in ("tool", "subagent"):
            return Hidden.AGENT
        by_source = {"cron": Hidden.CRON, "oneshot": Hidden.ONESHOT, "kanban": Hidden.KANBAN}
        if each.source in by_source:
            return by_source[each.source]
        if each.filed == "archived" or each.id in self.archived:
            return Hidden.ARCHIVED
        if each.filed == "hidden":
            return Hidden.HIDDEN
        return None if each.said else Hidden.EMPTY

    def _shows(self, view: View, each: Member) -> bool:
        asked = {
            "cron": Hidden.CRON,
            "oneshot": Hidden.ONESHOT,
            "kanban": Hidden.KANBAN,
            "tool": Hidden.AGENT,
            "subagent": Hidden.AGENT,
        }
        shown = {None, *view.shown, asked.get(view.source or "")}
        return self.hidden(each) in shown and self.is_in(view, each)

    def is_in(self, view: View, start: Member) -> bool:
        """Return whether a conversation is of the source and the workspace of a view."""
        if view.source not in (None, start.source):
            return False
        chain = self.chains.get(start.id, [start])
        if view.workspace is not None and not any(
            view.workspace.lower() in (each.workspace or "").lower() for each in chain
        ):
            return False
        return view.here is None or any(_within(each, view.here) for each in chain)

    def hidden_counts(self, view: View) -> dict[Hidden, int]:
        """Return how many sessions are left out, by the reason."""
        counts: dict[Hidden, int] = {}
        for each in self.starts():
            reason = self.hidden(each)
            if reason and self.is_in(view, each) and not self._shows(view, each):
                counts[reason] = counts.get(reason, 0) + 1
        return counts

    def _by_title(self, start: Member) -> tuple[bool, str]:
        """Return what sorts by the title that a row shows."""
        others = [each for each in self.chains[start.id] if each is not start]
        newest = max(others, key=lambda each: (each.started, each.id), default=start)
        title = newest.title or start.title
        return title is None, _ascii_lower(title or "")

    def _newest(self, start: Member) -> Member:
        others = [each for each in self.chains[start.id] if each is not start]
        return max(others, key=lambda each: (each.started, each.id), default=start)

    def _workspace(self, start: Member, found: list[Member]) -> str:
        """Return the heading of a conversation's workspace."""
        names = {each.id: self._newest(each).workspace or each.workspace for each in found}
        named = [path.rsplit("/", 1)[-1] for path in {name for name in names.values() if name}]
        path = names[start.id]
        if path is None:
            return "no workspace"
        short = path.rsplit("/", 1)[-1]
        return short if named.count(short) < 2 else "/".join(path.split("/")[-2:])

    def entries(self, view: View, now: float = NOW) -> list[Entry]:
        """Return the list itself."""
        found = [each for each in self.starts() if self._shows(view, each)]
        found.sort(key=lambda each: each.id, reverse=True)
        found.sort(key=self.last, reverse=True)
        if view.sort is Sort.STARTED:
            found.sort(key=lambda each: each.id, reverse=True)
            found.sort(key=lambda each: each.started, reverse=True)
        elif view.sort is Sort.MESSAGES:
            found.sort(key=self.total, reverse=True)
        elif view.sort is Sort.TITLE:
            found.sort(key=self._by_title)
        elif view.sort is Sort.COST:
            found.sort(key=self.spent, reverse=True)
        elif view.sort is Sort.TOKENS:
            found.sort(key=self.tokens, reverse=True)
        found = found[: view.limit]
        timeless = view.sort not in (Sort.ACTIVITY, Sort.STARTED)
        if view.group is Grouping.NONE or (view.group is Grouping.DATE and timeless):
            return [each.id for each in found]
        moment = (lambda each: each.started) if view.sort is Sort.STARTED else self.last
        labels: dict[Grouping, Callable[[Member], str]] = {
            Grouping.WORKSPACE: lambda each: self._workspace(each, found),
            Grouping.DATE: lambda each: heading(now, moment(each)),
            Grouping.SOURCE: lambda each: describe(each.source).label,
            Grouping.MODEL: lambda each: each.model or "no model",
            Grouping.HOST: lambda _: "written here",
        }
        groups: dict[str, list[str]] = {}
        for each in found:
            groups.setdefault(labels[view.group](each), []).append(each.id)
        result: list[Entry] = []
        for text, ids in groups.items():
            result += [Heading(text, len(ids)), *ids]
        return result


def _within(each: Member, folder: str) -> bool:
    if each.root:
        return each.root == folder
    return each.folder is not None and (each.folder + "/").startswith(folder + "/")


def _ascii_lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


# -- asking a store ----------------------------------------------------------------------------


def ids(store: Store, view: View | None = None, *, now: float = NOW) -> list[str]:
    """Return a list without its headings."""
    return [e for e in store.lists.entries(view or View(), now=now) if isinstance(e, str)]


def row(store: Store, session_id: str, *, now: float = NOW) -> ListRow:
    """Return the row of one conversation."""
    (found,) = store.lists.rows([session_id], now=now)
    return found
