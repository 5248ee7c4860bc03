"""Translates errors of the client library into errors of this project.

Servers agree on the status codes and on little else, so the error text is examined, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from hermes_store.records.safe_text import clean, one_line, shorten
from hermes_tui.chat import errors
from hermes_tui.chat.endpoint_settings import Endpoint
from hermes_tui.chat.errors import ChatError

if TYPE_CHECKING:
    import openai

_WORDS = 200
_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many tokens|reduce the length",
    re.I,
)
_NO_MODEL = re.compile(
    r"model_not_found|not a valid model|(model\b.{0,80}(not found|does not exist|not exist"
    r"|not supported|unknown))|((unknown|invalid|no such) model)",
    re.I | re.S,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient credit|billing|exceeded your .{0,10}quota", re.I
)


def translated(error: openai.OpenAIError, endpoint: Endpoint, model: str) -> ChatError:
    """Return the ChatError for an error of the client library."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return timed_out(endpoint)
    if isinstance(error, openai.APIConnectionError):
        return unreachable(error.__cause__ or error, endpoint)
    words = _words(error, endpoint)
    if isinstance(error, openai.APIStatusError):
        waiting = _retry_after(error.response.headers)
        return _refused(error.status_code, words, endpoint, model, waiting)
    # An error within a stream has no status, but often a status as its code.
    code = getattr(error, "code", None)
    status = int(code) if isinstance(code, str) and code.isdecimal() else 0
    if 400 <= status < 600 or _TOO_LONG.search(words) or _NO_MODEL.search(words):
        return _refused(status, words, endpoint, model, None)
    return errors.BadAnswer(f"{endpoint.place} broke off the answer: {words}. Try again.")


def timed_out(endpoint: Endpoint, seconds: float | None = None) -> errors.TimedOut:
    """Return the error for a server that does not respond."""
    waited = endpoint.timeout if seconds is None else seconds
    unit = "second" if waited == 1 else "seconds"
    return errors.TimedOut(
        f"{endpoint.place} did not respond for {waited:g} {unit}. Try again, or raise "
        "model.timeout in config.yaml."
    )


def unreachable(cause: BaseException, endpoint: Endpoint) -> ChatError:
    """Tell a failed connection from a broken one, by the name of the cause."""
    reason = _shown(str(cause), endpoint) or type(cause).__name__
    if type(cause).__name__ == "DecodingError":
        return garbled(endpoint)
    if type(cause).__name__ in ("ReadError", "RemoteProtocolError", "EndOfStream", "WriteError"):
        return errors.Dropped(
            f"The connection to {endpoint.place} broke off: {reason}. Try again; if it keeps "
            "happening, check model.base_url in config.yaml."
        )
    return errors.Unreachable(
        f"{endpoint.place} cannot be reached: {reason}. Check the network and model.base_url in "
        "config.yaml."
    )


def garbled(endpoint: Endpoint) -> errors.BadAnswer:
    """Return the error for a malformed answer."""
    return errors.BadAnswer(
        f"{endpoint.place} sent an invalid answer. Try again; if it keeps "
        "happening, check model.base_url in config.yaml."
    )


def _refused(
    status: int, words: str, endpoint: Endpoint, model: str, waiting: float | None
) -> ChatError:
    place, number = endpoint.place, f" ({status})" if status else ""
    if status in (0, 400, 413, 422) and _TOO_LONG.search(words):
        return errors.TooLong(
            f"The conversation is too long for {model}: {words}. Shorten it with /compress, "
            "or start a new one with /new."
        )
    if status == 404 or (status in (0, 400, 403, 422) and _NO_MODEL.search(words)):
        return errors.UnknownModel(
            f"{place} has no model '{model}'{number}: {words}. Check model.default and "
            "model.base_url in config.yaml."
        )
    if status in (401, 403):
        return errors.NotAuthorised(
            f"{place} rejected the key{number}: {words}. Check the key and its permissions."
        )
    if status == 402 or (status == 429 and _NO_CREDIT.search(words)):
        return OutOfCredit(f"The account at {place} is out of credit{number}: {words}. Add some.")
    if status == 429:
        when = "in a moment" if waiting is None else f"in {max(1, round(waiting))} seconds"
        return errors.RateLimited(
            f"{place} received too many requests{number}: {words}. Try again {when}.",
            retry_after=waiting,
        )
    if status >= 500 or status == 408:
        return errors.ServerTrouble(
            f"{place} failed{number}: {words}. Try again later.", retry_after=waiting
        )
    return ChatError(
        f"{place} refused the request{number}: {words}. Check the model section of config.yaml."
    )


class OutOfCredit(errors.RateLimited):
    """No credit left; waiting does not help."""

    passing = False


def _words(error: openai.OpenAIError, endpoint: Endpoint) -> str:
    """Return the error text of a server, with its code, if any."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, Mapping) else None
    if not isinstance(said, str) and isinstance(body, Mapping):
        said = body.get("error") or body.get("detail")
    code = getattr(error, "code", None)
    words = said if isinstance(said, str) and said else getattr(error, "message", "")
    if isinstance(code, str) and not code.isdecimal() and code not in words:
        words = f"{words} ({code})"
    return _shown(words, endpoint) or "no reason given"


def _shown(words: str, endpoint: Endpoint) -> str:
    """Return the text of a server as one short line without the key."""
    line = one_line(clean(words.replace(endpoint.key, "…")))
    return shorten(line, _WORDS).rstrip(".")


def _retry_after(headers: Any) -> float | None:
    """Return how many seconds a server asks to wait; the header may hold a date instead."""
    text = str(headers.get("retry-after") or "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, moment - time.time())
