"""A small local server that speaks the OpenAI protocol, for tests and pictures.

It is a real server on a real socket, so that what works with it works with others. It listens on
the loopback address only and answers with `answers`. Subclasses can misbehave: see `respond`.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from hermes_tui.demo import answers

MODEL = "hermes-demo"
CREATED = 1_750_000_000
IDLE_SECONDS = 30
_GONE = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, path: str, body: Mapping[str, Any]) -> None:
        self.path = path
        self.body = body
        self._handler = handler

    def send(
        self,
        status: int,
        payload: bytes,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer in one piece."""
        self._begin(status, kind, {"Content-Length": str(len(payload)), **(headers or {})})
        self._handler.wfile.write(payload)

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Answer with a JSON value."""
        self.send(status, json.dumps(value).encode(), headers=headers)

    def refuse(
        self, status: int, message: str, code: str | None = None, headers: Any = None
    ) -> None:
        """Answer with an error in the form of the protocol."""
        error = {"message": message, "type": "error", "param": None, "code": code}
        self.send_json(status, {"error": error}, headers)

    def begin_stream(self, kind: str = "text/event-stream") -> None:
        """Begin an answer of unknown length."""
        self._begin(200, kind, {"Transfer-Encoding": "chunked"})

    def write(self, payload: bytes) -> None:
        """Send some bytes of a stream at once."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
        self._handler.wfile.flush()

    def event(self, value: Any) -> None:
        """Send one event of a stream."""
        self.write(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode())

    def end_stream(self) -> None:
        """End a stream properly."""
        self.write(b"data: [DONE]\n\n")
        self._handler.wfile.write(b"0\r\n\r\n")

    def raw(self, payload: bytes) -> None:
        """Send bytes that need not be HTTP at all."""
        self._handler.wfile.write(payload)
        self._handler.wfile.flush()

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, "Connection": "close", **headers}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.close_connection = True


class DemoServer:
    """The server, running from `with` to the end of its block, or from `start` to `close`."""

    def __init__(self, *, delay: float = 0.02) -> None:
        """Make a server that waits `delay` seconds before each word."""
        self.delay = delay
        self.closing = threading.Event()
        """Set when the server is about to close; waiting answers end then."""
        self.left = threading.Event()
        """Set when a client disconnected before the answer was complete."""
        self.requests: list[Mapping[str, Any]] = []
        """The requests so far, for tests."""
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="hermes-demo", daemon=True
        )

    @property
    def base_url(self) -> str:
        """The address to configure as model.base_url."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> Self:
        """Start answering requests."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End all answers and free the port."""
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- answering -------------------------------------------------------------------------

    def respond(self, exchange: Exchange) -> None:
        """Answer one request; subclasses may override this."""
        if exchange.path.endswith("/models"):
            model = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "hermes"}
            exchange.send_json(200, {"object": "list", "data": [model]})
        elif not exchange.path.endswith("/chat/completions"):
            exchange.refuse(404, f"There is nothing at {exchange.path}")
        elif exchange.body.get("stream"):
            self.stream(exchange, self.line(exchange))
        else:
            messages = _messages(exchange.body)
            exchange.send_json(200, whole(exchange.body, answers.whole_answer(messages)))

    def line(self, exchange: Exchange) -> answers.Line:
        """Return what the assistant does next; subclasses may override this."""
        tools = exchange.body.get("tools")
        return answers.next_line(_messages(exchange.body), tools if isinstance(tools, list) else ())

    def stream(self, exchange: Exchange, line: answers.Line) -> None:
        """Send an answer word by word."""
        exchange.begin_stream()
        for event in events(exchange.body, line):
            self.closing.wait(self.delay)
            exchange.event(event)
        exchange.end_stream()


def events(body: Mapping[str, Any], line: answers.Line) -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed answer."""
    yield _event(body, {"role": "assistant", "content": ""})
    for piece in answers.pieces(line.reasoning):
        yield _event(body, {"reasoning_content": piece})
    for piece in answers.pieces(line.text):
        yield _event(body, {"content": piece})
    if line.tool:
        function = {"name": line.tool, "arguments": ""}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        yield _event(body, {"tool_calls": [call]})
        for place in range(0, len(line.arguments), 12):
            part = {"arguments": line.arguments[place : place + 12]}
            yield _event(body, {"tool_calls": [{"index": 0, "function": part}]})
    yield _event(body, {}, "tool_calls" if line.tool else "stop")
    options = body.get("stream_options")
    if isinstance(options, Mapping) and options.get("include_usage"):
        said = line.text + line.reasoning + line.arguments
        yield {**_event(body, {}), "choices": [], "usage": usage(body, said)}


def _event(
    body: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None
) -> dict[str, Any]:
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": str(body.get("model") or MODEL),
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def whole(body: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return an answer in one piece."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "created": CREATED,
        "model": str(body.get("model") or MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage(body, text),
    }


def usage(body: Mapping[str, Any], said: str) -> dict[str, int]:
    """Return rough token counts, at four characters per token."""
    asked = len(json.dumps(body.get("messages"), ensure_ascii=False)) // 4
    told = max(1, len(said) // 4)
    return {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = body.get("messages")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, demo: DemoServer) -> None:
        self.demo = demo
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # The parent looks up the full name of this machine, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
        except ValueError:
            body = None
        if isinstance(body, dict):
            self._answer(body)
        else:
            Exchange(self, self.path, {}).refuse(400, "The request is not JSON")

    def _answer(self, body: dict[str, Any]) -> None:
        demo = self.server.demo
        if body:
            demo.requests.append(body)
        try:
            demo.respond(Exchange(self, self.path, body))
            self.wfile.flush()
        except _GONE:
            self.close_connection = True
            demo.left.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        """Print nothing, because a screen is open."""
