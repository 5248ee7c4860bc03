"""Recall: answer a question from earlier conversations.

Five steps: rank messages by relevance; find their conversations, except the current one; choose
the best few; take about 100,000 characters around the matches of each; let a model summarize
each, all in parallel. Without a model, the excerpts are the answer.

Chat models get this as the tool `session_search`; `TOOL` describes it to the model, `GUIDANCE`
says when to use it, and `as_tool_result` returns what the model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.side_word_index import SideIndex
from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.recall import Recalled, RecalledSession
from hermes_store.records.safe_text import clean
from hermes_store.search.recall.conversations import Seeker, whole_lineage
from hermes_store.search.recall.question import understood

SESSIONS = 3
CHARACTERS = 100_000
RAW_CHARACTERS = 8_000
"""What a chat model gets of a conversation without a summary."""
WORKERS = 4

ROLES = ("user", "assistant", "tool")
TOOL_NAME = "session_search"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": (
            "Search earlier conversations with this user. Returns the best matching "
            "conversations, each with its title, its time and a summary or an excerpt. "
            "The current conversation is left out."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": (
                        "A few words that were probably used, or a question. Also supported: "
                        '"an exact phrase", docker OR podman, NOT word, deploy*.'
                    ),
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10,
                    "description": f"How many conversations to return, {SESSIONS} by default.",
                },
                "role_filter": {
                    "type": "array",
                    "items": {"type": "string", "enum": list(ROLES)},
                    "description": "Search only messages of these roles; all by default.",
                },
            },
            "required": ["query"],
        },
    },
}
GUIDANCE = (
    f"You can search earlier conversations with the tool {TOOL_NAME}. Do so on your own initiative "
    "when the user mentions something they told you before, or something that an earlier "
    "conversation may have settled, instead of asking them to repeat it."
)

Summarise = Callable[[str, str], str]
"""Takes the question and the text of a window and returns a summary; may raise SummaryError."""


def recall(
    database: Database,
    index: SideIndex,
    question: str,
    *,
    limit: int = SESSIONS,
    characters: int = CHARACTERS,
    current_session_id: str | None = None,
    summarise: Summarise | None = None,
    role_filter: Sequence[str] | str | None = None,
    now: float,
) -> Recalled:
    """Return the earlier conversations relevant to a question, the most relevant first.

    The whole lineage of `current_session_id` is left out; an unknown id is not an error, because
    a chat has no session before its first message. Scheduled jobs, tools and sub-agents come
    after conversations with a user. `summarise` runs in one thread per conversation; if it raises
    a StoreError or an OSError, that conversation keeps its window and the reason.
    """
    wanted = understood(question)
    if wanted is None:
        raise InvalidInput(f"'{clean(question)}' has nothing to search for. Use a word or two.")
    if limit < 1 or characters < 1:
        raise InvalidInput("Ask for at least one conversation and one character.")
    roles = role_filter.split(",") if isinstance(role_filter, str) else role_filter or ()
    with database.read() as tx:
        skipped = whole_lineage(tx, current_session_id)
        seeker = Seeker(tx, index, skipped, [role.strip() for role in roles], now)
        chosen, steps = seeker.conversations(wanted, limit)
        found = tuple(seeker.told(each, characters) for each in chosen)
    if summarise is not None:
        found = _summarised(found, question, summarise)
    return Recalled(question, found, steps, summarise is not None, seeker.stop.stopped)


# -- summaries ---------------------------------------------------------------------------------


def _summarised(
    found: Sequence[RecalledSession], question: str, summarise: Summarise
) -> tuple[RecalledSession, ...]:
    """Summarize all conversations in parallel."""

    def one(session: RecalledSession) -> RecalledSession:
        try:
            summary = summarise(question, session.window).strip()
        except (StoreError, OSError) as error:
            return replace(session, trouble=clean(str(error)) or "The summary failed.")
        if not summary:
            return replace(session, trouble="The model returned an empty summary.")
        return replace(session, summary=summary)

    if not found:
        return ()
    with ThreadPoolExecutor(min(WORKERS, len(found)), "recall") as threads:
        return tuple(threads.map(one, found))


# -- for a chat model --------------------------------------------------------------------------


def as_tool_result(recalled: Recalled, *, raw_characters: int = RAW_CHARACTERS) -> dict[str, Any]:
    """Return what a chat model reads: plain values, with excerpts where there is no summary."""
    result: dict[str, Any] = {
        "query": recalled.question,
        "count": len(recalled.sessions),
        "sessions": [_told(each, raw_characters) for each in recalled.sessions],
    }
    notes = [step.explanation for step in recalled.relaxations]
    if not recalled.sessions:
        notes.append("No earlier conversation matches; try other words.")
    elif not recalled.summarised:
        notes.append("There is no model to summarize with; these are excerpts.")
    if recalled.partial:
        notes.append("The search ran out of time; there may be more.")
    return result | ({"notes": notes} if notes else {})


def _told(session: RecalledSession, raw_characters: int) -> dict[str, Any]:
    told: dict[str, Any] = {
        "session_id": session.session_id,
        "title": session.title,
        "started": _moment(session.started_at),
        "last_active": _moment(session.last_active),
        "source": session.source,
        "model": session.model,
        "messages": session.messages,
        "matches": session.matches,
    }
    if session.summary is not None:
        return told | {"summary": session.summary}
    told["excerpt"] = session.excerpt(raw_characters)
    return told | ({"trouble": session.trouble} if session.trouble else {})


def _moment(moment: float) -> str:
    """Return local date and time, which models read best."""
    try:
        return f"{datetime.fromtimestamp(moment):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "unknown"  # damaged data
