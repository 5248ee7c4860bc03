"""The recall part of a store: `store.recall`."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_store.engines.base import Database, WordSource
from hermes_store.records.recall import Recalled
from hermes_store.search.recall import recall
from hermes_store.search.recall.recall import Summarise


class Recall:
    """Recalls earlier conversations; see docs/recall.md."""

    def __init__(self, database: Database, words: WordSource) -> None:
        self._database = database
        self._words = words

    def about(
        self,
        question: str,
        *,
        limit: int = recall.SESSIONS,
        characters: int = recall.CHARACTERS,
        current_session_id: str | None = None,
        summarise: Summarise | None = None,
        role_filter: Sequence[str] | str | None = None,
        exclude_sources: Sequence[str] = (),
        now: float,
    ) -> Recalled:
        """Return the earlier conversations relevant to a question, the most relevant first."""
        return recall.recall(
            self._database,
            self._words,
            question,
            limit=limit,
            characters=characters,
            current_session_id=current_session_id,
            summarise=summarise,
            role_filter=role_filter,
            exclude_sources=exclude_sources,
            now=now,
        )
