"""The demo's model: a script in this process that needs no server, no key and no package."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_tui.chat.endpoint_settings import Endpoint
from hermes_tui.chat.provider import Cancelled, Provider
from hermes_tui.chat.streamed_reply import Delta, Reply, ToolCall, Usage
from hermes_tui.demo import answers

CONTEXT_LENGTH = 128_000
WORD_SECONDS = 0.02


class ScriptedModel(Provider):
    """Answers from `answers`, word by word."""

    def __init__(self, model: str, *, delay: float = WORD_SECONDS) -> None:
        """Make a model of this name that waits `delay` seconds before each word."""
        # Not the parent's, which asks for the client library.
        self.endpoint = Endpoint("", model, model, "", 1.0, 0, CONTEXT_LENGTH)
        self._delay = delay
        self._closed = threading.Event()

    def prepare(self) -> None:
        """There is nothing to load."""

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        on_delta: Callable[[Delta], None],
        cancelled: Cancelled,
    ) -> Reply:
        """Answer in pieces; as soon as `cancelled` returns true, return the part so far."""
        line = answers.next_line(messages, tools)
        deltas = [Delta("", piece) for piece in answers.pieces(line.reasoning)]
        deltas += [Delta(piece, "") for piece in answers.pieces(line.text)]
        said: list[Delta] = []
        stopped = False
        for delta in deltas:
            if self._closed.wait(self._delay) or cancelled():
                stopped = True
                break
            said.append(delta)
            on_delta(delta)
        text = "".join(delta.text for delta in said)
        reasoning = "".join(delta.reasoning for delta in said)
        calls = (ToolCall("call_1", line.tool, line.arguments),) if line.tool else ()
        return Reply(
            text,
            reasoning,
            () if stopped else calls,
            "tool_calls" if calls else "stop",
            _usage(messages, text + reasoning + line.arguments),
            self.endpoint.model,
            stopped,
        )

    def complete(self, messages: Sequence[Mapping[str, Any]], **_: Any) -> str:
        """Return a title or a summary."""
        return answers.whole_answer(messages)


def _usage(messages: Sequence[Mapping[str, Any]], said: str) -> Usage:
    """Return rough token counts, at four characters for each."""
    asked = sum(len(json.dumps(dict(each), ensure_ascii=False)) for each in messages)
    return Usage(asked // 4, max(1, len(said) // 4))
