"""Find the conversations relevant to a question, and the relevant part of each.

Works on one snapshot of the database; `recall` turns the findings into an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from hermes_store.engines.base import Transaction, WordSource
from hermes_store.records import stored_values
from hermes_store.records.recall import RecalledSession
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.search import Relaxation, Strength
from hermes_store.records.session import Session
from hermes_store.search import ranking
from hermes_store.search.cancellation import Stop
from hermes_store.search.field_conditions import Condition
from hermes_store.search.hits import details
from hermes_store.search.matcher import Found
from hermes_store.search.query_tree import And, Node
from hermes_store.search.recall import excerpt, question
from hermes_store.search.run_plan import Search
from hermes_store.search.snippets import wanted_texts
from hermes_store.search.titles import with_matching_title
from hermes_store.search.weights import MACHINES
from hermes_store.sessions import lineage, session_rows

SEEN = 200
"""Matches to rank in one pass to find conversations among them."""
MAX_MATCHES = 5_000
"""The most matches to read of one conversation."""
COUNT_UP_TO = 1_000
SECONDS = 10.0

_LISTED = "(SELECT value FROM json_each(?))"


def whole_lineage(tx: Transaction, session_id: str | None) -> tuple[str, ...]:
    """Return the whole lineage tree of a session."""
    if session_id is None or not session_rows.exists(tx, session_id):
        return ()
    family = tx.rows(
        "WITH RECURSIVE family(id) AS (SELECT value FROM json_each(?) UNION "
        "SELECT s.id FROM family JOIN sessions s ON s.parent_session_id = family.id) "
        "SELECT id FROM family",
        (json.dumps(lineage.path_from_root(tx, session_id)[:1]),),
    )
    return tuple(row[0] for row in family if type(row[0]) is str)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation chosen for the answer."""

    root_id: str
    tree: Node
    best: Found | None


class Seeker:
    """Searches conversations on one snapshot of a database."""

    def __init__(
        self,
        tx: Transaction,
        words: WordSource,
        skipped: Sequence[str],
        *,
        roles: Sequence[str],
        exclude_sources: Sequence[str],
        now: float,
    ) -> None:
        self._tx = tx
        self._list = words
        self._skipped = skipped
        self._roles = roles
        self._exclude_sources = exclude_sources
        self._now = now
        self.stop = Stop(seconds=SECONDS)

    def _search(self, tree: Node, *conditions: Condition, oldest_first: bool = False) -> Search:
        spoken = [_within("m.role", self._roles)] if self._roles else []
        if self._exclude_sources:
            spoken.append(_outside("s.source", self._exclude_sources))
        return Search(
            self._tx,
            tree,
            words=self._list,
            extra=[*spoken, *conditions],
            stop=self.stop,
            oldest_first=oldest_first,
            now=self._now,
        )

    # -- which conversations ---------------------------------------------------------------

    def conversations(
        self, wanted: Node, limit: int
    ) -> tuple[list[Chosen], tuple[Relaxation, ...]]:
        """Return the best conversations for a tree, or for the first wider tree that has any."""
        split = self._tx.split
        listed = self._search(wanted).matcher.vocabulary()
        for tree, steps in question.ladder(wanted, split, listed, self._frequency):
            found = self._best(tree, limit)
            if found:
                return found, steps
            if self.stop():
                break
        return [], ()

    def _frequency(self, tree: Node) -> int:
        """Return how many messages match, up to a limit."""
        search = self._search(tree)
        counted = search.count(COUNT_UP_TO)
        if counted is not None and counted[0]:
            return counted[0]
        return int(next(search.found(weakest=Strength.WHOLE), None) is not None)

    def _best(self, tree: Node, limit: int) -> list[Chosen]:
        """Return the best conversations, those with a user before those of machines."""
        found: dict[str, Found | None] = {}
        left_out = list(self._skipped)
        said: set[tuple[str, float, str, str | None]] = set()
        people = 0
        # Each pass leaves out what was found: one long conversation must not hide the others.
        for _ in range(limit + 1):
            fresh = self._pass(tree, left_out, limit, first=not found)
            new = [root for root in fresh if root not in found]
            for root in new:
                best = fresh[root]
                left_out += lineage.members(self._tx, root)
                words = self._words(root, best)
                if words is None or words not in said:
                    found[root] = best
                if words is not None:
                    said.add(words)
            machines = self._machines(found)
            people = len(found) - len(machines)
            if not new or people >= limit or self.stop():
                break
        ordered = sorted(found, key=lambda root: root in machines)[:limit]
        return [Chosen(root, tree, found[root]) for root in ordered]

    def _words(self, root: str, best: Found | None) -> tuple[str, float, str, str | None] | None:
        """Return a key that is the same for a match and its copy in a branch."""
        if best is None:
            return None
        oldest = lineage.path_from_root(self._tx, root)[0]
        said = details(self._tx, [best.message_id])[best.message_id]
        return oldest, said.timestamp, said.role, said.content

    def _pass(
        self, tree: Node, left_out: Sequence[str], limit: int, *, first: bool
    ) -> dict[str, Found | None]:
        """Return conversations with their best matches; titles count only in the first pass."""
        search = self._search(tree, _outside("s.id", left_out))
        titled: tuple[str, ...] = ()
        if first and not self._roles:
            # A message may match with some of the words; a short title must have them all.
            every = And(wanted_texts(tree), tree.span)
            named = with_matching_title(self._tx, every, search.matcher.conditions, limit)
            titled = tuple(root for root in named if self._may_be_named(root))
        rows = list(islice(ranking.ranked(search, SEEN, weighted=True), SEEN))
        root_of = lineage.roots(self._tx, (row.session_id for row in rows))
        best: dict[str, Found | None] = dict.fromkeys(titled)
        for row in rows:
            root = root_of.get(row.session_id, row.session_id)
            best[root] = best.get(root) or row
        found: dict[str, Found | None] = {}
        for root, row_or_none in best.items():
            home = self._conversation_of(root)
            found[home] = found.get(home) or row_or_none
        return found

    def _may_be_named(self, root: str) -> bool:
        source = session_rows.get(self._tx, root).source
        return root not in self._skipped and source not in self._exclude_sources

    def _conversation_of(self, root: str) -> str:
        """Return the first session of the conversation that sent a sub-agent, or the root itself.

        The user knows that conversation and can resume it.
        """
        seen: set[str] = set()
        while root not in seen and lineage.edge_of(self._tx, root) is Edge.AGENT:
            seen.add(root)
            parent = session_rows.get(self._tx, root).parent_session_id
            root = lineage.roots(self._tx, [parent] if parent else []).get(str(parent), root)
        return root

    def _machines(self, roots: Iterable[str]) -> set[str]:
        """Return the conversations without a user."""
        sources = ", ".join("?" * len(MACHINES))
        rows = self._tx.rows(
            "SELECT a.session_id FROM json_each(?) wanted "
            "CROSS JOIN session_activity a ON a.session_id = wanted.value "
            f"WHERE a.source IN ({sources}) OR a.edge = 'agent'",
            (json.dumps(list(roots)), *MACHINES),
        )
        return {row[0] for row in rows}

    # -- the part of each ------------------------------------------------------------------

    def told(self, chosen: Chosen, characters: int) -> RecalledSession:
        """Return a conversation with its relevant part."""
        chain = lineage.chain(self._tx, chosen.root_id)
        heard, found_in = chain, chosen.best.session_id if chosen.best else None
        if found_in is not None and found_in not in chain:
            heard = (*chain, *lineage.chain(self._tx, found_in))
            found_in = self._sender(found_in, chain)
        within = Condition(f"s.id IN {_LISTED}", (json.dumps(heard),))
        search = self._search(chosen.tree, within, oldest_first=True)
        matching = [row.message_id for row in islice(search.found(), MAX_MATCHES)]
        if chosen.best is not None:
            matching.append(chosen.best.message_id)  # the only one if the time was up
        page = excerpt.Page(self._tx, heard, search.highlighter)
        places = page.places(matching)
        best = page.places([chosen.best.message_id]) if chosen.best else []
        shown = excerpt.around(page, places, best[0] if best else None, characters)
        root = session_rows.get(self._tx, chosen.root_id)
        tip = session_rows.get(self._tx, lineage.compression_tip(self._tx, chosen.root_id))
        return RecalledSession(
            session_id=found_in or tip.id,
            root_id=root.id,
            title=self._title(tip, chain),
            source=root.source,
            model=tip.model or root.model,
            started_at=root.started_at,
            last_active=stored_values.moment(
                self._tx.value(
                    "SELECT chain_active FROM session_activity WHERE session_id = ?", (root.id,)
                )
            ),
            messages=len(page),
            matches=len(places),
            window=shown.text,
            focus=shown.focus,
            start_cut=shown.start_cut,
            end_cut=shown.end_cut,
        )

    def _sender(self, session_id: str, chain: Sequence[str]) -> str | None:
        """Return the session of a conversation that a sub-agent was sent from."""
        above = reversed(lineage.path_from_root(self._tx, session_id))
        return next((each for each in above if each in chain), None)

    def _title(self, tip: Session, chain: Sequence[str]) -> str | None:
        """Return the newest title of a conversation."""
        if tip.title is not None:
            return tip.title
        title = self._tx.value(
            f"SELECT title FROM sessions WHERE id IN {_LISTED} AND title IS NOT NULL "
            "ORDER BY started_at DESC LIMIT 1",
            (json.dumps(chain),),
        )
        return stored_values.optional_text(title)


def _within(column: str, chosen: Sequence[str]) -> Condition:
    return Condition(f"{column} IN {_LISTED}", (json.dumps(list(chosen)),), session=False)


def _outside(column: str, left_out: Sequence[str]) -> Condition:
    # Not "session": many sessions remain.
    return Condition(f"{column} NOT IN {_LISTED}", (json.dumps(list(left_out)),), session=False)
