"""Automatic titles: found in the background after the first exchange, once per session.

A title is optional, so any failure here is only logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from hermes_store.errors import StoreError, places
from hermes_store.store import Store
from hermes_tui.chat.provider import Provider
from hermes_tui.chat.summaries import title_for

log = logging.getLogger("hermes_tui.auto_title")

OnTitle = Callable[[str], None]


class AutoTitle:
    """Asks the auxiliary model for titles."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._lock = threading.Lock()
        self._tried: set[str] = set()
        self._threads: list[threading.Thread] = []

    def start(
        self,
        store_factory: Callable[[], Store],
        session_id: str,
        user_text: str,
        answer_text: str,
        on_title: OnTitle | None = None,
    ) -> bool:
        """Start finding a title; return False if this session was tried before.

        The background thread makes the store, closes it, and calls `on_title`.
        """
        with self._lock:
            if session_id in self._tried:
                return False
            self._tried.add(session_id)
            thread = threading.Thread(
                target=self._try,
                args=(store_factory, session_id, user_text, answer_text, on_title),
                name="hermes-title",
                daemon=True,
            )
            self._threads.append(thread)
        thread.start()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait for all pending titles; return whether none is pending any more."""
        deadline = time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _try(
        self,
        store_factory: Callable[[], Store],
        session_id: str,
        user_text: str,
        answer_text: str,
        on_title: OnTitle | None,
    ) -> None:
        try:
            title = self._found(store_factory, session_id, user_text, answer_text)
            if title is not None and on_title is not None:
                on_title(title)
        except StoreError as error:
            # Its message may quote what was sent.
            log.info("No title for %s: %s", session_id, type(error).__name__)
        # Anything uncaught would be printed across the screen, and the callback of a screen that
        # was closed meanwhile can raise anything.
        except Exception as error:
            log.warning("No title for %s\n%s", session_id, places(error))

    def _found(
        self,
        store_factory: Callable[[], Store],
        session_id: str,
        user_text: str,
        answer_text: str,
    ) -> str | None:
        """Return the new title of the session, None if it was not titled here."""
        with store_factory() as store:
            if store.sessions.get(session_id).title:
                return None
            wanted = title_for(self._provider, user_text, answer_text)
            if wanted is None:
                log.info("No title for %s: the model gave none", session_id)
                return None
            return store.sessions.title_if_untitled(session_id, wanted)
