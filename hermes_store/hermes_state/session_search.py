"""The tool `session_search` of Hermes Agent: its description, its arguments and its answer.

`store.recall` finds and summarizes; here are the names and limits under which chat models know
it. Without a query, the answer is the list of recent conversations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hermes_store.browse import recent_sessions
from hermes_store.errors import StoreError
from hermes_store.records.listing import Filter
from hermes_store.records.recall import Recalled, RecalledSession
from hermes_store.search.recall.conversations import whole_lineage
from hermes_store.search.recall.recall import Summarise
from hermes_store.store import Store

SESSIONS = 3
MOST_SESSIONS = 5
RAW_CHARACTERS = 8_000
"""What a chat model gets of a conversation without a summary."""
HIDDEN_SOURCES = ("tool",)
"""Sessions of other programs, which are not part of the user's own history."""

NAME = "session_search"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": (
            "Search earlier conversations with this user, or list the recent ones. With a query, "
            "returns the best matching conversations, each with its time and a summary. Without "
            "a query, returns titles, previews and times of the most recent conversations. "
            "The current conversation is left out."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": (
                        "A few words that were probably used, or a question. Also supported: "
                        '"an exact phrase", docker OR podman, NOT word, deploy*. Leave it out to '
                        "list recent conversations."
                    ),
                },
                "role_filter": {
                    "type": "string",
                    "description": (
                        "Search only messages of these roles, separated by commas, such as "
                        "'user,assistant'. All by default."
                    ),
                },
                "limit": {
                    "type": "integer",
                    "description": (
                        f"How many conversations to return: 1 to {MOST_SESSIONS}, "
                        f"{SESSIONS} by default."
                    ),
                    "default": SESSIONS,
                },
            },
            "required": [],
        },
    },
}
GUIDANCE = (
    f"You can search earlier conversations with the tool {NAME}. Do so on your own initiative "
    "when the user mentions something they told you before, or something that an earlier "
    "conversation may have settled, instead of asking them to repeat it."
)


# -- arguments ---------------------------------------------------------------------------------


def query_of(arguments: Mapping[str, Any]) -> str:
    """Return the text to search for; "" asks for the recent conversations."""
    return str(arguments.get("query") or "").strip()


def limit_of(arguments: Mapping[str, Any]) -> int:
    """Return how many conversations to return; models also send null, "3" and 50."""
    try:
        wanted = int(arguments.get("limit", SESSIONS))
    except (TypeError, ValueError, OverflowError):
        wanted = SESSIONS
    return max(1, min(wanted, MOST_SESSIONS))


def roles_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the roles to search, from "user,assistant" or a list; none means all."""
    given = arguments.get("role_filter") or ()
    roles = given.split(",") if isinstance(given, str) else given
    if not isinstance(roles, Sequence):
        return ()
    return tuple(role for each in roles if (role := str(each).strip()))


# -- answers -----------------------------------------------------------------------------------


def session_search(
    store: Store,
    arguments: Mapping[str, Any],
    *,
    current_session_id: str | None = None,
    summarise: Summarise | None = None,
    now: float,
) -> dict[str, Any]:
    """Return what a chat model reads, as plain values; never raises for what it asked."""
    query, limit = query_of(arguments), limit_of(arguments)
    try:
        if not query:
            return _recent(store, limit, current_session_id)
        found = store.recall.about(
            query,
            limit=limit,
            current_session_id=current_session_id,
            summarise=summarise,
            role_filter=roles_of(arguments),
            exclude_sources=HIDDEN_SOURCES,
            now=now,
        )
    except StoreError as error:
        return failed(str(error))
    return _found(found)


def failed(reason: str) -> dict[str, Any]:
    """Return the answer to a call that could not be carried out."""
    return {"success": False, "error": reason}


def _recent(store: Store, limit: int, current_session_id: str | None) -> dict[str, Any]:
    with store.database.read() as tx:
        own = set(whole_lineage(tx, current_session_id))
        rows = recent_sessions.rich(
            tx, Filter(exclude_sources=HIDDEN_SOURCES), limit=limit + len(own), by_activity=True
        )
    results = [
        {
            "session_id": row["id"],
            "title": row["title"] or None,
            "source": row["source"],
            "started_at": row["started_at"],
            "last_active": row["last_active"],
            "message_count": row["message_count"],
            "preview": row["preview"],
        }
        for row in rows
        if row["id"] not in own
    ][:limit]
    return {
        "success": True,
        "mode": "recent",
        "results": results,
        "count": len(results),
        "message": f"The {len(results)} most recent conversations. Give a query to search them.",
    }


def _found(recalled: Recalled) -> dict[str, Any]:
    results = [_result(each) for each in recalled.sessions]
    answer: dict[str, Any] = {
        "success": True,
        "query": recalled.question,
        "results": results,
        "count": len(results),
        "sessions_searched": len(results),
    }
    notes = [step.explanation for step in recalled.relaxations]
    if not results:
        notes.append("No earlier conversation matches; try other words.")
    if recalled.partial:
        notes.append("The search ran out of time; there may be more.")
    return answer | ({"message": " ".join(notes)} if notes else {})


def _result(session: RecalledSession) -> dict[str, Any]:
    return {
        "session_id": session.root_id,
        "title": session.title,
        "when": _moment(session.started_at),
        "source": session.source,
        "model": session.model,
        "summary": session.summary if session.summary is not None else _excerpt(session),
    }


def _excerpt(session: RecalledSession) -> str:
    reason = session.trouble or "There is no model to summarize with."
    return f"[An excerpt. {reason}]\n{session.excerpt(RAW_CHARACTERS)}"


def _moment(moment: float) -> str:
    """Return local date and time, which models read best."""
    try:
        return f"{datetime.fromtimestamp(moment):%B %d, %Y at %I:%M %p}"
    except (OverflowError, ValueError, OSError):
        return "unknown"  # damaged data
