"""The driver of one side: runs in the real hermes-agent's Python or in ours.

Reads one JSON command per line and answers with one JSON line. Times are measured here, around the
public call only. Uses only the standard library and the store under test.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

OURS = sys.argv[1].startswith("ours")
NORMAL = sys.argv[1].endswith("-normal")
OPTIONS: dict[str, Any] = {"synchronous": "NORMAL"} if OURS and NORMAL else {}
BEGAN = time.perf_counter()
if OURS:
    from hermes_store import SessionDB
    from hermes_store.errors import DatabaseLocked as Locked
    from hermes_store.records.search import Request
else:
    from sqlite3 import OperationalError as Locked  # type: ignore[assignment]

    from hermes_state import SessionDB  # type: ignore[import-not-found, no-redef]

LOADED = time.perf_counter() - BEGAN
SESSION_FIELDS = ("id", "source", "model", "parent_session_id", "started_at", "ended_at",
                  "end_reason", "title", "message_count", "system_prompt")  # fmt: skip
MESSAGE_FIELDS = ("session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name",
                  "timestamp", "token_count", "finish_reason", "reasoning")  # fmt: skip
PROMPT = "You are Hermes, a helpful agent. " * 200


class Side:
    """One store under test."""

    def __init__(self) -> None:
        self.db: Any = None
        self.path = ""
        self.conversation: list[dict[str, Any]] = []

    def open(self, path: str) -> float:
        self.path = path
        started = time.perf_counter()
        self.db = SessionDB(db_path=Path(path), **OPTIONS)
        if NORMAL and not OURS:
            # It has no setting for this, and both sides must give the same guarantee.
            self.db._conn.execute("PRAGMA synchronous = NORMAL")
        return time.perf_counter() - started

    def close(self) -> None:
        self.db.close()

    def load(self, corpus: str) -> float:
        """Insert the corpus with plain SQL in large transactions; triggers index it."""
        execute, begin, commit = self._bulk()
        started = time.perf_counter()
        waiting = 0
        begin()
        with open(corpus, encoding="utf-8") as file:
            for line in file:
                session = json.loads(line)
                session["message_count"] = len(session["messages"])
                session["system_prompt"] = PROMPT
                execute(_insert("sessions", SESSION_FIELDS), [session[f] for f in SESSION_FIELDS])
                for message in session["messages"]:
                    execute(_insert("messages", MESSAGE_FIELDS), _values(session["id"], message))
                waiting += len(session["messages"])
                if waiting > 2_000:
                    commit()
                    begin()
                    waiting = 0
        commit()
        return time.perf_counter() - started

    def _bulk(self) -> tuple[Any, Any, Any]:
        if OURS:
            import apsw

            con = apsw.Connection(self.path)
            con.set_busy_timeout(10_000)
            return con.execute, lambda: con.execute("BEGIN"), lambda: con.execute("COMMIT")
        import sqlite3

        other = sqlite3.connect(self.path, isolation_level=None, timeout=10)
        return other.execute, lambda: other.execute("BEGIN"), lambda: other.execute("COMMIT")

    def learn(self, corpus: str) -> None:
        """Read the messages to append from the corpus: questions, answers, tool output."""
        with open(corpus, encoding="utf-8") as file:
            while len(self.conversation) < 3_000:
                self.conversation += json.loads(file.readline())["messages"]

    def _say(self, session_id: str, place: int) -> float:
        """Append one message of the conversation and return how long it took."""
        message = self.conversation[place % len(self.conversation)]
        started = time.perf_counter()
        self.db.append_message(
            session_id,
            message["role"],
            message["content"],
            tool_name=message.get("tool_name"),
            tool_calls=message.get("tool_calls"),
        )
        return time.perf_counter() - started

    def append(self, session_id: str, number: int, first: int) -> list[float]:
        """Append messages one by one and return how long each took."""
        self.db.ensure_session(session_id, "cli")
        return [self._say(session_id, first + place) for place in range(number)]

    def append_for(
        self, session_id: str, seconds: float, start_at: float
    ) -> tuple[list[float], list[float]]:
        """Append as fast as possible for some seconds, starting at a common time.

        Return how long each append took, and how long each failed one took.
        """
        self.db.ensure_session(session_id, "cli")
        while time.time() < start_at:
            time.sleep(0.001)
        took: list[float] = []
        given_up: list[float] = []
        end = start_at + seconds
        while time.time() < end:
            started = time.perf_counter()
            try:
                took.append(self._say(session_id, len(took)))
            except Locked:
                given_up.append(time.perf_counter() - started)
        return took, given_up

    def found(self, way: str, query: str) -> tuple[float, list[int]]:
        """Search in one of our ways, or as the real one does; return the ids of a page.

        With `stream` only the first rows count, while the search goes on.
        """
        started = time.perf_counter()
        if way == "stream":
            growing = self.db.store.search.stream(_request(query))
            ids = [hit.message_id for hit in next(growing).hits]
            took = time.perf_counter() - started
            growing.close()
            return took, ids
        if way == "run":
            ids = [hit.message_id for hit in self.db.store.search.run(_request(query)).hits]
        else:
            ids = [row["id"] for row in self.db.search_messages(query, limit=20)]
        return time.perf_counter() - started, ids

    def first(self, path: str, way: str, query: str) -> tuple[float, list[int]]:
        """Open a file and search it, as a new process does."""
        opening = self.open(path)
        took, ids = self.found(way, query)
        return opening + took, ids

    def loading(self) -> tuple[float, float]:
        """Return how long the code took to load, and how long what only a search needs."""
        started = time.perf_counter()
        if OURS:
            import hermes_store.search.api  # noqa: F401
        return LOADED, time.perf_counter() - started

    def every(self, query: str) -> list[int]:
        """Return the ids of all messages that are found."""
        request = Request(query, relax=False, count=False, limit=1_000_000, seconds=None)
        return [hit.message_id for hit in self.db.store.search.run(request).hits]

    def first_list(self, path: str, number: int) -> float:
        """Open a file and list the most recently active sessions, as a new process does."""
        started = time.perf_counter()
        self.open(path)
        self.list_active(number)
        return time.perf_counter() - started

    def prepare(self) -> float:
        started = time.perf_counter()
        self.db.store.search.prepare()
        return time.perf_counter() - started

    def list_active(self, number: int) -> float:
        started = time.perf_counter()
        self.db.list_sessions_rich(limit=number, order_by_last_active=True)
        return time.perf_counter() - started

    def delete(self, session_id: str) -> float:
        started = time.perf_counter()
        self.db.delete_session(session_id)
        return time.perf_counter() - started

    def prune(self, days: float) -> tuple[float, int]:
        started = time.perf_counter()
        gone = self.db.prune_sessions(older_than_days=days)
        return time.perf_counter() - started, gone


def _request(query: str) -> Any:
    return Request(query, relax=False)


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _values(session_id: str, message: dict[str, Any]) -> list[Any]:
    row = dict(message, session_id=session_id)
    if isinstance(row["content"], list):
        row["content"] = "\x00json:" + json.dumps(row["content"])
    if row.get("tool_calls"):
        row["tool_calls"] = json.dumps(row["tool_calls"])
    return [row.get(name) for name in MESSAGE_FIELDS]


def main() -> None:
    side = Side()
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(getattr(side, name)(*arguments)), flush=True)


main()
