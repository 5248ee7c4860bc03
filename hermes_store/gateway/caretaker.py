"""Automatic pruning beside a bot that runs for months: in a thread of its own, now and then."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from hermes_store.config.settings import Config
from hermes_store.records.upkeep_reports import MaintenanceReport

LOOK_EVERY = 3_600.0
"""Seconds between two looks; whether pruning is due is for the store to say."""

log = logging.getLogger("hermes_store.gateway")


class Prunes(Protocol):
    """The part of a store's upkeep that prunes."""

    def auto_prune(self, config: Config, sessions_dir: Path | None = None) -> MaintenanceReport:
        """Prune if config.yaml asks for it and it is due; never raises."""


class Caretaker:
    """Prunes as config.yaml says, while messages come in."""

    def __init__(self, upkeep: Prunes, config: Config) -> None:
        self._upkeep = upkeep
        # Returning space to the disk would keep every message waiting meanwhile.
        quiet = replace(config.sessions, vacuum_after_prune=False)
        self._config = replace(config, sessions=quiet)
        self._lock = threading.Lock()
        self._looked: float | None = None
        self.thread: threading.Thread | None = None
        """The thread of the last run."""

    def look_after(self, sessions_dir: Path) -> None:
        """Start pruning if it may be due; returns at once."""
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
