"""Remembering: what earlier conversations have to say to a question.

Five steps: messages ranked by relevance; their conversations, without the one that asks; the
best few of them; of each about 100,000 characters around the matches; and a summary of each by
a model, all at the same time. Without a model the stretches themselves are the answer.

This is the tool that a chat model is offered as `session_search`; `TOOL` describes it to the
model, `GUIDANCE` says when to use it, and `as_tool_result` is what the model gets to read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.side_index import SideIndex
from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.recall import Recalled, RecalledSession
from hermes_store.records.safe_text import clean
from hermes_store.search.recall.conversations import Seeker, whole_lineage
from hermes_store.search.recall.question import understood

SESSIONS = 3
CHARACTERS = 100_000
RAW_CHARACTERS = 8_000
"""What a chat model is given of a conversation that nobody summarised."""
WORKERS = 4

ROLES = ("user", "assistant", "tool")
TOOL_NAME = "session_search"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": (
            "Look up what was said in earlier conversations with this person. Returns the "
            "conversations that fit best, each with its title, its time and a summary or an "
            "excerpt. The conversation you are in is left out."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": (
                        "A few words that were probably used, or a question. Also understood: "
                        '"an exact phrase", docker OR podman, NOT word, deploy*.'
                    ),
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10,
                    "description": f"How many conversations, {SESSIONS} unless said otherwise.",
                },
                "role_filter": {
                    "type": "array",
                    "items": {"type": "string", "enum": list(ROLES)},
                    "description": "Only what these said; everybody if left out.",
                },
            },
            "required": ["query"],
        },
    },
}
GUIDANCE = (
    f"You can look into earlier conversations with the tool {TOOL_NAME}. Do so on your own accord "
    "when something is mentioned that you were told before, or that an earlier conversation may "
    "well have settled, rather than ask for it to be said again."
)

Summarise = Callable[[str, str], str]
"""Gets the question and the text of a window and returns a summary; SummaryError if it cannot."""


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
    """Return the earlier conversations that bear on a question, the most relevant first.

    The whole lineage of `current_session_id` is left out; an id that is not known is no error,
    because a chat has none before the first word. What scheduled jobs, tools and sub-agents said
    comes after what people said. `summarise` runs in threads of its own, one for each
    conversation; where it raises a StoreError or an OSError, that conversation keeps its window
    and says why.
    """
    wanted = understood(question)
    if wanted is None:
        raise InvalidInput(f"'{clean(question)}' holds nothing to look for. Use a word or two.")
    if limit < 1 or characters < 1:
        raise InvalidInput("At least one conversation and one character must be asked for.")
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
    """Let all conversations be summarised at the same time."""

    def one(session: RecalledSession) -> RecalledSession:
        try:
            summary = summarise(question, session.window).strip()
        except (StoreError, OSError) as error:
            return replace(session, trouble=clean(str(error)) or "The summary failed.")
        if not summary:
            return replace(session, trouble="The model had nothing to say about it.")
        return replace(session, summary=summary)

    if not found:
        return ()
    with ThreadPoolExecutor(min(WORKERS, len(found)), "recall") as threads:
        return tuple(threads.map(one, found))


# -- for a chat model --------------------------------------------------------------------------


def as_tool_result(recalled: Recalled, *, raw_characters: int = RAW_CHARACTERS) -> dict[str, Any]:
    """Return what a chat model reads: plain values, excerpts where there is no summary."""
    result: dict[str, Any] = {
        "query": recalled.question,
        "count": len(recalled.sessions),
        "sessions": [_told(each, raw_characters) for each in recalled.sessions],
    }
    notes = [step.explanation for step in recalled.relaxations]
    if not recalled.sessions:
        notes.append("No earlier conversation matches; other words may find one.")
    elif not recalled.summarised:
        notes.append("There is no model to summarise with; these are excerpts.")
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
    """Return a moment as a model reads it best: local date and time."""
    try:
        return f"{datetime.fromtimestamp(moment):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "unknown"  # damaged data
