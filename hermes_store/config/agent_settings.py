"""Settings of Hermes Agent in config.yaml that say something about this database.

Read, never obeyed: whether the agent itself deletes old sessions, and whether it keeps sessions
somewhere else, as several proposals and forks do with PostgreSQL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_store.config.paths import CONFIG_NAME, MOST_CONFIG_BYTES

_URL = "HERMES_STATE_DATABASE_URL"
_ENGINE = (
    ("sessiondb", "provider"),
    ("sessions", "state", "backend"),
    ("sessions", "state_backend"),
)
"""Keys whose value names the engine."""
_ADDRESS = (("sessiondb", "postgresql", "dsn"), ("sessions", "postgres_dsn"))
"""Keys that only make sense with PostgreSQL."""
_SIGN = "postgres"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What config.yaml and the environment tell the agent."""

    auto_prune: bool | None = None
    """None if config.yaml does not say."""
    elsewhere: str | None = None
    """What says that the agent keeps sessions in PostgreSQL: a key, or a variable."""


def read(home: Path, environment: Mapping[str, str] | None = None) -> AgentSettings:
    """Return the agent's settings; a file that cannot be read says nothing."""
    found = _document(home)
    return AgentSettings(_auto_prune(found), _variable(environment) or _elsewhere(found))


def elsewhere(home: Path, environment: Mapping[str, str] | None = None) -> str | None:
    """Return what says that sessions are kept in PostgreSQL, parsing only files that may say so."""
    if said_by := _variable(environment):
        return said_by
    return _elsewhere(_document(home)) if _SIGN.encode() in _content(home).lower() else None


def database_url(home: Path) -> str | None:
    """Return the address of a server that this program is told to use.

    A file that cannot be read says nothing: reading sessions must work with a broken one.
    """
    if b"database" not in _content(home):
        return None
    url = _at(_document(home), ("database", "url"))
    return url if isinstance(url, str) and url else None


def elsewhere_sentence(home: Path) -> str | None:
    """Return a sentence if sessions are kept in PostgreSQL."""
    said_by = elsewhere(home)
    if said_by is None:
        return None
    return (
        f"{said_by} says that Hermes Agent keeps its sessions in PostgreSQL. The local file may be "
        "out of date: it lacks what was said since the move."
    )


def _variable(environment: Mapping[str, str] | None) -> str | None:
    variables = os.environ if environment is None else environment
    return _URL if _SIGN in variables.get(_URL, "").lower() else None


def _content(home: Path) -> bytes:
    try:
        with (home / CONFIG_NAME).open("rb") as file:
            return file.read(MOST_CONFIG_BYTES)
    except OSError:
        return b""


def _document(home: Path) -> Any:
    import yaml

    from hermes_store.config.yaml_reader import PARSER_TROUBLE

    try:
        return yaml.safe_load(_content(home).decode("utf-8", "replace"))
    except (yaml.YAMLError, *PARSER_TROUBLE):
        return None


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _auto_prune(document: Any) -> bool | None:
    found = _at(document, ("sessions", "auto_prune"))
    return found if isinstance(found, bool) else None


def _elsewhere(document: Any) -> str | None:
    named = [(path, str(_at(document, path) or "").lower()) for path in _ENGINE]
    for path, value in named:
        if value.startswith(_SIGN):
            return ".".join(path)
    if any(value for _, value in named):
        return None  # another engine was chosen
    for path in _ADDRESS:
        if _at(document, path):
            return ".".join(path)
    return None
