"""Random scripts of store operations, and the driver that runs one on either store.

What this store does differently on purpose is left out: titles with joined emoji, of full
length or numbered with words, pictures in a first message, finding the text beside a picture,
deleting a session with children, and the texts of errors.
"""

from __future__ import annotations

import random
from typing import Any

Step = list[Any]
"""A method name, its positional arguments, its keyword arguments."""

DRIVER = """
import json, sys, time
from pathlib import Path
if sys.argv[1] == "real":
    import sqlite3
    from hermes_state import SessionDB
    EXPECTED = (ValueError, sqlite3.Error)
else:
    from hermes_store import SessionDB, StoreError
    EXPECTED = StoreError
now = 1_700_000_000.0
time.time = lambda: now  # a clock that stands still within a step and jumps between two
db = SessionDB(db_path=Path(sys.argv[2]))
def plain(value):
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value
answers = []
for name, arguments, options in json.loads(Path(sys.argv[3]).read_text()):
    now += 10.0
    try:
        if sys.argv[1] == "real" and name == "resolve_resume_session_id":
            # The oldest version leaves going to the newest continuation to its command.
            arguments = [db.get_compression_tip(arguments[0])]
        answer = getattr(db, name)(*arguments, **options)
    except EXPECTED:
        answer = "raised"
    if isinstance(answer, list):
        for row in answer:
            if isinstance(row, dict):
                row.pop("unread", None)
                if sys.argv[4:] == ["newest"]:
                    # See docs/compatibility.md: noted here, and more of a row is quoted.
                    row.pop("last_activity_at", None)
                    row.pop("snippet", None)
    elif isinstance(answer, dict) and sys.argv[4:] == ["newest"]:
        answer.pop("last_activity_at", None)
    if name == "search_messages" and isinstance(answer, list):
        answer.sort(key=lambda row: row["id"])
    answers.append(plain(answer))
db.close()
print(json.dumps(answers))
"""

IDS = [f"20250{n}01_120000_{n}{n}abcd" for n in range(1, 8)]
WORDS = ["deploy", "kettle", "matrix", "running", "Café", "log42", "server"]
TITLES = ["proj", "Proj", "proj #2", "proj #3", "proj #10", " spaced \t out ", "100%_x",
          "other\x07", "100%_x #2", "", "x" * 101, "前回の設定", "a\u200bb"]  # fmt: skip
SOURCES = ["cli", "telegram", "tool"]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}]


class Writer:
    """Draws steps; remembers whose child is whose, to know what may be deleted.

    Half of the scripts branch, the others read with ancestors: what a branch shows of its parent
    differs on purpose. No session has two children, or a child that is a tool's, for the same
    reason.
    """

    def __init__(self, seed: int, version: str) -> None:
        self._draw = random.Random(seed)
        self._parents: dict[str, str | None] = {}
        self._branches = seed % 2 == 0
        self._oldest = version == "0.13.0"
        self._newest = version == "0.20.4"
        self._ended: dict[str, str] = {}
        """How sessions have ended; the newest version takes no messages for a compressed one."""

    def script(self, length: int) -> list[Step]:
        """Return a script of that many steps; the last ones look at everything."""
        makers = [self._create] * 4 + [self._append] * 8 + [self._end] * 3 + [
            self._reopen, self._replace, self._title, self._title, self._usage, self._delete,
            self._prompt, self._meta, self._ensure, self._handoff, self._handoff, self._own_repair,
        ] + [self._ask] * 9  # fmt: skip
        if self._oldest:
            makers += [self._topic] * 2
        if self._newest:  # a last activity that was noted outlives its message
            makers.remove(self._replace)
        steps = [self._draw.choice(makers)() for _ in range(length)]
        return steps + self._look_at_everything()

    def _id(self) -> str:
        known = list(self._parents) or IDS
        return self._draw.choice(known if self._draw.random() < 0.95 else IDS)

    def _open_id(self) -> str:
        """Return a session that takes messages in every version."""
        known = [e for e in self._parents if self._ended.get(e) != "compression"]
        return self._draw.choice(known or ["nobody"]) if self._newest else self._id()

    def _text(self) -> str:
        return " ".join(self._draw.choices(WORDS, k=self._draw.randint(1, 14)))

    def _create(self) -> Step:
        free = [each for each in IDS if each not in self._parents] or IDS
        new, parent = self._draw.choice(free), None
        childless = [e for e in self._parents if e not in self._parents.values() and e != new]
        if childless and new not in self._parents and self._draw.random() < 0.6:
            parent = self._draw.choice(childless)
        if new not in self._parents:
            self._parents[new] = parent
        options: dict[str, Any] = {"parent_session_id": parent}
        if self._draw.random() < 0.5:
            options |= {
                "model": "m",
                "model_config": {"t": 1},
                "system_prompt": "p",
                "user_id": "u",
            }
        sources = SOURCES if parent is None else SOURCES[:2]
        return ["create_session", [new, self._draw.choice(sources)], options]

    def _ensure(self) -> Step:
        new = self._id()
        self._parents.setdefault(new, None)
        return ["ensure_session", [new], self._draw.choice([{}, {"source": "cli", "model": "n"}])]

    def _message(self) -> dict[str, Any]:
        role = self._draw.choice(["user", "assistant", "assistant", "tool"])
        message: dict[str, Any] = {"role": role, "content": self._text()}
        if role == "assistant":
            parts = [{"type": "text", "text": "pictured"}]
            message["content"] = self._draw.choice([self._text(), None, "", parts])
            if self._draw.random() < 0.4:
                message |= {"tool_calls": CALLS * self._draw.randint(1, 2), "reasoning": "because"}
            if self._draw.random() < 0.3:
                message |= {"finish_reason": "stop", "reasoning_details": [{"a": 1}],
                            "codex_message_items": [{"b": 2}], "reasoning_content": ""}  # fmt: skip
        elif role == "tool":
            message |= {"tool_name": "terminal", "tool_call_id": "c1"}
        elif self._draw.random() < 0.2:
            message["content"] = "line one\nline two " + "long " * 20
        return message

    def _append(self) -> Step:
        message = self._message()
        return ["append_message", [self._open_id(), message.pop("role"), message.pop("content")],
                message]  # fmt: skip

    def _replace(self) -> Step:
        if self._draw.random() < 0.3:
            return ["clear_messages", [self._open_id()], {}]
        said = [self._message() for _ in range(self._draw.randint(0, 4))]
        return ["replace_messages", [self._open_id(), said], {}]

    def _end(self) -> Step:
        reasons = ["compression", "compression", "user_exit"]
        reasons += ["branched"] if self._branches else []
        who, reason = self._id(), self._draw.choice(reasons)
        if who in self._parents:
            self._ended.setdefault(who, reason)
        return ["end_session", [who, reason], {}]

    def _reopen(self) -> Step:
        who = self._id()
        self._ended.pop(who, None)
        return ["reopen_session", [who], {}]

    def _title(self) -> Step:
        return ["set_session_title", [self._id(), self._draw.choice(TITLES)], {}]

    def _prompt(self) -> Step:
        return ["update_system_prompt", [self._id(), "another prompt"], {}]

    def _meta(self) -> Step:
        key = self._draw.choice("ab")
        return self._draw.choice([["set_meta", [key, self._text()], {}], ["get_meta", [key], {}]])

    def _handoff(self) -> Step:
        who = self._id()
        return self._draw.choice([
            ["request_handoff", [who, "telegram"], {}],
            ["request_handoff", [who, "slack"], {}],
            ["claim_handoff", [who], {}],
            ["complete_handoff", [who], {}],
            ["fail_handoff", [who, "why " * 200], {}],
            ["get_handoff_state", [who], {}],
            ["list_pending_handoffs", [], {}],
        ])  # fmt: skip

    def _topic(self) -> Step:
        who, draw = self._id(), self._draw
        user, chat, thread = draw.choice(["u", "v"]), draw.choice("12"), draw.choice("34")
        topic = {"chat_id": chat, "thread_id": thread}
        person = {"chat_id": chat, "user_id": user}
        bound = topic | {"user_id": user, "session_key": "a key", "session_id": who}
        return draw.choice([
            ["enable_telegram_topic_mode", [], person | {"has_topics_enabled": True}],
            ["disable_telegram_topic_mode", [], {"chat_id": chat, "clear_bindings": user == "u"}],
            ["is_telegram_topic_mode_enabled", [], person],
            ["bind_telegram_topic", [], bound],
            ["bind_telegram_topic", [], bound],
            ["get_telegram_topic_binding", [], topic],
            ["is_telegram_session_linked_to_topic", [], {"session_id": who}],
            ["list_unlinked_telegram_sessions_for_user", [], person],
        ])  # fmt: skip

    def _own_repair(self) -> Step:
        return [self._draw.choice(["finalize_orphaned_compression_sessions",
                                   "prune_empty_ghost_sessions"]), [], {}]  # fmt: skip

    def _usage(self) -> Step:
        options = {
            "input_tokens": 5, "output_tokens": 7, "cache_read_tokens": 1, "reasoning_tokens": 2,
            "estimated_cost_usd": 0.25, "actual_cost_usd": 0.5, "api_call_count": 1, "model": "m2",
            "billing_provider": "b", "cost_status": "s", "pricing_version": "v",
        }  # fmt: skip
        chosen = {key: value for key, value in options.items() if self._draw.random() < 0.6}
        return ["update_token_counts", [self._draw.choice(list(self._parents) or IDS[:1])],
                chosen | {"absolute": self._draw.random() < 0.3}]  # fmt: skip

    def _delete(self) -> Step:
        childless = [each for each in self._parents if each not in self._parents.values()]
        gone = self._draw.choice(childless or ["nobody"])
        self._parents.pop(gone, None)
        self._ended.pop(gone, None)
        return ["delete_session", [gone], {}]

    def _ask(self) -> Step:
        who, draw = self._id(), self._draw
        listing: dict[str, Any] = {
            "source": draw.choice([None, None, *SOURCES]),
            "exclude_sources": draw.choice([None, [], ["tool"], ["cli", "tool"]]),
            "limit": draw.choice([2, 20]),
            "offset": draw.choice([0, 0, 1]),
            "include_children": draw.random() < 0.3,
            "project_compression_tips": draw.random() < 0.7,
            "order_by_last_active": draw.random() < 0.5,
        }
        found: dict[str, Any] = {
            "source_filter": draw.choice([None, None, ["cli"]]),
            "exclude_sources": draw.choice([None, ["tool"]]),
            "role_filter": draw.choice([None, None, ["user", "tool"]]),
            "limit": 500,
        }
        return draw.choice([
            ["list_sessions_rich", [], listing],
            ["list_sessions_rich", [], listing],
            ["search_sessions", [], {"source": draw.choice([None, "cli"]), "limit": 3}],
            ["search_messages", [draw.choice(WORDS)], found],
            ["search_messages", [" ".join(draw.sample(WORDS, 2))], found],
            ["get_session", [who], {}],
            ["resolve_session_id", [who[: draw.choice([5, 6, 12, 23])]], {}],
            ["get_messages", [who], {}],
            ["get_messages_as_conversation", [who], {"include_ancestors": not self._branches}],
            ["get_session_title", [who], {}],
            ["get_session_by_title", [draw.choice(TITLES)], {}],
            ["resolve_session_by_title", [draw.choice(TITLES[:4])], {}],
            ["get_next_title_in_lineage", [draw.choice(TITLES[:4])], {}],
            ["get_compression_tip", [who], {}],
            ["resolve_resume_session_id" if self._oldest else "get_session", [who], {}],
            ["export_session", [who], {}],
            ["session_count", [], {"source": draw.choice([None, "cli"])}],
            ["message_count", [], {"session_id": draw.choice([None, who])}],
        ])  # fmt: skip

    def _look_at_everything(self) -> list[Step]:
        steps: list[Step] = [["export_all", [], {}], ["search_sessions", [], {}]]
        for active in (False, True):
            for children in (False, True):
                options = {"order_by_last_active": active, "include_children": children}
                steps.append(["list_sessions_rich", [], options])
        for each in IDS:
            for name in ("get_compression_tip", "resolve_resume_session_id", "get_session"):
                # Without marks, children are understood differently; see `shapes`.
                if self._oldest or name != "resolve_resume_session_id":
                    steps.append([name, [each], {}])
        steps += [["search_messages", [word], {"limit": 500}] for word in WORDS]
        return steps
