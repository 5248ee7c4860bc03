"""The marks on conversations: pinned, archived, tags.

If the session database has a column for a mark, that column is used, so that a newer Hermes sees
the same marks. All others are stored in the sidecar. A mark on any session of a compression chain
counts for the whole conversation; setting and removing it changes the whole chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from hermes_store.engines.base import Database, Sidecar, Transaction
from hermes_store.errors import InvalidInput, SessionNotFound
from hermes_store.records.marks import SessionMarks, TagChange
from hermes_store.records.safe_text import clean, one_line
from hermes_store.records.stored_values import text
from hermes_store.sessions import lineage, session_rows

PINNED, ARCHIVED, TAG = "pinned", "archived", "tag"
MAX_TAG = 50

_LISTED = "(SELECT value FROM json_each(?))"


def tag_name(wanted: str) -> str:
    """Return a tag as it is stored: one line, lower case, without a leading #."""
    name = one_line(clean(wanted)).removeprefix("#").strip().lower()
    if not name or len(name) > MAX_TAG:
        raise InvalidInput(f"A tag must have 1 to {MAX_TAG} characters; '{wanted[:80]}' does not.")
    return name


class Marks:
    """The marks on the conversations of one session database. Safe to share between threads."""

    def __init__(self, db: Database, companion: Sidecar) -> None:
        self._db = db
        self._companion = companion

    # -- changing --------------------------------------------------------------------------

    def pin(self, *session_ids: str) -> tuple[str, ...]:
        """Pin conversations; return the sessions given whose conversations were not pinned."""
        return self._set(session_ids, PINNED, True)

    def unpin(self, *session_ids: str) -> tuple[str, ...]:
        """Unpin conversations; return the sessions given whose conversations were pinned."""
        return self._set(session_ids, PINNED, False)

    def archive(self, *session_ids: str) -> tuple[str, ...]:
        """Archive conversations (hide them from lists); return those that were not archived."""
        return self._set(session_ids, ARCHIVED, True)

    def unarchive(self, *session_ids: str) -> tuple[str, ...]:
        """Show conversations in lists again; return those that were archived."""
        return self._set(session_ids, ARCHIVED, False)

    def tag(self, session_id: str, *tags: str) -> tuple[str, ...]:
        """Add tags to a conversation and return all its tags."""
        names = [tag_name(tag) for tag in tags]
        members = self._members(session_id)
        with self._companion.write() as tx:
            _keep(tx, members, TAG, names)
        return self.of([session_id])[session_id].tags

    def untag(self, session_id: str, *tags: str) -> tuple[str, ...]:
        """Remove tags from a conversation, all if none is given; return the remaining tags."""
        names = [tag_name(tag) for tag in tags]
        members = self._members(session_id)
        with self._companion.write() as tx:
            if names:
                _remove(tx, members, TAG, names)
            else:
                tx.run(
                    f"DELETE FROM marks WHERE kind = ? AND session_id IN {_LISTED}",
                    (TAG, json.dumps(members)),
                )
        return self.of([session_id])[session_id].tags

    def retag(self, changes: Mapping[str, TagChange]) -> dict[str, TagChange]:
        """Change the tags of several conversations at once; return what really changed in each."""
        wanted = {
            each: TagChange(_names(change.added), _names(change.removed))
            for each, change in changes.items()
        }
        members = {each: self._members(each) for each in wanted}
        done = {}
        with self._companion.write() as tx:
            before = {each: set(marks.tags) for each, marks in self.of([*wanted]).items()}
            for each, change in wanted.items():
                added = tuple(tag for tag in change.added if tag not in before[each])
                removed = tuple(tag for tag in change.removed if tag in before[each])
                _remove(tx, members[each], TAG, removed)
                _keep(tx, members[each], TAG, added)
                if added or removed:
                    done[each] = TagChange(added, removed)
        return done

    def _set(self, session_ids: Sequence[str], kind: str, wanted: bool) -> tuple[str, ...]:
        self._companion.require_writable()
        members = {each: self._members(each) for each in session_ids}
        everyone = [each for found in members.values() for each in found]
        before = self.of(session_ids)
        with self._db.read() as tx:
            in_file = tx.caps.has_session(kind)
        if in_file:
            with self._db.write() as tx:
                tx.run(
                    f"UPDATE sessions SET {kind} = ? WHERE id IN {_LISTED}",
                    (int(wanted), json.dumps(everyone)),
                )
        # With a column, a mark from before the database had it is removed, too.
        if not in_file or (not wanted and self._companion.exists):
            with self._companion.write() as tx:
                (_keep if wanted else _remove)(tx, everyone, kind, [""])
        return tuple(
            each
            for each in session_ids
            if (before[each].pinned if kind == PINNED else before[each].archived) is not wanted
        )

    def _members(self, session_id: str) -> list[str]:
        with self._db.read() as tx:
            if not session_rows.exists(tx, session_id):
                raise SessionNotFound(session_id)
            return list(lineage.chain(tx, session_id))

    # -- reading ---------------------------------------------------------------------------

    def of(self, session_ids: Sequence[str]) -> dict[str, SessionMarks]:
        """Return the marks of the conversation of each session, by session id."""
        with self._db.read() as tx:
            members = _conversations(tx, session_ids)
            everyone = sorted({each for found in members.values() for each in found})
            kept: dict[str, set[tuple[str, str]]] = {}
            for owner, kind, value in self._in_companion(everyone) | _in_file(tx, everyone):
                kept.setdefault(owner, set()).add((kind, value))
        result = {}
        for session_id, found in members.items():
            own = {mark for each in found for mark in kept.get(each, ())}
            tags = tuple(sorted(value for kind, value in own if kind == TAG))
            result[session_id] = SessionMarks((PINNED, "") in own, (ARCHIVED, "") in own, tags)
        return result

    def tags(self) -> tuple[tuple[str, int], ...]:
        """Return all tags by name, each with its number of conversations."""
        with self._db.read() as tx:
            return self.tags_in(tx)

    def tags_in(self, tx: Transaction) -> tuple[tuple[str, int], ...]:
        """Return all tags of the conversations in a snapshot, as `tags` does."""

        def tagged(side: Transaction) -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for value, session_id in side.rows(
                "SELECT value, session_id FROM marks WHERE kind = ? ORDER BY value", (TAG,)
            ):
                found.setdefault(text(value), []).append(text(session_id))
            return found

        nothing: dict[str, list[str]] = {}
        found = self._companion.ask(tagged, nothing, once=True)
        counted = [(name, len(set(lineage.roots(tx, ids).values()))) for name, ids in found.items()]
        return tuple((name, number) for name, number in counted if number)

    def sessions_with(
        self, tx: Transaction, mark: str, value: str = "", *, in_file: bool = True
    ) -> tuple[str, ...]:
        """Return all sessions of the conversations with a mark: pinned, archived, or tag and value.

        Without `in_file`, only marks in the sidecar count.
        """
        wanted = value.lower().removeprefix("#") if mark == TAG else ""
        sql = "SELECT session_id FROM marks WHERE kind = ? AND value = ?"
        nothing: set[str] = set()
        found = self._companion.ask(
            lambda side: {text(row[0]) for row in side.rows(sql, (mark, wanted))},
            nothing,
            once=True,
        )
        if in_file and mark != TAG and tx.caps.has_session(mark):
            marked = tx.rows(f"SELECT id FROM sessions WHERE {mark} = 1")
            found |= {session_id for (session_id,) in marked if type(session_id) is str}
        return tuple(sorted(set[str]().union(*_conversations(tx, found).values())))

    def pinned(self) -> frozenset[str]:
        """Return all sessions of pinned conversations."""
        with self._db.read() as tx:
            return frozenset(self.pinned_in(tx))

    def pinned_in(self, tx: Transaction) -> tuple[str, ...]:
        """Return all sessions of the pinned conversations in a snapshot."""
        if not tx.caps.has_session(PINNED) and not self._companion.exists:
            return ()
        return self.sessions_with(tx, PINNED)

    def tagged(self, tag: str) -> frozenset[str]:
        """Return all sessions of the conversations with a tag."""
        with self._db.read() as tx:
            return frozenset(self.sessions_with(tx, TAG, tag))

    def archived(self, tx: Transaction) -> tuple[str, ...]:
        """Return the sessions that are archived in the sidecar only."""
        if not self._companion.exists:
            return ()
        return self.sessions_with(tx, ARCHIVED, in_file=False)

    def of_rows(self, tx: Transaction, session_ids: Sequence[str]) -> dict[str, SessionMarks]:
        """Return the marks of conversations by their first session; empty if there are none."""
        if not tx.caps.has_session(PINNED) and not self._any():
            return {}
        return self.of(session_ids)

    def _any(self) -> bool:
        """Whether the sidecar has any mark: most people have none, and a list asks often."""
        return self._companion.exists and self._companion.ask(
            lambda side: side.one("SELECT 1 FROM marks LIMIT 1") is not None, False, once=True
        )

    def _in_companion(self, session_ids: Sequence[str]) -> set[tuple[str, str, str]]:
        sql = f"SELECT session_id, kind, value FROM marks WHERE session_id IN {_LISTED}"
        listed = (json.dumps(session_ids),)
        return self._companion.ask(
            lambda side: {(text(a), text(b), text(c)) for a, b, c in side.rows(sql, listed)},
            set(),
            once=True,
        )


def _names(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag_name(tag) for tag in tags))


def forget(side: Transaction, session_ids: Iterable[str]) -> None:
    """Remove the marks of permanently deleted sessions."""
    for session_id in session_ids:
        side.run("DELETE FROM marks WHERE session_id = ?", (session_id,))


def _keep(tx: Transaction, session_ids: Sequence[str], kind: str, values: Sequence[str]) -> None:
    for session_id in session_ids:
        for value in values:
            tx.run(
                "INSERT INTO marks VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (session_id, kind, value),
            )


def _remove(tx: Transaction, session_ids: Sequence[str], kind: str, values: Sequence[str]) -> None:
    for session_id in session_ids:
        for value in values:
            tx.run(
                "DELETE FROM marks WHERE session_id = ? AND kind = ? AND value = ?",
                (session_id, kind, value),
            )


def _in_file(tx: Transaction, session_ids: Sequence[str]) -> set[tuple[str, str, str]]:
    found = set()
    for kind in (PINNED, ARCHIVED):
        if tx.caps.has_session(kind):
            rows = tx.rows(
                f"SELECT id FROM sessions WHERE {kind} = 1 AND id IN {_LISTED}",
                (json.dumps(session_ids),),
            )
            found |= {(row[0], kind, "") for row in rows}
    return found


def _conversations(tx: Transaction, session_ids: Iterable[str]) -> dict[str, set[str]]:
    """Return all sessions of the conversation of each session; none for those that are gone."""
    session_ids = list(session_ids)
    roots = lineage.roots(tx, session_ids) if session_ids else {}
    found: dict[str, set[str]] = {root: set() for root in roots.values()}
    if found:
        listed = (json.dumps(sorted(found)),)
        for root, session_id in tx.rows(f"{lineage.CHAIN}SELECT root, id FROM chain", listed):
            if type(session_id) is str:
                found[root].add(session_id)
    return {each: found.get(roots.get(each, ""), set()) for each in session_ids}
