"""How fast the gateway routes messages: 10,000 for 500 keys, with and without saving them."""

from __future__ import annotations

import random
import time
from pathlib import Path

from hermes_store import Store
from hermes_store.gateway import MessageSource, SessionRouter

MESSAGES = 10_000
KEYS = 500


def _sources() -> list[MessageSource]:
    kinds = (("telegram", "dm"), ("discord", "group"), ("slack", "channel"))
    return [
        MessageSource(
            platform=kinds[number % 3][0],
            chat_type=kinds[number % 3][1],
            chat_id=f"chat{number}",
            user_id=f"user{number}",
        )
        for number in range(KEYS)
    ]


def measure(folder: Path) -> None:
    """Print how fast sessions start, messages are routed, and messages are routed and saved."""
    draw = random.Random(1)
    sources = _sources()
    with Store(folder / "gateway" / "state.db") as store:
        router = SessionRouter(store)
        started = time.perf_counter()
        for source in sources:
            router.incoming(source, "hello")
        _row(f"{KEYS} new keys", KEYS, time.perf_counter() - started)
        order = [draw.choice(sources) for _ in range(MESSAGES)]
        started = time.perf_counter()
        for source in order:
            router.incoming(source, "hello again")
        _row(f"{MESSAGES:,} messages, {KEYS} keys", MESSAGES, time.perf_counter() - started)
        started = time.perf_counter()
        for source in order[: MESSAGES // 10]:
            router.save(router.incoming(source, "hello"), "user", "hello")
        _row("  with saving each, full", MESSAGES // 10, time.perf_counter() - started)


def _row(name: str, number: int, seconds: float) -> None:
    print(f"{'gateway: ' + name:<40} {number / seconds:>12,.0f} /s", flush=True)
