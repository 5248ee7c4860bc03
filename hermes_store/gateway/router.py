"""The entry point of the gateway: find the session that an incoming message belongs to.

A bot says where a message came from. Whether its session continues, is resumed or is reset
follows from sessions.json, the database and the reset policies. Several processes of one home
can do this at the same time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from hermes_store.config.settings import Config, GatewayConfig
from hermes_store.engines.base import Database, Transaction
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.errors import StoreError, TitleError, TitleTaken
from hermes_store.gateway import before_reset, open_sessions, reset_policy, title_command
from hermes_store.gateway.before_reset import BeforeReset
from hermes_store.gateway.caretaker import Caretaker, Prunes
from hermes_store.gateway.message_source import MessageSource
from hermes_store.gateway.reset_policy import ResetReason
from hermes_store.gateway.routing_file import Route, Routes
from hermes_store.gateway.routing_table import StoredRoutes
from hermes_store.gateway.session_keys import SessionKey, key_of
from hermes_store.gateway.transcript_files import Transcripts
from hermes_store.records.session import Session
from hermes_store.sessions import messages, session_rows, titles

TOUCH_SECONDS = 60.0
"""How outdated the last activity in sessions.json may be while a conversation continues. The
database is exact, and is checked before a reset."""
_POLL_SECONDS = 0.02

log = logging.getLogger("hermes_store.gateway")


class HasDatabase(Protocol):
    """The parts of a `Store` that the router needs."""

    @property
    def database(self) -> Database:
        """The database of the store."""

    @property
    def upkeep(self) -> Prunes:
        """The maintenance of the store."""


class Outcome(Enum):
    """How a message found its session."""

    CREATED = "created"
    CONTINUED = "continued"
    RESUMED = "resumed"
    """It had ended, or was only in the database."""
    RESET = "reset"
    COMMAND = "command"
    """The message was a command; `reply` answers it, and there may be no session yet."""


@dataclass(frozen=True, slots=True)
class Routed:
    """The session of a message, and how it was found."""

    key: str
    outcome: Outcome
    session: Session | None
    reset_reason: ResetReason | None = None
    previous_id: str | None = None
    """The session that this one replaced."""
    reply: str | None = None

    @property
    def session_id(self) -> str:
        """The id of the session; every outcome except a command has one."""
        assert self.session is not None, "a command came before its conversation"
        return self.session.id


@dataclass(frozen=True, slots=True)
class _Ending:
    """A conversation about to be reset, and whether this process makes the call before it."""

    key: str
    session: Session
    reason: ResetReason
    mine: bool


class SessionRouter:
    """Finds the session for each incoming message. Safe to share between threads."""

    def __init__(
        self,
        store: HasDatabase,
        config: Config | GatewayConfig | None = None,
        *,
        sessions_dir: Path | None = None,
        on_before_reset: BeforeReset | None = None,
        has_background_work: Callable[[Session], bool] = lambda _session: False,
        model: str | None = None,
        agent: str = "main",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Route for a store, with sessions.json and transcripts in `sessions` beside it.

        On a server, the routes are in a table.

        `on_before_reset` is called once before a conversation is reset, to save memories and
        skills. While `has_background_work` is true for a session, it is not reset.
        """
        self._db = store.database
        self.caretaker: Caretaker | None = None
        """Prunes as config.yaml says; None if it does not ask for that."""
        if isinstance(config, Config) and config.sessions.auto_prune:
            self.caretaker = Caretaker(store.upkeep, config)
        self._config = config.gateway if isinstance(config, Config) else config or GatewayConfig()
        self._zone = reset_policy.zone_of(self._config)
        self._on_before_reset = on_before_reset
        self._has_background_work = has_background_work
        self._model = model
        self._agent = agent
        self._clock = clock
        self._lock = threading.RLock()
        folder = sessions_dir or self._db.folder / "sessions"
        self._routes: Routes | StoredRoutes = (
            Routes(folder, self._recovered)
            if isinstance(self._db, SqliteDatabase)
            else StoredRoutes(self._db)
        )
        self.transcripts = Transcripts(folder)

    # -- messages --------------------------------------------------------------------------

    def incoming(self, source: MessageSource, message: str = "") -> Routed:
        """Return the session that a message belongs to, started or reset if due.

        The message is not saved; `save` does that. `/title` is answered with `reply`.
        """
        now = self._clock()
        if self.caretaker is not None:
            self.caretaker.look_after(self._db.folder / "sessions")
        key = self._key(source)
        wanted = title_command.title_in(message)
        if wanted is not None:
            return self._title(source, key, wanted, now)
        with self._lock:
            quick = self._going_on(source, key, now)
        if quick is not None:
            return quick
        while True:
            with self._lock, self._routes.changing() as entries:
                found = self._settle(entries, source, key, now)
            if isinstance(found, Routed):
                return found
            if found.mine:
                self._say_farewell(found)
            else:
                time.sleep(_POLL_SECONDS)

    def save(
        self, routed: Routed, role: str, content: Any, timestamp: float | None = None, **more: Any
    ) -> int:
        """Save a message to the database and the transcript; return its id.

        If the transcript cannot be written, that is logged; the next message completes it.

        `more` takes other fields of a message, such as tool_calls or reasoning.
        """
        said: Mapping[str, Any] = {"role": role, "content": content, **more}
        moment = self._clock() if timestamp is None else timestamp
        message_id = messages.append_alone(self._db, routed.session_id, said, moment)
        try:
            with self._lock:
                self.transcripts.catch_up(self._db, routed.session_id, message_id)
        except StoreError as error:
            # Raised, it would make a bot save the message a second time.
            log.warning(
                "Message %d is saved, but not yet in its transcript. The next message to %s "
                "completes the transcript. %s",
                message_id,
                routed.session_id,
                error,
            )
        return message_id

    def _key(self, source: MessageSource) -> SessionKey:
        return key_of(
            source,
            group_sessions_per_user=self._config.group_sessions_per_user,
            thread_sessions_per_user=self._config.thread_sessions_per_user,
            agent=self._agent,
            home=self._db.folder,
        )

    # -- a conversation that continues -----------------------------------------------------

    def _going_on(self, source: MessageSource, key: SessionKey, now: float) -> Routed | None:
        """Return the session if nothing needs to change, without taking a lock."""
        route = self._routes.get(str(key))
        if route is None or before_reset.was_made(route) or not self._is_fresh(route, source, now):
            return None
        with self._db.read() as tx:
            session = session_rows.find(tx, route.session_id)
        if session is None or session.ended_at is not None:
            return None
        return Routed(route.key, Outcome.CONTINUED, session)

    def _is_fresh(self, route: Route, source: MessageSource, now: float) -> bool:
        policy = reset_policy.policy_for(self._config, source.platform, source.chat_type)
        if reset_policy.due(policy, route.updated_at, now, self._zone) is not None:
            return False
        return 0 <= now - route.updated_at < min(TOUCH_SECONDS, policy.idle_minutes * 6)

    # -- anything else: under the lock of sessions.json ------------------------------------

    def _settle(
        self, entries: dict[str, Route], source: MessageSource, key: SessionKey, now: float
    ) -> Routed | _Ending:
        """Find the session for a message and update the entries to match."""
        name = str(key)
        older = entries.pop(key.with_escapes, None) if key.with_escapes != name else None
        route = entries.get(name) or (older and older.renamed(name))
        with self._db.write() as tx:
            session = open_sessions.usable(tx, route.session_id) if route else None
            session = session or open_sessions.find(tx, source.platform, name, key.with_escapes)
            if session is None:
                left = route.session_id if route else None
                session = open_sessions.begin(
                    tx, name, source, now, model=self._model, instead_of=left
                )
                entries[name] = self._route(name, session, source, now, before=route)
                previous = open_sessions.previous_session_id(session)
                return Routed(name, Outcome.CREATED, session, previous_id=previous)
            known = route is not None and route.session_id == session.id
            if route is None or not known:
                moment = open_sessions.last_active(tx, session, now) or now
                route = self._route(name, session, source, moment, before=route)
            reason = self._reason(tx, route, session, source, now)
            if reason is not None and not self._has_background_work(session):
                return self._renew(tx, entries, route, session, reason, source, now)
        entries[name] = before_reset.forgotten(route, now)
        return Routed(name, Outcome.CONTINUED if known else Outcome.RESUMED, session)

    def _reason(
        self, tx: Transaction, route: Route, session: Session, source: MessageSource, now: float
    ) -> ResetReason | None:
        """Return why a conversation is due for a reset, by its latest known activity."""
        known = [route.updated_at]
        if not before_reset.was_made(route):  # messages during that call are not activity
            known.append(open_sessions.last_active(tx, session, now) or route.updated_at)
        # After the clock was set back, times in the future mean nothing.
        past = [moment for moment in known if moment <= now]
        policy = reset_policy.policy_for(self._config, source.platform, source.chat_type)
        return reset_policy.due(policy, max(past), now, self._zone) if past else None

    def _renew(
        self,
        tx: Transaction,
        entries: dict[str, Route],
        route: Route,
        session: Session,
        reason: ResetReason,
        source: MessageSource,
        now: float,
    ) -> Routed | _Ending:
        if self._on_before_reset is not None and not before_reset.was_made(route):
            entries[route.key] = before_reset.claim(route, self._config.before_reset_seconds)
            return _Ending(route.key, session, reason, mine=True)
        if before_reset.claimed_for(route, self._config.before_reset_seconds) > 0:
            return _Ending(route.key, session, reason, mine=False)
        fresh = open_sessions.begin(
            tx, route.key, source, now, model=self._model, instead_of=session.id
        )
        entries[route.key] = self._route(
            route.key, fresh, source, now, before=route, is_fresh_reset=True
        )
        return Routed(route.key, Outcome.RESET, fresh, reason, session.id)

    @staticmethod
    def _route(
        name: str,
        session: Session,
        source: MessageSource,
        moment: float,
        *,
        before: Route | None = None,
        **more: Any,
    ) -> Route:
        told = {
            "display_name": open_sessions.display_name(source),
            "platform": source.platform,
            "chat_type": str(source.chat_type),
            "origin": source.origin(),
        }
        return Route.new(name, session.id, moment, told | more, before)

    def _say_farewell(self, ending: _Ending) -> None:
        assert self._on_before_reset is not None
        seconds = self._config.before_reset_seconds
        before_reset.make(self._on_before_reset, ending.session, ending.reason, seconds)
        with self._lock, self._routes.changing() as entries:
            route = entries.get(ending.key)
            if route is not None and route.session_id == ending.session.id:
                entries[ending.key] = before_reset.settled(route)

    def _recovered(self) -> Mapping[str, Route]:
        """Rebuild the entries from the database."""
        found = {}
        with self._db.read() as tx:
            for key, session, origin in open_sessions.all_live(tx):
                source = MessageSource.from_origin(origin, platform=session.source)
                moment = open_sessions.last_active(tx, session, self._clock())
                moment = session.started_at if moment is None else moment
                found[key] = self._route(key, session, source, moment)
        return found

    # -- /title ----------------------------------------------------------------------------

    def _title(self, source: MessageSource, key: SessionKey, wanted: str, now: float) -> Routed:
        """Show or set a title; without a current conversation, queue it for the next."""
        with self._lock:
            route = self._routes.get(str(key), key.with_escapes)
        name = str(key)
        with self._db.write() as tx:
            session = open_sessions.usable(tx, route.session_id) if route else None
            session = session or open_sessions.find(tx, source.platform, name)
            if session is not None and route is not None:
                due = self._reason(tx, route, session, source, now)
                session = None if due and not self._has_background_work(session) else session
            reply = self._titled(tx, name, session, wanted)
            session = session_rows.find(tx, session.id) if session else None
        return Routed(name, Outcome.COMMAND, session, reply=reply)

    @staticmethod
    def _titled(tx: Transaction, name: str, session: Session | None, wanted: str) -> str:
        try:
            title = titles.sanitize(wanted)
            if title is None:
                current = session.title if session else None
                return title_command.shown(current, open_sessions.waiting_title(tx, name))
            if session is not None:
                titles.assign(tx, session.id, title)
                return title_command.given(title)
            holder = titles.holder_of(tx, title)
            if holder is not None:
                raise TitleTaken(title, holder)
            open_sessions.queue_title(tx, name, title)
            return title_command.queued(title)
        except TitleError as error:
            return str(error)
