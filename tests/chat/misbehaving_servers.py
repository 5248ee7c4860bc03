"""Servers that misbehave, each in one way that real ones do."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_tui.chat.provider import Delta, Endpoint, Provider, Reply
from hermes_tui.demo.model_server import DemoServer, Exchange

KEY = "sk-secret-key"
WAIT = 20.0
"""How long a test waits for something that must happen."""

Behaviour = Callable[["TroubleServer", Exchange], None]


class TroubleServer(DemoServer):
    """Behaves as told for the first requests, and like the demonstration server afterwards."""

    def __init__(
        self, behaviour: Behaviour, *, times: int | None = None, delay: float = 0.0
    ) -> None:
        super().__init__(delay=delay)
        self.asked = 0
        self._behaviour = behaviour
        self._times = times
        self._numbers = itertools.count(1)

    def respond(self, exchange: Exchange) -> None:
        """Misbehave as long as that is wanted."""
        self.asked = next(self._numbers)
        if self._times is None or self.asked <= self._times:
            self._behaviour(self, exchange)
        else:
            super().respond(exchange)


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> Any:
    """Return a piece of a stream as servers send it."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice], **more}


def sends(*events: Any, done: bool = True) -> Behaviour:
    """Send these pieces and nothing else."""

    def behave(_: TroubleServer, exchange: Exchange) -> None:
        exchange.begin_stream()
        for event in events:
            exchange.write(event) if isinstance(event, bytes) else exchange.event(event)
        if done:
            exchange.end_stream()

    return behave


def refuses(status: int, message: str = "no", code: str | None = None, **headers: str) -> Behaviour:
    """Answer with an error."""

    def behave(_: TroubleServer, exchange: Exchange) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.refuse(status, message, code, named)

    return behave


def hangs(server: TroubleServer, exchange: Exchange) -> None:
    """Say nothing at all until the server closes or the other side does."""
    server.closing.wait(WAIT)


def stalls(server: TroubleServer, exchange: Exchange) -> None:
    """Begin an answer and fall silent, until somebody hangs up."""
    exchange.begin_stream()
    exchange.event(chunk({"content": "Half an ans"}))
    while not server.closing.wait(0.05):
        exchange.write(b": still here\n\n")


def falls_silent(server: TroubleServer, exchange: Exchange) -> None:
    """Begin an answer and say nothing more, not even that the server is there."""
    exchange.begin_stream()
    exchange.event(chunk({"content": "Half an ans"}))
    server.closing.wait(WAIT)


def breaks_off(_: TroubleServer, exchange: Exchange) -> None:
    """Begin an answer and cut the connection."""
    exchange.begin_stream()
    exchange.event(chunk({"content": "Half an ans"}))
    exchange.raw(b"ff\r\nda")


def hangs_up(_: TroubleServer, exchange: Exchange) -> None:
    """Cut the connection before anything was said."""
    exchange.raw(b"")
    exchange._handler.close_connection = True


def speaks_gibberish(_: TroubleServer, exchange: Exchange) -> None:
    """Send bytes that are no HTTP."""
    exchange.raw(b"\x00\xff\xfe not http at all \x1b[31m\r\n\r\n")
    exchange._handler.close_connection = True


def shows_a_page(_: TroubleServer, exchange: Exchange) -> None:
    """Answer with a web page, as behind a wrong address."""
    exchange.send(200, b"<html>Welcome!</html>", "text/html; charset=utf-8")


def endpoint_at(url: str, **more: Any) -> Endpoint:
    """Return an endpoint with short waits."""
    values: dict[str, Any] = {
        "base_url": url,
        "model": "some-model",
        "auxiliary_model": "small-model",
        "key": KEY,
        "timeout": WAIT,
        "retries": 2,
        "context_length": 8_000,
    }
    return Endpoint(**(values | more))


class Talk:
    """Asks a server and keeps what came."""

    def __init__(self, server: DemoServer, **more: Any) -> None:
        self.provider = Provider(endpoint_at(server.base_url, **more))
        self.deltas: list[Delta] = []

    def ask(
        self,
        text: str = "hello",
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Ask for a streamed answer."""
        return self.provider.stream(
            [{"role": "user", "content": text}],
            tools=tools,
            on_delta=self.deltas.append,
            cancelled=cancelled,
        )

    @property
    def shown(self) -> str:
        """The text that was handed over piece by piece."""
        return "".join(delta.text for delta in self.deltas)


def event_bytes(value: Any) -> bytes:
    """Return an event as bytes, so that a test can cut it anywhere."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
