"""Automatic pruning beside a bot that runs for months: in a thread of its own, now and then."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from hermes_store.config.settings import Config
from hermes_store.upkeep.api import Upkeep

LOOK_EVERY = 3_600.0
"""Seconds between two looks; whether pruning is due is for the store to say."""

log = logging.getLogger("hermes_store.gateway")


class Caretaker:
    """Prunes as config.yaml says, while messages come in."""

    def __init__(self, upkeep: Upkeep, config: Config) -> None:
        self._upkeep = upkeep
        self._config = config
        self._lock = threading.Lock()
        self._looked: float | None = None
        self.thread: threading.Thread | None = None
        """The thread of the last run."""

    def look_after(self, sessions_dir: Path) -> None:
        """Start pruning if it may be due; returns at once."""
        if not self._config.sessions.auto_prune:
            return
        with self._lock:
            now = time.monotonic()
            if self._looked is not None and now - self._looked < LOOK_EVERY:
                return
            self._looked = now
            self.thread = threading.Thread(
                target=self._prune, args=(sessions_dir,), name="hermes-auto-prune", daemon=True
            )
            self.thread.start()

    def _prune(self, sessions_dir: Path) -> None:
        report = self._upkeep.auto_prune(self._config, sessions_dir)
        if report.pruned:
            log.info("Moved %d old sessions to trash.", report.pruned)
