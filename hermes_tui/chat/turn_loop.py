"""The turn loop of a chat.

A message is saved before it is sent, and an answer as soon as it is complete or stopped, so that a
crash loses at most the answer in flight. Runs in worker threads; knows no screen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hermes_store.config.settings import Config
from hermes_store.errors import InvalidInput
from hermes_store.hermes_state import session_search
from hermes_store.records.message_content import readable
from hermes_store.records.session import Session
from hermes_store.sessions.session_rows import new_session_id
from hermes_store.sessions.workspaces import place_here
from hermes_store.store import Store
from hermes_tui.chat.errors import ChatError
from hermes_tui.chat.provider import Provider
from hermes_tui.chat.streamed_reply import Delta, Reply, ToolCall, Usage

if TYPE_CHECKING:
    from hermes_tui.chat.auto_title import AutoTitle

MAX_ROUNDS = 6
"""Requests per turn; the last one offers no tools."""
SOURCE = "cli"
PROMPT = (
    "You are Hermes, a helpful assistant in a terminal. Answer in Markdown, briefly where brevity "
    "serves, and say so when you do not know something."
)


class Listener(Protocol):
    """Follows a turn; called from the thread that runs it."""

    def piece(self, delta: Delta) -> None:
        """A piece of the answer has arrived."""

    def saved(self, session_id: str) -> None:
        """A message was written to the database."""

    def looking_up(self, question: str) -> None:
        """The model is searching earlier conversations."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The outcome of a message."""

    reply: Reply
    first: bool
    """Whether this was the first exchange of the session."""
    full: bool
    """Whether the conversation has passed the compression threshold."""


Stopped = Callable[[], bool]


class Conversation:
    """A conversation with a model, stored in a database."""

    def __init__(
        self,
        store: Store,
        provider: Provider,
        config: Config,
        session_id: str | None = None,
        *,
        clock: Callable[[], float],
    ) -> None:
        self.store = store
        self.provider = provider
        self.session_id = session_id
        self.queued_title: str | None = None
        self._config = config
        self._clock = clock
        self._history: list[dict[str, Any]] | None = None
        self._spoken = False
        self._titling: AutoTitle | None = None
        self.on_title: Callable[[str], None] = lambda _: None
        """Called from another thread when a title is found."""

    def prepare(self) -> str:
        """Load the model's client, which takes a second; return the name of the model."""
        self.provider.prepare()
        return self.provider.endpoint.model

    # -- sending ---------------------------------------------------------------------------

    def say(self, text: str, listener: Listener, stopped: Stopped) -> Turn:
        """Send a message and return the answer; both are saved as they arrive."""
        self._begun()
        self._keep({"role": "user", "content": text}, listener)
        return self._turn(listener, stopped)

    def retry(self, listener: Listener, stopped: Stopped) -> Turn:
        """Ask again for an answer to the last message; undo the previous answer, if any."""
        history = self.history()
        if not any(each["role"] == "user" for each in history):
            raise InvalidInput("There is nothing to retry yet.")
        session_id = self._begun()
        if history[-1]["role"] != "user":
            self.store.messages.undo_exchange(session_id, answer_only=True)
            self._history = None
            listener.saved(session_id)
        return self._turn(listener, stopped)

    def _turn(self, listener: Listener, stopped: Stopped) -> Turn:
        said = [each["content"] for each in self.history() if each["role"] == "user"]
        first = len(said) == 1
        reply = self._answered(listener, stopped)
        usage, wanted = reply.usage, self._config.compression
        limit = self.provider.endpoint.context_length * wanted.threshold
        full = wanted.enabled and usage.input_tokens + usage.output_tokens > limit
        if first and reply.text and not reply.stopped:
            self._find_title(readable(said[0]), reply.text)
        return Turn(reply, first, full)

    def _find_title(self, said: str, answer: str) -> None:
        """Find a title in the background."""
        from hermes_tui.chat.auto_title import AutoTitle

        assert self.session_id is not None
        self._titling = AutoTitle(self.provider)
        self._titling.start(
            lambda: Store(self.store.address),
            self.session_id,
            said,
            answer,
            self.on_title,
        )

    def wait_for_title(self, seconds: float) -> None:
        """Wait a moment for a pending title before everything is closed."""
        if self._titling is not None:
            self._titling.wait(seconds)

    def _begun(self) -> str:
        """Return the session; the first message starts or reopens it."""
        if self.session_id is None:
            session_id = new_session_id(self._clock())
            self.store.sessions.start(
                session_id,
                SOURCE,
                model=self.provider.endpoint.model,
                system_prompt=PROMPT,
                place=place_here(),
            )
            self.session_id = session_id
        elif not self._spoken:
            self.store.sessions.reopen(self.session_id)
        self._spoken = True
        if self.queued_title:
            self._title_if_free(self.session_id, self.queued_title)
            self.queued_title = None
        return self.session_id

    def _title_if_free(self, session_id: str, title: str) -> None:
        advice = self.store.sessions.advise_title(session_id, title)
        self.store.sessions.rename(session_id, advice.suggestion or advice.title)

    def _answered(self, listener: Listener, stopped: Stopped) -> Reply:
        for round_ in range(MAX_ROUNDS):
            # The last round offers no tools, so it must end in an answer.
            tools = () if round_ == MAX_ROUNDS - 1 else (session_search.TOOL,)
            try:
                reply = self.provider.stream(
                    self._sent(), tools=tools, on_delta=listener.piece, cancelled=stopped
                )
            except ChatError as error:
                if error.partial is not None:
                    self._keep_reply(error.partial, listener, "error")
                raise
            self._keep_reply(reply, listener, "stopped" if reply.stopped else None)
            if not reply.tool_calls or reply.stopped:
                return reply
            for call in reply.tool_calls:
                self._use_tool(call, listener)
        return reply

    # -- tools -----------------------------------------------------------------------------

    def _use_tool(self, call: ToolCall, listener: Listener) -> None:
        answer = json.dumps(self._looked_up(call, listener), ensure_ascii=False)
        message = {
            "role": "tool",
            "content": answer,
            "tool_call_id": call.id,
            "tool_name": call.name,
        }
        self._keep(message, listener)

    def _looked_up(self, call: ToolCall, listener: Listener) -> Mapping[str, Any]:
        if call.name != session_search.NAME:
            return session_search.failed(f"There is no tool named {call.name}.")
        try:
            wanted = json.loads(call.arguments or "{}")
        except ValueError:
            wanted = None
        if not isinstance(wanted, dict):
            return session_search.failed("The arguments are not a JSON object.")
        if query := session_search.query_of(wanted):
            listener.looking_up(query)
        from hermes_tui.chat.summaries import summariser_of

        return session_search.session_search(
            self.store,
            wanted,
            current_session_id=self.session_id,
            summarise=summariser_of(self.provider),
            now=self._clock(),
        )

    # -- history ---------------------------------------------------------------------------

    def history(self) -> list[dict[str, Any]]:
        """Return the messages of this session in the form that is sent to a model."""
        if self._history is None:
            stored = self.store.messages.for_model(self.session_id) if self.session_id else []
            self._history = [_plain(message) for message in stored]
        return self._history

    def _sent(self) -> list[dict[str, Any]]:
        said = paired(self.history())
        return [{"role": "system", "content": f"{PROMPT}\n\n{session_search.GUIDANCE}"}, *said]

    def _keep_reply(self, reply: Reply, listener: Listener, reason: str | None) -> None:
        """Save an answer; of an incomplete one, only its readable text."""
        self._count(reply.usage)
        if reason is not None and not reply.text and not reply.reasoning:
            return
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.tool_calls
        ]
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if calls and reason is None:
            message["tool_calls"] = calls
        details = {
            "reasoning": reply.reasoning or None,
            "finish_reason": reason or reply.finish_reason,
            "token_count": reply.usage.output_tokens or None,
        }
        self._keep(message, listener, details)

    def _count(self, usage: Usage) -> None:
        assert self.session_id is not None
        self.store.sessions.add_usage(
            self.session_id,
            {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_read_tokens": usage.cached_tokens,
                "reasoning_tokens": usage.reasoning_tokens,
                "api_call_count": 1,
            },
        )

    def _keep(
        self,
        message: Mapping[str, Any],
        listener: Listener,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        assert self.session_id is not None
        history = self.history()
        self.store.messages.append(self.session_id, {**message, **(details or {})}, self._clock())
        history.append(_plain(message))
        listener.saved(self.session_id)

    # -- commands --------------------------------------------------------------------------

    def title(self) -> str | None:
        """Return the title of the session, or the one it will get."""
        if self.session_id is None:
            return self.queued_title
        return self.store.sessions.get(self.session_id).title

    def set_title(self, title: str) -> str | None:
        """Set the title now, or as soon as the session starts."""
        if self.session_id is not None:
            return self.store.sessions.rename(self.session_id, title)
        advice = self.store.sessions.advise_title("", title)
        if advice.problem is not None:
            raise InvalidInput(advice.problem)
        self.queued_title = advice.title
        return advice.title

    def compress(self) -> Session:
        """Continue in a session that has a summary in place of the older messages."""
        from hermes_tui.chat.summaries import compression_summary

        if self.session_id is None:
            raise InvalidInput("There is nothing to compress yet.")
        # Other programs may have added messages, and may do so while the summary is made.
        newest, self._history = self.store.messages.newest_id(self.session_id), None
        if not self.history():
            raise InvalidInput("There is nothing to compress yet.")
        summary = compression_summary(self.provider, self.history())
        continued = self.store.lineage.compress(
            self.session_id,
            summary=summary,
            # On request, even a short conversation is shortened.
            keep_last=min(self._config.compression.protect_last_n, len(self.history()) // 2),
            summarised_to=newest,
            now=self._clock(),
        )
        self.move_to(continued.id)
        self._spoken = True
        return continued

    def branch(self, title: str | None) -> Session:
        """Continue in a copy of the session, which itself stays unchanged."""
        if self.session_id is None:
            raise InvalidInput("There is nothing to branch yet.")
        copied = self.store.lineage.branch(self.session_id, title=title, now=self._clock())
        self.move_to(copied.id)
        self._spoken = True
        return copied

    def undo(self) -> int:
        """Undo the last message and its answer; return how many messages that removed."""
        if self.session_id is None:
            raise InvalidInput("There is nothing to undo yet.")
        removed = self.store.messages.undo_exchange(self.session_id)
        self._history = None
        return removed

    def move_to(self, session_id: str | None) -> None:
        """Continue another session; None means a new one."""
        self.session_id = session_id
        self.queued_title = None
        self._history = None
        self._spoken = False

    def close(self) -> None:
        """Close the database and the connection."""
        self.provider.close()
        self.store.close()

    def end(self, reason: str) -> None:
        """End the session, if a message was sent in it here."""
        if self.session_id is not None and self._spoken:
            self.store.sessions.end(self.session_id, reason)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that the protocol knows."""
    kept = {"role": message["role"], "content": message.get("content")}
    for name in ("tool_calls", "tool_call_id"):
        if message.get(name):
            kept[name] = message[name]
    return kept


def paired(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages without unanswered tool calls and without tool results that lack a call.

    Servers refuse a conversation with either, and a killed agent leaves both behind.
    """
    kept: list[dict[str, Any]] = []
    place = 0
    while place < len(messages):
        message, place = messages[place], place + 1
        if message["role"] in ("system", "session_meta", "tool"):
            continue
        calls = message.get("tool_calls") or []
        asked = [call.get("id") for call in calls if isinstance(call, dict)]
        # Only results right after a call belong to it; some servers give every call the same id.
        answers = {}
        while place < len(messages) and messages[place]["role"] == "tool":
            answers[messages[place].get("tool_call_id")] = messages[place]
            place += 1
        if calls and (len(asked) != len(calls) or set(asked) != set(answers) & set(asked)):
            message, asked = {k: v for k, v in message.items() if k != "tool_calls"}, []
        if asked or message.get("content"):
            kept += [message, *(answers[each] for each in asked)]
    return kept
