"""Creates the demo's database: the written conversations, at times relative to the present.

The same `now` gives the same sessions, ids included, so that pictures can be taken of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.opening import sidecar_of
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.workspace import Place
from hermes_store.sessions import (
    branches,
    compression,
    messages,
    model_usage,
    session_rows,
    titles,
)
from hermes_store.store import Store
from hermes_store.trash.api import Trash
from hermes_tui.demo import token_costs
from hermes_tui.demo.conversation_file import conversations
from hermes_tui.demo.timeline import Session, dated, sessions, when

CODE = "/home/sam/code"
SAVED_SEARCHES = {
    "Docker this week": "docker after:7d",
    "Exit codes": '"exit code" has:tools',
    "From my phone": "source:telegram OR source:whatsapp OR source:signal",
}
EARLIER_SEARCHES = ("lisbon hotel", "部署", "slow query source:cli", '"exit code 137"')
"""The last one is the latest."""
KEPT_AFTER_COMPRESSION = 2
_ENDINGS = {"cli": "cli_close", "cron": "cron_complete"}

Step = tuple[float, int, Callable[[Transaction], object]]


def create(database: Path | str, now: float) -> None:
    """Create the demo's database with its marks, saved searches and trash."""
    made = [each for written in conversations() for each in sessions(written, now)]
    steps = sorted(step for each in enumerate(made) for step in _steps(*each, now=now))
    with Store(database, synchronous="NORMAL") as store:
        with store.database.write() as tx:
            for _, _, write in steps:
                write(tx)
        _mark(store, made)
        for name, query in SAVED_SEARCHES.items():
            store.saved_searches.save(name, query, now)
        for place, query in enumerate(EARLIER_SEARCHES):
            store.saved_searches.remember(query, now - 3_600 * (len(EARLIER_SEARCHES) - place))
        _throw_away(store, made, now)


def _steps(place: int, session: Session, *, now: float) -> Iterator[Step]:
    """Yield what to write of a session and when; all sessions are written in order of time.

    Ids then follow time, as they do in a database that a person has used.
    """
    number = place * 1_000
    yield session.start, number, partial(_begin, session=session)
    for message in session.said:
        number += 1
        at = message["timestamp"]
        yield at, number, partial(_append, session_id=session.id, message=message)
    yield session.end, number + 1, partial(_finish, session=session, now=now)


def _append(tx: Transaction, session_id: str, message: dict[str, Any]) -> None:
    messages.append(tx, session_id, message, message["timestamp"])


def _begin(tx: Transaction, session: Session) -> None:
    head, parent, edge = session.part.head, session.parent, session.part.edge
    if parent is not None and edge is Edge.COMPRESSION:
        compression.compress(
            tx,
            parent.id,
            summary=head["summary"].replace("\\n", "\n"),
            keep_last=KEPT_AFTER_COMPRESSION,
            new_id=session.id,
            now=session.start,
        )
    elif parent is not None and edge is Edge.BRANCH:
        branches.branch(tx, parent.id, title=head["title"], new_id=session.id, now=session.start)
    else:
        place = _place(head if "workspace" in head or parent is None else parent.part.head)
        session_rows.create(
            tx,
            session.id,
            _source(session),
            model=session.model,
            parent_session_id=parent.id if parent else None,
            edge=edge,
            started_at=session.start,
            cwd=place.cwd,
            git_repo_root=place.git_repo_root,
            git_branch=place.git_branch,
        )
        if "title" in head:
            titles.assign(tx, session.id, dated(head["title"], session.start))


def _source(session: Session) -> str:
    own = session.part.head.get("source")
    return own or (_source(session.parent) if session.parent is not None else "cli")


def _place(head: dict[str, str]) -> Place:
    if "workspace" not in head:
        return Place()
    folder = f"{CODE}/{head['workspace']}"
    branch = head.get("branch")
    return Place(folder, folder if branch else None, branch)


def _finish(tx: Transaction, session: Session, now: float) -> None:
    model_usage.add(tx, session.id, token_costs.usage(session.model, session.said))
    head = session.part.head
    if head.get("ended") != "no":
        reason = head.get("ended") or _ENDINGS.get(_source(session), "session_reset")
        session_rows.end(tx, session.id, reason, min(session.end + 25, now))


def _mark(store: Store, made: list[Session]) -> None:
    for session in made:
        head = session.part.head
        if "tags" in head:
            store.marks.tag(session.id, *head["tags"].split())
        if "pinned" in head:
            store.marks.pin(session.id)
        if "archived" in head:
            store.marks.archive(session.id)


def _throw_away(store: Store, made: list[Session], now: float) -> None:
    side = sidecar_of(store.database)
    try:
        for session in made:
            if "trashed" in session.part.head:
                thrown = when(session.part.head["trashed"], now)
                trash = Trash(store.database, side, clock=partial(float, thrown))
                trash.delete_conversation(session.id)
    finally:
        side.close()
