"""The public parts `store.sessions`, `store.messages` and `store.lineage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_store.engines.base import Database
from hermes_store.errors import TitleError, TitleTaken
from hermes_store.records.message import Message, State
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.session import Lineage, Renamed, Session, TitleAdvice
from hermes_store.records.workspace import Place
from hermes_store.sessions import (
    branches,
    compression,
    lineage,
    message_order,
    messages,
    model_usage,
    session_rows,
    titles,
    undo,
)


class Sessions:
    """Finds, starts, ends and renames sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, session_id: str) -> Session:
        """Return a session by its exact id, or raise SessionNotFound."""
        with self._database.read() as tx:
            return session_rows.get(tx, session_id)

    def find(self, wanted: str) -> Session:
        """Return a session by id, unique id prefix or title.

        Raises SessionNotFound, or AmbiguousSession with the candidates.
        """
        with self._database.read() as tx:
            if not session_rows.exists(tx, wanted):
                named = titles.resolve(tx, wanted)
                if named is not None:
                    return session_rows.get(tx, named)
            return session_rows.get(tx, session_rows.resolve_id(tx, wanted))

    def find_to_resume(self, wanted: str) -> Session:
        """Return the session to resume when the user names one.

        That is its newest continuation or, if that one has no messages, the child that has them.
        """
        named = self.find(wanted)
        with self._database.read() as tx:
            return session_rows.get(tx, lineage.resume_target(tx, named.id))

    def count(self, source: str | None = None) -> int:
        """Return the number of sessions, in total or from one source."""
        with self._database.read() as tx:
            return session_rows.count(tx, source)

    def start(
        self,
        session_id: str,
        source: str,
        *,
        model: str | None = None,
        model_config: dict[str, Any] | None = None,
        system_prompt: str | None = None,
        user_id: str | None = None,
        parent_session_id: str | None = None,
        edge: Edge | None = None,
        started_at: float | None = None,
        place: Place | None = None,
    ) -> Session:
        """Add a session, or return the one that already has this id.

        `place` is where it takes place; see `hermes_store.sessions.workspaces.place_of`.
        """
        where = place or Place()
        with self._database.write() as tx:
            session_rows.create(
                tx,
                session_id,
                source,
                model=model,
                model_config=model_config,
                system_prompt=system_prompt,
                user_id=user_id,
                parent_session_id=parent_session_id,
                edge=edge,
                started_at=started_at,
                cwd=where.cwd,
                git_repo_root=where.git_repo_root,
                git_branch=where.git_branch,
            )
            return session_rows.get(tx, session_id)

    def end(self, session_id: str, reason: str) -> None:
        """End a session; one that has already ended keeps its reason."""
        with self._database.write() as tx:
            session_rows.end(tx, session_id, reason)

    def reopen(self, session_id: str) -> None:
        """Clear the end of a session, so that it can be continued."""
        with self._database.write() as tx:
            session_rows.reopen(tx, session_id)

    def add_usage(self, session_id: str, usage: dict[str, Any]) -> None:
        """Add token counts and costs to a session."""
        with self._database.write() as tx:
            model_usage.add(tx, session_id, usage)

    def rename(self, session_id: str, title: str | None) -> str | None:
        """Set or, with None, remove the title of a session; return it as stored."""
        return self.change_title(session_id, title).title

    def change_title(self, session_id: str, title: str | None) -> Renamed:
        """Rename a session as `rename` does; return what it takes to undo that."""
        with self._database.write() as tx:
            return titles.rename(tx, session_id, title)

    def undo_rename(self, renamed: Renamed) -> None:
        """Give a session its former title; TitleError if it was changed again or is taken."""
        with self._database.write() as tx:
            titles.take_back(tx, renamed)

    def title_if_untitled(self, session_id: str, title: str) -> str | None:
        """Set the title of an untitled session; return it as stored, or None if nothing changed."""
        with self._database.write() as tx:
            return titles.assign_if_untitled(tx, session_id, title)

    def advise_title(self, session_id: str, title: str) -> TitleAdvice:
        """Return whether a session can have a title, and how it would be stored."""
        try:
            wanted = titles.sanitize(title)
        except TitleError as error:
            return TitleAdvice(None, str(error), None)
        if wanted is None:
            return TitleAdvice(None, None, None)
        with self._database.read() as tx:
            holder = titles.other_holder(tx, session_id, wanted)
            if holder is None:
                return TitleAdvice(wanted, None, None)
            return TitleAdvice(
                wanted, str(TitleTaken(wanted, holder)), titles.next_in_lineage(tx, wanted)
            )


class Messages:
    """Reads and appends messages, and undoes the last exchange."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, session_id: str, *, everything: bool = False) -> list[Message]:
        """Return the messages of a session in order, including those that were summarised.

        With `everything`, also those that were taken back or are hidden; see `Message.state`.
        """
        with self._database.read() as tx:
            return list(messages.iterate(tx, session_id, everything=everything))

    def left_out(self, session_id: str) -> Mapping[State, int]:
        """Return how many messages `of` leaves out unless it is asked for everything, by state."""
        with self._database.read() as tx:
            return message_order.arrange(tx, session_id).left_out

    def by_id(self, ids: Sequence[int]) -> list[Message]:
        """Return messages in the order of `ids`; missing ones are skipped."""
        with self._database.read() as tx:
            return messages.by_id(tx, ids)

    def as_dictionaries(
        self, session_id: str, which: messages.Which = messages.Which.SENT
    ) -> list[dict[str, Any]]:
        """Return the messages of a session with all their columns, by default those sent."""
        with self._database.read() as tx:
            return messages.rows(tx, session_id, which)

    def for_model(self, session_id: str) -> list[dict[str, Any]]:
        """Return the messages of a session in the form a chat model is sent."""
        with self._database.read() as tx:
            return messages.conversation(tx, session_id)

    def append(
        self, session_id: str, message: Mapping[str, Any], timestamp: float | None = None
    ) -> int:
        """Add a message to the end of a session and return its id."""
        return messages.append_alone(self._database, session_id, message, timestamp)

    def newest_id(self, session_id: str) -> int:
        """Return the highest message id of a session; 0 if it has no messages."""
        with self._database.read() as tx:
            return messages.newest_id(tx, session_id)

    def undo_exchange(self, session_id: str, *, answer_only: bool = False) -> int:
        """Remove the last user message and everything after it; return the number of messages.

        With `answer_only`, keep the user message.
        """
        with self._database.write() as tx:
            return undo.undo_exchange(tx, session_id, answer_only=answer_only)


class Lineages:
    """Shows what a session descends from, and adds continuations and branches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tree(self, session_id: str) -> Lineage:
        """Return the lineage tree around a session, with typed edges."""
        with self._database.read() as tx:
            return lineage.tree(tx, session_id)

    def ancestors(self, session_id: str) -> tuple[Session, ...]:
        """Return the ancestors of a session, nearest first."""
        with self._database.read() as tx:
            return lineage.ancestors(tx, session_id)

    def roots(self, session_ids: Sequence[str]) -> dict[str, str]:
        """Return the first session of the conversation of each session, by session id."""
        with self._database.read() as tx:
            found = lineage.roots(tx, session_ids)
        return {each: found.get(each, each) for each in session_ids}

    def members(self, session_id: str) -> tuple[str, ...]:
        """Return the sessions of a conversation and its sub-agents, leaves first."""
        with self._database.read() as tx:
            session_rows.get(tx, session_id)
            return lineage.members(tx, session_id)

    def compress(
        self,
        session_id: str,
        *,
        summary: str,
        keep_last: int,
        summarised_to: int | None = None,
        new_id: str | None = None,
        now: float,
    ) -> Session:
        """End a session and return its continuation: the summary, then its last turns.

        Messages after `summarised_to`, added while the summary was being written, are kept
        unchanged. SessionInUse if another process has compressed it or is working on it.
        """
        with self._database.write() as tx:
            return compression.compress(
                tx,
                session_id,
                summary=summary,
                keep_last=keep_last,
                summarised_to=summarised_to,
                new_id=new_id,
                now=now,
            )

    def branch(
        self,
        session_id: str,
        *,
        title: str | None = None,
        new_id: str | None = None,
        now: float,
    ) -> Session:
        """End a session and return a copy that continues separately."""
        with self._database.write() as tx:
            return branches.branch(tx, session_id, title=title, new_id=new_id, now=now)
