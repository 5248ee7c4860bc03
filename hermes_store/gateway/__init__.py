"""Sessions for bots on messaging platforms: keys, reset policies, routing, transcripts.

from hermes_store import Store, load_config
from hermes_store.gateway import MessageSource, SessionRouter

with Store() as store:
    router = SessionRouter(store, load_config())
    source = MessageSource(platform="telegram", chat_id="12345", user_id="12345")
    routed = router.incoming(source, "hello")
    router.save(routed, "user", "hello")
"""

from __future__ import annotations

from hermes_store.gateway.message_source import ChatType, MessageSource
from hermes_store.gateway.open_sessions import previous_session_id
from hermes_store.gateway.reset_policy import ResetPolicy, ResetReason, due, policy_for
from hermes_store.gateway.router import Outcome, Routed, SessionRouter
from hermes_store.gateway.routing_file import Route, Routes
from hermes_store.gateway.session_keys import SessionKey, build, key_of, parse
from hermes_store.gateway.transcript_files import Transcript, Transcripts

__all__ = [
    "ChatType",
    "MessageSource",
    "Outcome",
    "ResetPolicy",
    "ResetReason",
    "Route",
    "Routed",
    "Routes",
    "SessionKey",
    "SessionRouter",
    "Transcript",
    "Transcripts",
    "build",
    "due",
    "key_of",
    "parse",
    "policy_for",
    "previous_session_id",
]
