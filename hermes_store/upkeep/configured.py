"""What config.yaml means for a database: automatic pruning, and sessions kept elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from hermes_store.config import agent_settings
from hermes_store.config.settings import SessionsConfig, load_config
from hermes_store.engines.base import Transaction
from hermes_store.errors import ConfigError
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.upkeep import auto_prune

PRUNES_BY_DEFAULT_SINCE = 27
"""The schema version of the first Hermes Agent that prunes unless it is told not to."""
_WHAT = "auto-prune"


def examined(home: Path) -> Callable[[Transaction], list[Finding]]:
    """Return the check of a database against the config.yaml of a home folder."""

    def settings(tx: Transaction) -> list[Finding]:
        try:
            wanted = load_config(home).sessions
        except ConfigError as error:
            return [Finding(Health.NOTE, "config", str(error), beside=True)]
        return [*_elsewhere(home), *_pruning(tx, home, wanted)]

    return settings


def _elsewhere(home: Path) -> list[Finding]:
    sentence = agent_settings.elsewhere_sentence(home)
    return [] if sentence is None else [Finding(Health.NOTE, "store", sentence, beside=True)]


def agent_prunes(tx: Transaction, home: Path) -> str | None:
    """Return a sentence if Hermes Agent itself deletes old sessions of this database."""
    chosen = agent_settings.read(home).auto_prune
    if chosen is False or (chosen is None and tx.caps.version < PRUNES_BY_DEFAULT_SINCE):
        return None
    why = "sessions.auto_prune is on" if chosen else "its default since schema 27"
    days = _days(home)
    return (
        f"Hermes Agent deletes conversations that were inactive for {days} days when it starts "
        f"({why}). What it deletes is not in this trash."
    )


def _days(home: Path) -> int:
    try:
        return load_config(home).sessions.retention_days
    except ConfigError:
        return SessionsConfig().retention_days


def _pruning(tx: Transaction, home: Path, wanted: SessionsConfig) -> list[Finding]:
    last = auto_prune.last_run(tx)
    ran = "It has never run." if last is None else f"It last ran on {_local(last)}."
    if wanted.auto_prune:
        text = (
            f"On: conversations inactive for {wanted.retention_days} days move to trash, at most "
            f"once in {wanted.min_interval_hours} h. {ran}"
        )
    else:
        text = "Off; sessions.auto_prune in config.yaml turns it on."
        text += "" if last is None else f" {ran}"
    findings = [Finding(Health.GOOD, _WHAT, text, beside=True)]
    agent = agent_prunes(tx, home)
    return (
        findings if agent is None else [*findings, Finding(Health.NOTE, _WHAT, agent, beside=True)]
    )


def _local(moment: float) -> str:
    try:
        return f"{datetime.fromtimestamp(moment):%Y-%m-%d at %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "a date that makes no sense"
