"""The answer of a model, and how it is assembled from the pieces of a stream.

Servers differ in what they send: pieces without choices, null instead of text, tool calls in
fragments, token counts in the last piece or not at all. Unknown content is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by the model; the arguments should be JSON, but may not be."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of an answer; all 0 if the server sends none."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of an answer; one of the fields may be empty."""

    text: str
    reasoning: str
    tokens: int = 0
    """The tokens of the answer so far, from a server that counts along."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, complete or partial."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage = Usage()
    model: str = ""
    stopped: bool = False
    """Whether the user stopped it."""


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class Assembly:
    """Assembles an answer from the pieces of a stream."""

    def __init__(self, model: str) -> None:
        self.begun = False
        """Whether any piece has arrived; after that, the request is not retried."""
        self.finish_reason: str | None = None
        self._model = model
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._places: dict[int, int] = {}
        self._usage = Usage()

    def add(self, piece: Any) -> Delta | None:
        """Add a piece and return its visible part, if any."""
        self.begun = True
        self._model = _text(getattr(piece, "model", None)) or self._model
        self._usage = usage_of(getattr(piece, "usage", None)) or self._usage
        choices = getattr(piece, "choices", None)
        if not isinstance(choices, list) or not choices:
            return None
        choice = choices[0]
        self.finish_reason = _text(getattr(choice, "finish_reason", None)) or self.finish_reason
        said = getattr(choice, "delta", None)
        for fragment in _list(getattr(said, "tool_calls", None)):
            self._add_call(fragment)
        delta = Delta(
            _text(getattr(said, "content", None)), reasoning_of(said), self._usage.output_tokens
        )
        if not delta.text and not delta.reasoning:
            return None
        self._text.append(delta.text)
        self._reasoning.append(delta.reasoning)
        return delta

    def _add_call(self, fragment: Any) -> None:
        function = getattr(fragment, "function", None)
        call = self._call_for(_number(getattr(fragment, "index", None)),
                              _text(getattr(fragment, "id", None)))  # fmt: skip
        call.arguments += _text(getattr(function, "arguments", None))
        # Most servers send the name once, a few with every fragment.
        call.name = call.name or _text(getattr(function, "name", None))

    def _call_for(self, index: int | None, call_id: str) -> _Call:
        """Return the call that a fragment continues: the one at its index, unless its id is new."""
        place = len(self._calls) - 1 if index is None else self._places.get(index, -1)
        if place >= 0:
            call = self._calls[place]
            if not call_id or not call.id or call.id == call_id:
                call.id = call.id or call_id
                return call
        self._calls.append(_Call(call_id))
        if index is not None:
            self._places[index] = len(self._calls) - 1
        return self._calls[-1]

    def reply(self, *, stopped: bool = False) -> Reply:
        """Return the answer so far."""
        return Reply(
            "".join(self._text),
            "".join(self._reasoning),
            tuple(
                ToolCall(call.id or f"call_{place}", call.name, call.arguments or "{}")
                for place, call in enumerate(self._calls, 1)
                if call.name
            ),
            self.finish_reason,
            self._usage,
            self._model,
            stopped,
        )


def usage_of(usage: Any) -> Usage | None:
    """Return the token counts from a server, None if it sent none."""
    if usage is None:
        return None
    spent = getattr(usage, "completion_tokens_details", None)
    read = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        _number(getattr(usage, "prompt_tokens", None)) or 0,
        _number(getattr(usage, "completion_tokens", None)) or 0,
        _number(getattr(spent, "reasoning_tokens", None)) or 0,
        _number(getattr(read, "cached_tokens", None)) or 0,
    )


def reasoning_of(said: Any) -> str:
    """Return the reasoning, which has one of two names."""
    return _text(getattr(said, "reasoning", None)) or _text(
        getattr(said, "reasoning_content", None)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
