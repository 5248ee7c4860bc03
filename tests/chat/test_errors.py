"""Everything that goes wrong is one sentence of the right kind, and passing trouble passes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from hermes_store.errors import StoreError
from hermes_tui.chat.errors import Dropped
from hermes_tui.chat.provider import (
    BadAnswer,
    ChatError,
    NotAuthorised,
    NotReady,
    Provider,
    RateLimited,
    ServerTrouble,
    TimedOut,
    TooLong,
    UnknownModel,
    Unreachable,
)
from hermes_tui.demo.model_server import Exchange
from tests.chat.misbehaving_servers import (
    KEY,
    WAIT,
    Behaviour,
    Talk,
    TroubleServer,
    breaks_off,
    chunk,
    endpoint_at,
    falls_silent,
    hangs,
    hangs_up,
    refuses,
    sends,
    shows_a_page,
    speaks_gibberish,
    stalls,
)

HALF = chunk({"content": "Half an ans"})
LIMIT = "This model's maximum context length is 8192 tokens, your messages have 9000"

CASES: list[tuple[Behaviour, type[ChatError], str, int]] = [
    (refuses(401, f"Incorrect API key provided: {KEY}"), NotAuthorised, "rejected the key", 1),
    (refuses(403, "Not in your country"), NotAuthorised, "Not in your country", 1),
    (refuses(404, "The model `x` does not exist", "model_not_found"), UnknownModel, "model_not", 1),
    (refuses(404, "Not Found"), UnknownModel, "model.base_url", 1),
    (refuses(400, "foo is not a valid model ID"), UnknownModel, "some-model", 1),
    (refuses(400, LIMIT, "context_length_exceeded"), TooLong, "/compress", 1),
    (refuses(413, "Prompt is too long"), TooLong, "/compress", 1),
    (refuses(400, "temperature must be 1"), ChatError, "temperature must be 1", 1),
    (refuses(402, "Insufficient credits"), RateLimited, "out of credit", 1),
    (
        refuses(429, "You exceeded your quota", "insufficient_quota"),
        RateLimited,
        "out of credit",
        1,
    ),
    (refuses(429, "Slow down"), RateLimited, "too many requests", 3),
    (refuses(429, "Slow down", Retry_After="3600"), RateLimited, "in 3600 seconds", 1),
    (refuses(500, "Oops"), ServerTrouble, "Oops", 3),
    (refuses(503, "Overloaded"), ServerTrouble, "Overloaded", 3),
    (hangs_up, Dropped, "broke off", 3),
    (speaks_gibberish, BadAnswer, "broke off", 3),
    (
        refuses(307, "Elsewhere", Location="http://elsewhere.invalid/v1"),
        Unreachable,
        "sends requests on to elsewhere.invalid, which model.base_url does not name",
        3,
    ),
    (shows_a_page, BadAnswer, "sent text/html instead of an answer", 1),
    (sends(b"\xff\xfe\xff\n\n"), BadAnswer, "sent an invalid answer", 1),
    (sends(b"data: {not json\n\n"), BadAnswer, "sent an invalid answer", 1),
    (sends(done=False), BadAnswer, "broke off", 3),
    (sends({"error": {"message": "Overloaded", "code": 502}}), ServerTrouble, "Overloaded", 3),
    (sends({"error": {"message": LIMIT, "code": None}}), TooLong, "/compress", 1),
    (sends({"error": {"message": "Whatever"}}), BadAnswer, "Whatever", 1),
]


@pytest.mark.parametrize(("behaviour", "kind", "words", "tries"), CASES)
def test_trouble_before_the_answer(
    behaviour: Behaviour, kind: type[ChatError], words: str, tries: int
) -> None:
    with TroubleServer(behaviour) as server:
        talk = Talk(server)
        with pytest.raises(ChatError) as caught:
            talk.ask()
        assert server.asked == tries
    sentence = str(caught.value)
    assert isinstance(caught.value, kind) and isinstance(caught.value, StoreError)
    assert words in sentence
    assert sentence.endswith(".") and "\n" not in sentence and "\x1b" not in sentence
    assert KEY not in sentence
    assert caught.value.partial is None or caught.value.partial.text == ""
    assert talk.deltas == []


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (breaks_off, BadAnswer),
        (sends(HALF, b"data: {not json\n\n"), BadAnswer),
        (sends(HALF, b"data: \xff\xfe\n\n"), BadAnswer),
        (sends(HALF, {"error": {"message": "Whatever"}}), BadAnswer),
        (sends(HALF, {"error": {"message": "Overloaded", "code": 502}}), ServerTrouble),
        (sends(HALF, {"error": {"message": "Slow down", "code": 429}}), RateLimited),
    ],
)
def test_trouble_after_the_beginning_keeps_what_came_and_asks_no_more(
    behaviour: Behaviour, kind: type[ChatError]
) -> None:
    with TroubleServer(behaviour) as server:
        talk = Talk(server)
        with pytest.raises(kind) as caught:
            talk.ask()
        assert server.asked == 1
    assert talk.shown == "Half an ans"
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Half an ans"
    assert not caught.value.partial.stopped


@pytest.mark.parametrize(
    "behaviour",
    [
        refuses(429, "Slow down", Retry_After="0"),
        refuses(429, "Slow down", Retry_After=formatdate(0)),
        refuses(429, "Slow down", Retry_After="soon"),
        refuses(500),
        refuses(502),
        hangs_up,
        sends(done=False),
    ],
)
def test_passing_trouble_passes(behaviour: Behaviour) -> None:
    with TroubleServer(behaviour, times=2) as server:
        talk = Talk(server)
        reply = talk.ask()
        assert server.asked == 3
    assert reply.text == talk.shown != ""


def test_a_server_says_when_to_ask_again() -> None:
    slow = refuses(429, "Slow down", Retry_After="77")
    with TroubleServer(slow) as server, pytest.raises(RateLimited) as caught:
        Talk(server).ask()
    assert caught.value.retry_after == 77


def test_no_retries_are_none() -> None:
    with TroubleServer(refuses(500)) as server:
        with pytest.raises(ServerTrouble):
            Talk(server, retries=0).ask()
        assert server.asked == 1


@pytest.fixture
def nobody() -> Iterator[int]:
    """A port that nobody listens on, held so that nobody can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_nobody_there(nobody: int) -> None:
    provider = Provider(endpoint_at(f"http://127.0.0.1:{nobody}/v1"))
    with pytest.raises(Unreachable, match=f"127.0.0.1:{nobody} cannot be reached"):
        provider.stream([], on_delta=lambda _: None, cancelled=lambda: False)
    with pytest.raises(Unreachable):
        provider.complete([])


def test_an_address_that_the_client_refuses() -> None:
    provider = Provider(endpoint_at("http://☃.invalid/v1"))
    with pytest.raises(NotReady, match=r"model\.base_url is 'http://☃\.invalid/v1'"):
        provider.stream([], on_delta=lambda _: None, cancelled=lambda: False)
    with pytest.raises(NotReady):
        provider.complete([])


def test_no_such_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find_nothing)
    provider = Provider(endpoint_at("http://no-such-host.invalid/v1", retries=0))
    with pytest.raises(Unreachable, match=r"no-such-host\.invalid cannot be reached"):
        provider.stream([], on_delta=lambda _: None, cancelled=lambda: False)


def test_a_server_that_wants_no_encryption() -> None:
    with TroubleServer(hangs_up) as server:
        url = server.base_url.replace("http:", "https:")
        provider = Provider(endpoint_at(url, retries=0))
        with pytest.raises((Unreachable, BadAnswer)):
            provider.stream([], on_delta=lambda _: None, cancelled=lambda: False)


@pytest.mark.parametrize("behaviour", [hangs, falls_silent])
def test_silence_has_an_end(behaviour: Behaviour) -> None:
    with TroubleServer(behaviour) as server:
        talk = Talk(server, timeout=5)
        with pytest.raises(TimedOut, match=r"5 seconds.*model\.timeout") as caught:
            talk.ask()
        assert server.asked <= 1
    assert (caught.value.partial is None) == (behaviour is hangs)
    assert talk.shown == ("" if behaviour is hangs else "Half an ans")


def test_all_tries_together_have_an_end() -> None:
    with TroubleServer(refuses(429, "Slow down", Retry_After="0.1")) as server:
        with pytest.raises(RateLimited):
            Talk(server, timeout=6, retries=1000).ask()
        assert 1 < server.asked < 1000


def test_a_slow_answer_is_waited_for() -> None:
    """The limit is for silence; an answer as a whole may take longer."""

    def behave(server: TroubleServer, exchange: Exchange) -> None:
        exchange.begin_stream()
        for _ in range(12):
            server.closing.wait(0.6)
            exchange.event(chunk({"content": "x"}))
        exchange.event(chunk({}, "stop"))
        exchange.end_stream()

    with TroubleServer(behave) as server:
        assert Talk(server, timeout=6).ask().text == "x" * 12


# -- giving up ---------------------------------------------------------------------------------


class Stop:
    """Says stop once something has happened."""

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self.looked = 0

    def __call__(self) -> bool:
        self.looked += 1
        return self.wanted.is_set()


@pytest.mark.parametrize(
    "behaviour", [hangs, refuses(429, "Slow down", Retry_After="10"), stalls, falls_silent]
)
def test_an_answer_can_be_stopped_at_any_time(behaviour: Behaviour) -> None:
    with TroubleServer(behaviour) as server:
        talk, stop = Talk(server), Stop()

        def stop_when_asked() -> bool:
            waits = server.asked and (talk.deltas or behaviour not in (stalls, falls_silent))
            if waits and stop.looked > 10:
                stop.wanted.set()
            return stop()

        reply = talk.ask(cancelled=stop_when_asked)
    assert reply.stopped
    assert reply.text == talk.shown
    assert server.asked == 1


def test_a_stopped_answer_hangs_up() -> None:
    with TroubleServer(stalls) as server:
        talk = Talk(server)
        assert talk.ask(cancelled=lambda: bool(talk.deltas)).text == "Half an ans"
        assert server.left.wait(WAIT)


def test_nothing_is_shown_after_the_stop() -> None:
    with TroubleServer(sends(*[HALF] * 500, chunk({}, "stop"))) as server:
        talk = Talk(server)
        reply = talk.ask(cancelled=lambda: len(talk.deltas) >= 3)
    assert len(talk.deltas) == 3
    assert reply.stopped
    assert reply.text == "Half an ans" * 3


def test_stopped_before_it_began() -> None:
    with TroubleServer(hangs) as server:
        reply = Talk(server).ask(cancelled=lambda: True)
    assert (reply.stopped, reply.text, reply.finish_reason) == (True, "", None)


def test_closing_ends_what_is_under_way() -> None:
    with TroubleServer(stalls) as server:
        talk = Talk(server)
        closer = threading.Thread(target=_close_when_begun, args=(talk,))
        closer.start()
        reply = talk.ask()
        closer.join()
        assert reply.stopped and reply.text == "Half an ans"
        with pytest.raises(ChatError, match="closed"):
            talk.ask()


def _close_when_begun(talk: Talk) -> None:
    waiting = threading.Event()
    while not talk.deltas:
        waiting.wait(0.01)
    talk.provider.close()


def test_a_whole_answer_can_be_given_up() -> None:
    with TroubleServer(hangs) as server:
        provider = Provider(endpoint_at(server.base_url))
        with pytest.raises(ChatError, match="cancelled"):
            provider.complete([], cancelled=lambda: server.asked > 0)


# -- answers in one piece ----------------------------------------------------------------------


def test_a_whole_answer_is_the_auxiliary_models() -> None:
    with TroubleServer(refuses(503), times=1) as server:
        provider = Provider(endpoint_at(server.base_url))
        messages = [{"role": "user", "content": "hello"}]
        assert "demonstration" in provider.complete(messages)
        assert "demonstration" in provider.complete(messages, model="another", max_tokens=7)
    assert [each["model"] for each in server.requests] == ["small-model"] * 2 + ["another"]
    assert server.requests[-1]["max_tokens"] == 7


def test_a_whole_answer_has_its_own_time() -> None:
    with TroubleServer(hangs) as server, pytest.raises(TimedOut, match=r"0\.2 seconds"):
        Provider(endpoint_at(server.base_url)).complete([], seconds=0.2)


def test_a_server_with_another_name_for_the_limit() -> None:
    def behave(server: TroubleServer, exchange: Exchange) -> None:
        if "max_tokens" in exchange.body:
            exchange.refuse(400, "Use 'max_completion_tokens' instead of 'max_tokens'")
        else:
            message = {"role": "assistant", "content": "Yes"}
            exchange.send_json(200, {"choices": [{"index": 0, "message": message}]})

    with TroubleServer(behave) as server:
        assert Provider(endpoint_at(server.base_url)).complete([]) == "Yes"


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"null", b'"text"', b'{"choices": []}', b'{"choices": 5}', b"\xff",
     b'{"choices": [5]}', b'{"choices": [{"message": null}]}', b"[" * 100_000],
    ids=range(11),
)  # fmt: skip
def test_a_whole_answer_that_is_none(payload: bytes) -> None:
    def behave(_: TroubleServer, exchange: Exchange) -> None:
        exchange.send(200, payload)

    with TroubleServer(behave) as server:
        try:
            answer = Provider(endpoint_at(server.base_url)).complete([])
        except ChatError as error:
            assert isinstance(error, BadAnswer)
        else:
            assert answer == ""
