"""Hermes Sessions' session store: every conversation with Hermes Agent, headless.

    from hermes_store import SessionDB

    with SessionDB() as db:
        for session in db.list_sessions_rich(limit=5):
            print(session["id"], session["preview"])

Names are loaded on first use, so importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_store.version import __version__

if TYPE_CHECKING:
    from hermes_store.config.settings import Config, load_config
    from hermes_store.errors import StoreError, SummaryError
    from hermes_store.records.message import Message
    from hermes_store.records.recall import Recalled, RecalledSession
    from hermes_store.records.relation_to_parent import Edge
    from hermes_store.records.session import Conversation, Lineage, Session
    from hermes_store.sessiondb import SessionDB
    from hermes_store.sessions.session_rows import new_session_id
    from hermes_store.store import Store

_HOMES = {
    "Config": "config.settings",
    "Conversation": "records.session",
    "Edge": "records.relation_to_parent",
    "Lineage": "records.session",
    "Message": "records.message",
    "Recalled": "records.recall",
    "RecalledSession": "records.recall",
    "Session": "records.session",
    "SessionDB": "sessiondb",
    "Store": "store",
    "StoreError": "errors",
    "SummaryError": "errors",
    "load_config": "config.settings",
    "new_session_id": "sessions.session_rows",
}

__all__ = [
    "Config",
    "Conversation",
    "Edge",
    "Lineage",
    "Message",
    "Recalled",
    "RecalledSession",
    "Session",
    "SessionDB",
    "Store",
    "StoreError",
    "SummaryError",
    "__version__",
    "load_config",
    "new_session_id",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hermes_store' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"hermes_store.{home}"), name)


def __dir__() -> list[str]:
    return __all__
