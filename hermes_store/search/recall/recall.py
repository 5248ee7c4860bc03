"""Recall: answer a question from earlier conversations.

Five steps: rank messages by relevance; find their conversations, except the current one; choose
the best few; take about 100,000 characters around the matches of each; let a model summarize
each, all in parallel. Without a model, the excerpts are the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from hermes_store.engines.base import Database, WordSource
from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.recall import Recalled, RecalledSession
from hermes_store.records.safe_text import clean, shorten
from hermes_store.records.sources import all_spellings
from hermes_store.search.recall.conversations import Seeker, whole_lineage
from hermes_store.search.recall.question import understood

SESSIONS = 3
CHARACTERS = 100_000
WORKERS = 4


Summarise = Callable[[str, str], str]
"""Takes the question and the text of a window and returns a summary; may raise SummaryError."""


def recall(
    database: Database,
    words: WordSource,
    question: str,
    *,
    limit: int = SESSIONS,
    characters: int = CHARACTERS,
    current_session_id: str | None = None,
    summarise: Summarise | None = None,
    role_filter: Sequence[str] | str | None = None,
    exclude_sources: Sequence[str] = (),
    now: float,
) -> Recalled:
    """Return the earlier conversations relevant to a question, the most relevant first.

    The whole lineage of `current_session_id` is left out; an unknown id is not an error, because
    a chat has no session before its first message. What a sub-agent said counts for the
    conversation that sent it. Scheduled jobs and tools come after conversations with a user.
    `summarise` runs in one thread per conversation; if it raises
    a StoreError or an OSError, that conversation keeps its window and the reason.
    """
    wanted = understood(question)
    if wanted is None:
        shown = shorten(clean(question), 60)
        raise InvalidInput(f"'{shown}' has nothing to search for. Use a word or two.")
    if limit < 1 or characters < 1:
        raise InvalidInput("Ask for at least one conversation and one character.")
    roles = role_filter.split(",") if isinstance(role_filter, str) else role_filter or ()
    with database.read() as tx:
        skipped = whole_lineage(tx, current_session_id)
        seeker = Seeker(
            tx,
            words,
            skipped,
            roles=[role.strip() for role in roles],
            exclude_sources=all_spellings(exclude_sources),
            now=now,
        )
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
