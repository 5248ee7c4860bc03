"""Matches by conversation, in the order of the best match of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hermes_store.engines.base import Transaction
from hermes_store.records import stored_values
from hermes_store.records.search import Cursor, Group, Hit, Strength
from hermes_store.search.hits import hits_of
from hermes_store.search.matcher import Found
from hermes_store.search.snippets import Highlighter
from hermes_store.sessions import lineage

HITS_PER_GROUP = 3


@dataclass(slots=True)
class _Conversation:
    """A conversation with its first matches."""

    root_id: str
    strength: Strength = Strength.WHOLE
    step: int = 0
    first: list[Found] = field(default_factory=list)
    count: int = 0
    titled: bool = False


class Groups:
    """Collects matches by conversation; only the first few of each are kept."""

    def __init__(
        self, tx: Transaction, titled: Sequence[str] = (), after: Cursor | None = None
    ) -> None:
        """`titled` are conversations whose title matches; `after` ends the page before."""
        self._tx = tx
        self._after = after or Cursor(-1, 0, 0.0, frozenset())
        self._seen = self._after.seen
        self._roots: dict[str, str] = {}
        self._by_root: dict[str, _Conversation] = {}
        self._titled = [root for root in titled if root not in self._seen]
        self._shown: list[_Conversation] = []

    @property
    def found(self) -> int:
        """The number of conversations with matching messages."""
        return len(self._by_root)

    @property
    def total(self) -> int:
        """The number of conversations, with earlier pages and those found by title."""
        return len(self._by_root.keys() | set(self._titled)) + len(self._seen)

    def are_more_than(self, number: int) -> bool:
        """Whether more conversations were found than so many, without those of earlier pages."""
        return len(self._by_root.keys() | set(self._titled)) > number

    @property
    def left(self) -> int:
        """The number of conversations that were found but not shown yet."""
        return self.total - len(self._seen.union(group.root_id for group in self._shown))

    def add(self, found: Found, step: int) -> bool:
        """Add a match; return False if its conversation is on an earlier page."""
        if found.session_id not in self._roots:
            self._roots |= lineage.roots(self._tx, [found.session_id])
        root = self._roots.setdefault(found.session_id, found.session_id)
        if root in self._seen:
            return False
        if root not in self._by_root:
            self._by_root[root] = _Conversation(root, found.strength, step)
        group = self._by_root[root]
        group.count += 1
        if len(group.first) < HITS_PER_GROUP:
            group.first.append(found)
        return True

    def page(
        self, part: slice, highlighter: Highlighter, *, oldest_first: bool | None
    ) -> tuple[Group, ...]:
        """Return the conversations of a page; by relevance if there is no order of time.

        Those whose title matches come first, as a group of their own. By time, that of their last
        activity orders them, so that none moves while matches are still being found.
        """
        for root in self._titled:
            if root in self._by_root:
                self._by_root[root].titled = True
        named = [
            _Conversation(root, titled=True) for root in self._titled if root not in self._by_root
        ]
        found = list(self._by_root.values())
        titled = [*named, *(group for group in found if group.titled)]
        if oldest_first is not None and titled:
            last = self._last_active([group.root_id for group in titled])
            titled.sort(key=lambda group: (last.get(group.root_id, 0.0), group.root_id))
            titled = titled if oldest_first else titled[::-1]
        self._shown = [*titled, *(group for group in found if not group.titled)][part]
        rows = [found for group in self._shown for found in group.first]
        hits: dict[str, list[Hit]] = {}
        for hit in hits_of(self._tx, rows, highlighter):
            hits.setdefault(self._roots[hit.session_id], []).append(hit)
        return tuple(
            Group(
                group.root_id,
                tuple(hits.get(group.root_id, ())),
                group.count,
                group.titled,
                group.strength,
            )
            for group in self._shown
        )

    def _last_active(self, roots: Sequence[str]) -> dict[str, float]:
        rows = self._tx.rows(
            "SELECT a.session_id, a.chain_active FROM json_each(?) wanted "
            "CROSS JOIN session_activity a ON a.session_id = wanted.value",
            (json.dumps(roots),),
        )
        return {root: stored_values.moment(moment) for root, moment in rows}

    def _time_of(self, found: Found) -> float:
        stored = self._tx.value("SELECT timestamp FROM messages WHERE id = ?", (found.message_id,))
        return stored_values.moment(stored)

    def cursor(self) -> Cursor:
        """Return the end of the page that was shown last."""
        seen = self._seen.union(group.root_id for group in self._shown)
        last = next((group for group in reversed(self._shown) if group.first), None)
        if last is None:
            return replace(self._after, seen=seen)
        return Cursor(last.step, last.first[0].message_id, self._time_of(last.first[0]), seen)
