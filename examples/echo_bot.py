#!/usr/bin/env python3
"""A small bot that echoes every message and saves the conversation.

It needs neither network nor key. Each line of standard input is a message: either plain text from
the user named by the options, or a JSON object that says where it came from:

    {"platform": "discord", "chat_type": "group", "chat_id": "7", "user_id": "alice", "text": "hi"}

Every message is routed to its session; message and answer are saved in the database and in the
session's transcript. `/title some words` sets the title of a conversation, `/title` shows it.

    python examples/echo_bot.py --platform telegram --chat 12345 --user alice
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hermes_store import Store, StoreError, load_config
from hermes_store.config import paths
from hermes_store.gateway import MessageSource, Outcome, ResetReason, Routed, SessionRouter
from hermes_store.records.session import Session


def main() -> int:
    """Answer standard input until it ends."""
    options = _options()
    home = (options.home or paths.hermes_home()).expanduser()
    try:
        with Store.at_home(home) as store:
            router = SessionRouter(
                store, load_config(home), on_before_reset=save_memories, model="echo"
            )
            serve(router, sys.stdin, options)
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Echo each line of standard input.")
    parser.add_argument("--platform", default="telegram", help="the platform of plain lines")
    parser.add_argument("--type", default="dm", help="dm, group, channel or thread")
    parser.add_argument("--chat", default="12345", help="the chat id")
    parser.add_argument("--user", default="alice", help="the user id")
    parser.add_argument("--home", type=Path, help="the home folder (default: ~/.hermes)")
    return parser.parse_args()


def serve(router: SessionRouter, lines: Iterable[str], options: argparse.Namespace) -> None:
    """Print an answer to each line that is not blank."""
    for line in lines:
        if line.strip():
            source, text = understood(line.strip(), options)
            print(answer(router, source, text), flush=True)


def understood(line: str, options: argparse.Namespace) -> tuple[MessageSource, str]:
    """Return the source and the text of a line."""
    plain: dict[str, Any] = {
        "platform": options.platform,
        "chat_type": options.type,
        "chat_id": options.chat,
        "user_id": options.user,
    }
    try:
        told = json.loads(line) if line.startswith("{") else {"text": line}
    except ValueError:
        told = {"text": line}
    return MessageSource.from_origin(plain | told), str(told.get("text", ""))


def answer(router: SessionRouter, source: MessageSource, text: str) -> str:
    """Route a message, save it and the answer, and return the answer."""
    routed = router.incoming(source, text)
    if routed.outcome is Outcome.COMMAND:
        return routed.reply or ""
    router.save(routed, "user", text)
    said = f"You said: {text}"
    router.save(routed, "assistant", said)
    return f"[{routed.session_id}] {_opening(routed)}{said}"


def _opening(routed: Routed) -> str:
    if routed.outcome is Outcome.RESET:
        return f"(New conversation; the last one ended: {routed.reset_reason}.) "
    return ""


def save_memories(session: Session, reason: ResetReason) -> None:
    """An agent would save memories and skills of the session here."""
    print(f"[{session.id}] ends ({reason}); nothing to save.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
