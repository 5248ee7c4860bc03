"""SessionDB: the documented method names, with the dictionaries that Hermes Agent returns.

A program written against `hermes_state.SessionDB` for sessions, messages, titles, search,
export and prune runs after changing one import. docs/compatibility.md lists the few deliberate
differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hermes_store import hermes_state
from hermes_store.browse import recent_sessions
from hermes_store.engines.base import Progress, Synchronous
from hermes_store.errors import NotFound, StoreError
from hermes_store.hermes_state import (
    deleting,
    handoff,
    self_repair,
    telegram_topics,
    token_counts,
)
from hermes_store.hermes_state.sqlite3_errors import raises_sqlite3_errors
from hermes_store.records.listing import Filter
from hermes_store.sessions import key_values, lineage, session_rows, titles
from hermes_store.sessions import messages as message_log
from hermes_store.store import Store

Row = dict[str, Any]


@raises_sqlite3_errors
class SessionDB:
    """The session store with the interface of Hermes Agent."""

    MAX_TITLE_LENGTH = titles.MAX_LENGTH

    def __init__(
        self,
        db_path: Path | str | None = None,
        read_only: bool = False,
        *,
        synchronous: Synchronous = "FULL",
        progress: Progress | None = None,
    ) -> None:
        """Open a database, by default `$HERMES_HOME/state.db`; see `Store`."""
        path = hermes_state.DEFAULT_DB_PATH if db_path is None else db_path
        try:
            self.store = Store(path, read_only, synchronous=synchronous, progress=progress)
            """The same sessions with typed records instead of dictionaries."""
        except (StoreError, OSError) as error:
            hermes_state.record_init_error(error)
            raise
        self._db = self.store.database

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the write-ahead log of other programs is not touched."""
        self.store.close()

    @property
    def db_path(self) -> Path:
        """The path of the database, with symbolic links resolved."""
        return self.store.path

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self.store.read_only

    # -- sessions --------------------------------------------------------------------------

    def create_session(self, session_id: str, source: str, **details: Any) -> str:
        """Add a session unless it exists already; return its id.

        Details: model, model_config, system_prompt, user_id, parent_session_id.
        """
        with self._db.write() as tx:
            session_rows.create(tx, session_id, source, **details)
        return session_id

    def ensure_session(
        self, session_id: str, source: str = "unknown", model: str | None = None, **details: Any
    ) -> str:
        """Add a session unless it exists already; return its id."""
        return self.create_session(session_id, source, model=model, **details)

    def end_session(self, session_id: str, end_reason: str) -> None:
        """End a session; one that has already ended keeps its reason."""
        self.store.sessions.end(session_id, end_reason)

    def reopen_session(self, session_id: str) -> None:
        """Clear the end of a session."""
        self.store.sessions.reopen(session_id)

    def get_session(self, session_id: str) -> Row | None:
        """Return all columns of a session, or None."""
        with self._db.read() as tx:
            return session_rows.row(tx, session_id)

    def resolve_session_id(self, session_id_or_prefix: str) -> str | None:
        """Return the id that equals or begins with this; None if none or several match."""
        with self._db.read() as tx:
            try:
                return session_rows.resolve_id(tx, session_id_or_prefix)
            except NotFound:
                return None

    def update_system_prompt(self, session_id: str, system_prompt: str) -> None:
        """Store the system prompt of a session."""
        with self._db.write() as tx:
            session_rows.set_system_prompt(tx, session_id, system_prompt)

    update_token_counts = token_counts.update_token_counts

    def session_count(self, source: str | None = None) -> int:
        """Return the number of sessions, in total or from one source."""
        return self.store.sessions.count(source)

    # -- messages --------------------------------------------------------------------------

    def append_message(
        self,
        session_id: str,
        role: str,
        content: Any = None,
        tool_name: str | None = None,
        tool_calls: Any = None,
        tool_call_id: str | None = None,
        token_count: int | None = None,
        finish_reason: str | None = None,
        reasoning: str | None = None,
        reasoning_content: str | None = None,
        reasoning_details: Any = None,
        codex_reasoning_items: Any = None,
        codex_message_items: Any = None,
        *,
        platform_message_id: str | None = None,
        observed: bool = False,
        effect_disposition: str | None = None,
        timestamp: float | None = None,
        api_content: str | None = None,
        display_kind: str | None = None,
        display_metadata: Any = None,
    ) -> int:
        """Add a message to the end of a session and return its id.

        What the database has no column for is not stored.
        """
        message = {
            "role": role,
            "content": content,
            "tool_name": tool_name,
            "tool_calls": tool_calls,
            "tool_call_id": tool_call_id,
            "token_count": token_count,
            "finish_reason": finish_reason,
            "reasoning": reasoning,
            "reasoning_content": reasoning_content,
            "reasoning_details": reasoning_details,
            "codex_reasoning_items": codex_reasoning_items,
            "codex_message_items": codex_message_items,
            "platform_message_id": platform_message_id,
            "observed": observed or None,
            "effect_disposition": effect_disposition,
            "api_content": api_content,
            "display_kind": display_kind,
            "display_metadata": display_metadata,
        }
        return self.store.messages.append(session_id, message, timestamp)

    def replace_messages(self, session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Replace all messages of a session."""
        with self._db.write() as tx:
            message_log.replace(tx, session_id, messages)

    def clear_messages(self, session_id: str) -> None:
        """Remove all messages of a session but keep the session."""
        with self._db.write() as tx:
            message_log.clear(tx, session_id)

    def get_messages(
        self, session_id: str, *, include_inactive: bool = False, include_compacted: bool = False
    ) -> list[Row]:
        """Return the messages of a session with all their columns.

        By default those that a model is sent; with `include_compacted` also those that were
        summarised, with `include_inactive` all.
        """
        which = message_log.Which.READ if include_compacted else message_log.Which.SENT
        if include_inactive:
            which = message_log.Which.ALL
        return self.store.messages.as_dictionaries(session_id, which)

    def get_messages_as_conversation(
        self, session_id: str, include_ancestors: bool = False
    ) -> list[Row]:
        """Return the messages of a session in the form a chat model is sent."""
        with self._db.read() as tx:
            return message_log.conversation(tx, session_id, include_ancestors=include_ancestors)

    def message_count(self, session_id: str | None = None) -> int:
        """Return the number of messages, in total or in one session."""
        with self._db.read() as tx:
            return message_log.count(tx, session_id)

    # -- titles ----------------------------------------------------------------------------

    @staticmethod
    def sanitize_title(title: str | None) -> str | None:
        """Return a title as it will be stored; may raise TitleTooLong (a ValueError)."""
        return titles.sanitize(title)

    def set_session_title(self, session_id: str, title: str | None) -> bool:
        """Set or, with None, remove the title of a session; return whether the session exists."""
        with self._db.write() as tx:
            return titles.assign(tx, session_id, title)

    def get_session_title(self, session_id: str) -> str | None:
        """Return the title of a session, or None."""
        with self._db.read() as tx:
            found = session_rows.find(tx, session_id)
            return None if found is None else found.title

    def get_session_by_title(self, title: str) -> Row | None:
        """Return the session with exactly this title, or None."""
        with self._db.read() as tx:
            holder = titles.holder_of(tx, title)
            return None if holder is None else session_rows.row(tx, holder)

    def resolve_session_by_title(self, title: str) -> str | None:
        """Return the newest session of the lineage with this title, or None."""
        with self._db.read() as tx:
            return titles.resolve(tx, title)

    def get_next_title_in_lineage(self, base_title: str) -> str:
        """Return the next free "name #N"."""
        with self._db.read() as tx:
            return titles.next_in_lineage(tx, base_title)

    # -- lineage ---------------------------------------------------------------------------

    def get_compression_tip(self, session_id: str) -> str | None:
        """Return the newest continuation of a session, or the session itself."""
        with self._db.read() as tx:
            return lineage.compression_tip(tx, session_id)

    def resolve_resume_session_id(self, session_id: str) -> str:
        """Return the session that has the messages to resume from."""
        with self._db.read() as tx:
            return lineage.resume_target(tx, session_id)

    # -- lists and search ------------------------------------------------------------------

    def list_sessions_rich(
        self,
        source: str | None = None,
        exclude_sources: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
        include_children: bool = False,
        project_compression_tips: bool = True,
        order_by_last_active: bool = False,
    ) -> list[Row]:
        """Return a page of sessions with preview and last activity, newest first."""
        chosen = Filter(source, tuple(exclude_sources or ()), include_children)
        with self._db.read() as tx:
            return recent_sessions.rich(
                tx,
                chosen,
                limit=limit,
                offset=offset,
                project_tips=project_compression_tips,
                by_activity=order_by_last_active,
            )

    def search_sessions(
        self, source: str | None = None, limit: int = 20, offset: int = 0
    ) -> list[Row]:
        """Return sessions of every kind, the most recently active first."""
        with self._db.read() as tx:
            return recent_sessions.recent(tx, source, limit=limit, offset=offset)

    def search_messages(
        self,
        query: str | None,
        source_filter: Sequence[str] | None = None,
        exclude_sources: Sequence[str] | None = None,
        role_filter: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Row]:
        """Return matching messages, with `>>>match<<<` snippets and their neighbors."""
        return self.store.search.messages(
            query,
            source_filter=source_filter,
            exclude_sources=exclude_sources,
            role_filter=role_filter,
            limit=limit,
            offset=offset,
        )

    # -- export and pruning ----------------------------------------------------------------

    def export_session(self, session_id: str) -> Row | None:
        """Return a session with all its messages, or None."""
        return self.store.transfer.as_dictionary(session_id)

    def export_all(self, source: str | None = None) -> list[Row]:
        """Return all sessions with all their messages, the most recently active first."""
        with self._db.read() as tx:
            found = recent_sessions.recent(tx, source, limit=-1)
            return [each | {"messages": message_log.rows(tx, each["id"])} for each in found]

    delete_session = deleting.delete_session
    delete_sessions = deleting.delete_sessions
    prune_sessions = deleting.prune_sessions
    maybe_auto_prune_and_vacuum = deleting.maybe_auto_prune_and_vacuum
    vacuum = deleting.vacuum

    def get_meta(self, key: str) -> str | None:
        """Return a value shared by all processes of this home, or None."""
        with self._db.read() as tx:
            return key_values.get(tx, key)

    def set_meta(self, key: str, value: str) -> None:
        """Store a value shared by all processes of this home."""
        with self._db.write() as tx:
            key_values.put(tx, key, value)

    prune_empty_ghost_sessions = self_repair.prune_empty_ghost_sessions
    finalize_orphaned_compression_sessions = self_repair.finalize_orphaned_compression_sessions

    # -- messaging platforms ---------------------------------------------------------------

    request_handoff = handoff.request_handoff
    get_handoff_state = handoff.get_handoff_state
    list_pending_handoffs = handoff.list_pending_handoffs
    claim_handoff = handoff.claim_handoff
    complete_handoff = handoff.complete_handoff
    fail_handoff = handoff.fail_handoff

    apply_telegram_topic_migration = telegram_topics.apply_telegram_topic_migration
    enable_telegram_topic_mode = telegram_topics.enable_telegram_topic_mode
    disable_telegram_topic_mode = telegram_topics.disable_telegram_topic_mode
    is_telegram_topic_mode_enabled = telegram_topics.is_telegram_topic_mode_enabled
    bind_telegram_topic = telegram_topics.bind_telegram_topic
    get_telegram_topic_binding = telegram_topics.get_telegram_topic_binding
    is_telegram_session_linked_to_topic = telegram_topics.is_telegram_session_linked_to_topic
    list_unlinked_telegram_sessions_for_user = (
        telegram_topics.list_unlinked_telegram_sessions_for_user
    )
