"""Talks to a model over the OpenAI protocol, which nearly every server speaks.

Calls block, so they belong in a worker thread. Each runs its own event loop, so that a request
can be cancelled at any moment, even while nothing arrives, and its connection closed. The client
library is loaded when a chat starts, not before.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from hermes_store.records.safe_text import clean, storable
from hermes_tui.chat.endpoint_settings import Endpoint, endpoint, environment, not_an_address
from hermes_tui.chat.error_translation import garbled, timed_out, translated, unreachable
from hermes_tui.chat.errors import (
    BadAnswer,
    ChatError,
    NoKey,
    NotAuthorised,
    NotReady,
    RateLimited,
    ServerTrouble,
    TimedOut,
    TooLong,
    UnknownModel,
    Unreachable,
)
from hermes_tui.chat.streamed_reply import Assembly, Delta, Reply, ToolCall, Usage

if TYPE_CHECKING:
    import openai

__all__ = [
    "BadAnswer",
    "ChatError",
    "Delta",
    "Endpoint",
    "NoKey",
    "NotAuthorised",
    "NotReady",
    "Provider",
    "RateLimited",
    "Reply",
    "ServerTrouble",
    "TimedOut",
    "TooLong",
    "ToolCall",
    "UnknownModel",
    "Unreachable",
    "Usage",
    "endpoint",
    "environment",
    "require_client",
]

log = logging.getLogger("hermes_tui.provider")

Result = TypeVar("Result")
Cancelled = Callable[[], bool]

CONNECT_SECONDS = 10.0
AUXILIARY_SECONDS = 60.0
AUXILIARY_TOKENS = 2_000
CLOSE_SECONDS = 2.0
POLL_SECONDS = 0.02
"""How long stopping an answer takes at most."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
# Part of the protocol, but some servers refuse them; an answer without them is better than none.
_DISPENSABLE = ("stream_options", "max_tokens")


def require_client() -> None:
    """Raise NotReady unless the client library is installed."""
    # Only searched for, because loading it takes half a second.
    if find_spec("openai") is None:
        raise NotReady(
            "The chat needs the package openai. Install it with "
            "\"pip install 'hermes-sessions[chat]'\"."
        )


class Provider:
    """One server and its models. Safe to share between threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        require_client()
        self.endpoint = endpoint
        self._closed = threading.Event()

    def prepare(self) -> None:
        """Load the client library ahead of the first request."""
        import openai  # noqa: F401

        # Below this level they log every request with its messages.
        for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)

    def close(self) -> None:
        """Cancel all running requests and refuse further ones."""
        self._closed.set()

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        on_delta: Callable[[Delta], None],
        cancelled: Cancelled,
    ) -> Reply:
        """Ask for an answer, pass on its pieces as they arrive, and return all of it.

        As soon as `cancelled` returns true, the answer ends and the part so far is returned.
        `on_delta` runs in the calling thread. A ChatError has the part so far in `partial`.
        """
        request: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": [_sendable(dict(message)) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            request["tools"] = [dict(tool) for tool in tools]
        assembly = Assembly(self.endpoint.model)
        try:
            whole = self._run(self._streamed(request, assembly, on_delta, cancelled), cancelled)
        except ChatError as error:
            error.partial = assembly.reply() if assembly.begun else None
            raise
        return whole or assembly.reply(stopped=True)

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        max_tokens: int = AUXILIARY_TOKENS,
        seconds: float = AUXILIARY_SECONDS,
        cancelled: Cancelled = lambda: False,
    ) -> str:
        """Return an answer in one piece, by default from the auxiliary model."""
        request: dict[str, Any] = {
            "model": model or self.endpoint.auxiliary_model,
            "messages": [_sendable(dict(message)) for message in messages],
            "max_tokens": max_tokens,
        }
        text = self._run(self._completed(request, seconds), cancelled)
        if text is None:
            raise ChatError("The request was cancelled before the answer arrived.")
        return text

    # -- inside the event loop -------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, Result], cancelled: Cancelled) -> Result | None:
        """Run work in its own event loop; None if it was cancelled."""
        if self._closed.is_set():
            work.close()
            raise ChatError(f"The chat with {self.endpoint.place} is closed. Start a new one.")
        # Before the clock starts, so that a slow disk does not count as a slow server.
        self.prepare()
        # Not asyncio.run, which waits for threads; one of them may hang in a name lookup.
        loop = asyncio.new_event_loop()
        # The default handler prints across the screen, and a message may quote what was sent.
        loop.set_exception_handler(lambda _, __: log.debug("The client left an error behind."))
        try:
            return loop.run_until_complete(
                _watched(work, lambda: self._closed.is_set() or cancelled())
            )
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _streamed(
        self,
        request: dict[str, Any],
        assembly: Assembly,
        on_delta: Callable[[Delta], None],
        cancelled: Cancelled,
    ) -> Reply:
        async def attempt(limit: asyncio.Timeout) -> Reply:
            async with self._client(request["model"]) as client:
                opened = await client.chat.completions.create(**request)
                # From here on the client itself times out on silence.
                limit.reschedule(None)
                # Closed here, because the end of the loop would close the layers of the stream
                # in any order.
                async with opened:
                    async for piece in self._pieces(opened):
                        delta = assembly.add(piece)
                        if delta is not None:
                            on_delta(delta)
                        if cancelled():
                            raise asyncio.CancelledError
                self._refuse_fragment(opened, assembly)
            return assembly.reply()

        return await self._persistently(
            attempt, request, self.endpoint.timeout, lambda: assembly.begun
        )

    async def _completed(self, request: dict[str, Any], seconds: float) -> str:
        async def attempt(limit: asyncio.Timeout) -> str:
            async with self._client(request["model"]) as client:
                try:
                    answer = await client.chat.completions.create(**request)
                except (ValueError, RecursionError) as error:
                    raise garbled(self.endpoint) from error
            choices = getattr(answer, "choices", None)
            if not isinstance(choices, list) or not choices:
                raise garbled(self.endpoint)
            text = getattr(getattr(choices[0], "message", None), "content", None)
            return text if isinstance(text, str) else ""

        return await self._persistently(attempt, request, seconds, lambda: False)

    async def _persistently(
        self,
        attempt: Callable[[asyncio.Timeout], Coroutine[Any, Any, Result]],
        request: dict[str, Any],
        seconds: float,
        begun: Callable[[], bool],
    ) -> Result:
        """Retry until it works, the error is permanent, or the time is up.

        An answer that has begun is never retried, because it would be shown twice.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        seen: ChatError | None = None
        for number in itertools.count():
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    return await attempt(limit)
            except TimeoutError as error:
                # The error of an earlier attempt says more than a timeout.
                raise seen or timed_out(self.endpoint, seconds) from error
            except ChatError as error:
                if begun():
                    raise
                if _lessened(request, error):
                    continue
                pause = _pause(error, number)
                late = loop.time() + pause >= deadline
                if not error.passing or number >= self.endpoint.retries or late:
                    raise
                seen = error
                await asyncio.sleep(pause)
        raise AssertionError("counting has no end")

    @asynccontextmanager
    async def _client(self, model: str) -> AsyncIterator[openai.AsyncOpenAI]:
        """Yield a client for one request, and translate its errors."""
        import openai

        where = self.endpoint
        async with _made(where) as client:
            try:
                yield client
            except openai.OpenAIError as error:
                raise translated(error, where, model) from error
            except ConnectionError as error:
                raise unreachable(error, where) from error

    async def _pieces(self, opened: Any) -> AsyncIterator[Any]:
        """Yield the pieces of a stream; raise BadAnswer for one that cannot be parsed."""
        pieces = aiter(opened)
        while True:
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except (ValueError, RecursionError) as error:
                raise garbled(self.endpoint) from error
            yield piece

    def _refuse_fragment(self, opened: Any, assembly: Assembly) -> None:
        """Raise BadAnswer for a stream that ended cleanly, but without a finish reason."""
        if assembly.finish_reason:
            return
        if assembly.begun:
            raise BadAnswer(f"The answer from {self.endpoint.place} broke off. Try again.")
        kind = str(opened.response.headers.get("content-type") or "nothing").partition(";")[0]
        raise BadAnswer(
            f"{self.endpoint.place} sent {clean(kind)} instead of an answer. Check model.base_url "
            "in config.yaml; it often ends in /v1."
        )


def _made(where: Endpoint) -> openai.AsyncOpenAI:
    import openai

    try:
        return openai.AsyncOpenAI(
            api_key=where.key,
            base_url=where.base_url,
            timeout=openai.Timeout(where.timeout, connect=min(CONNECT_SECONDS, where.timeout)),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"request": [_only_to(where.base_url)]}
            ),
        )
    except Exception as error:
        # Known by its name, because versions of the client differ in where it comes from.
        if type(error).__name__ != "InvalidURL":
            raise
        raise not_an_address(where.base_url) from error


def _only_to(base_url: str) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Return a check of each request, which refuses to follow a server to another host."""
    host = urlsplit(base_url).hostname

    async def check(request: Any) -> None:
        if request.url.host != host:
            raise ConnectionError(
                f"it sends requests on to {clean(request.url.host)}, which model.base_url does "
                "not name"
            )

    return check


async def _watched(work: Coroutine[Any, Any, Result], cancelled: Cancelled) -> Result | None:
    """Wait for work, and cancel it as soon as asked."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            if cancelled():
                return None
            await asyncio.wait({task}, timeout=POLL_SECONDS)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not report it later
    return None if task.cancelled() else task.result()


def _pause(error: ChatError, number: int) -> float:
    """Return the pause before the next attempt: longer each time, with some jitter."""
    if error.retry_after is not None:
        return error.retry_after
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**number) * random.uniform(0.75, 1.25)


def _lessened(request: dict[str, Any], error: ChatError) -> bool:
    """Remove from a request what the server refused by name; return whether there was any."""
    if type(error) is not ChatError:
        return False
    refused = [name for name in _DISPENSABLE if name in request and name in str(error)]
    for name in refused:
        del request[name]
    return bool(refused)


def _sendable(value: Any) -> Any:
    """Return a message without lone surrogates, which cannot be sent."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    return [_sendable(each) for each in value] if isinstance(value, list) else value
