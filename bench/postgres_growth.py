"""How the cost of PostgreSQL grows: one store of 10,000, 100,000 and 1,000,000 messages.

    python -m bench.postgres_growth

The figures of docs/scale.md. Real text, queries drawn by seed from the newest and the oldest
messages, milliseconds as medians. Filling and indexing a million messages takes a quarter of an
hour.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from bench import postgres, real_text
from hermes_store import Store
from hermes_store.engines.postgres.transaction import PostgresTransaction
from hermes_store.records.listing import View
from hermes_store.records.search import Request

SIZES = (10_000, 100_000, 1_000_000)
DRAWN, REPEATS, APPENDED = 15, 3, 500
GROUP = 5_000
_SESSION = ("id", "source", "model", "title", "system_prompt", "started_at", "ended_at",
            "message_count")  # fmt: skip
_MESSAGE = ("session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp")
_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
_PATH = re.compile(r"/?(?:[A-Za-z][A-Za-z0-9]+[/._-]){2,4}[A-Za-z0-9]{2,}")


def sessions(number: int) -> Iterator[real_text.Session]:
    """Return sessions with about so many messages, the newest last."""
    return iter(real_text.sessions(real_text.Scale("growth", number // 70, number), 1))


def fill(hub: Store, made: Iterable[real_text.Session]) -> int:
    """Write sessions in large transactions; return the number of messages."""
    written = 0
    waiting: list[real_text.Session] = []
    for each in made:
        waiting.append(each)
        if sum(len(session.messages) for session in waiting) >= GROUP:
            written += _write(hub, waiting)
            waiting = []
    return written + _write(hub, waiting)


def _write(hub: Store, made: list[real_text.Session]) -> int:
    rows = [
        (each.id, each.source, each.model, each.title, each.system_prompt, each.started_at,
         each.ended_at, len(each.messages))
        for each in made
    ]  # fmt: skip
    said = [
        (each.id, m.role, m.content, m.tool_call_id, m.tool_calls, m.tool_name, m.timestamp)
        for each in made
        for m in each.messages
    ]
    with hub.database.write() as tx:
        assert isinstance(tx, PostgresTransaction)
        for table, names, values in (("sessions", _SESSION, rows), ("messages", _MESSAGE, said)):
            places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
            sql = f"INSERT INTO {table}({', '.join(names)}) VALUES ({places})"
            tx.connection.cursor().executemany(sql, values)
    return len(said)


def _texts(hub: Store) -> list[str]:
    """Return some messages: a third of the newest, a third of the oldest, a third of all."""
    with hub.database.read() as tx:
        last = tx.value("SELECT MAX(id) FROM messages")
        draw = random.Random(1)
        places = [draw.randint(max(1, last - 2_000), last) for _ in range(200)]
        places += [draw.randint(1, 2_000) for _ in range(200)]
        places += [draw.randint(1, last) for _ in range(200)]
        rows = tx.rows("SELECT content FROM messages WHERE id = ANY(?)", (places,))
        return [text or "" for (text,) in rows]


def queries(hub: Store) -> dict[str, list[str]]:
    """Draw queries of each class from messages."""
    texts = _texts(hub)
    draw = random.Random(2)
    words = [word for text in texts for word in _WORD.findall(text)]
    paths = [path[:60] for text in texts for path in _PATH.findall(text)]
    east = [run for text in texts for run in re.findall("[\u4e00-\u9fff]{4,}", text)]
    word, pick = partial(draw.choice, words), draw.choice
    made: dict[str, Callable[[], str]] = {
        "a word": word,
        "two words": lambda: f"{word()} {word()}",
        "an absent word": lambda: word()[:4] + "qx" + word()[-4:],
        "a part of a word": lambda: word()[1:-1],
        "a path": lambda: pick(paths),
        "two Chinese characters": lambda: pick(east)[:2],
    }
    return {kind: [make() for _ in range(DRAWN)] for kind, make in made.items()}


def _median(works: Iterable[Callable[[], object]]) -> tuple[float, float]:
    """Return the median and the worst of some works, in milliseconds."""
    took = []
    for work in works:
        took.append(statistics.median(postgres.milliseconds(work) for _ in range(REPEATS)))
    return statistics.median(took), max(took)


def measure(hub: Store) -> None:
    """Print how long searches, lists and appending take."""
    for kind, texts in queries(hub).items():
        middle, worst = _median(partial(hub.search.run, Request(each, limit=20)) for each in texts)
        print(f"  {kind:<26} {middle:8.1f} ms, worst {worst:8.1f}")
    with hub.database.read() as tx:
        roots = [row[0] for row in tx.rows("SELECT id FROM sessions ORDER BY started_at DESC")]
    middle, _ = _median([partial(_list, hub)])
    print(f"  {'list, 20 rows':<26} {middle:8.1f} ms")
    begin = time.perf_counter()
    for number in range(APPENDED):
        hub.messages.append(roots[0], {"role": "user", "content": f"message {number} is added"})
    took = (time.perf_counter() - begin) * 1_000 / APPENDED
    print(f"  {'adding a message':<26} {took:8.2f} ms")


def _list(hub: Store) -> None:
    now = time.time()
    entries = list(hub.lists.entries(View(limit=20), now=now))
    hub.lists.rows([each for each in entries if isinstance(each, str)], now=now)


def main() -> None:
    """Fill a store step by step, and measure at each size."""
    parser = argparse.ArgumentParser(prog="python -m bench.postgres_growth", description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    options = parser.parse_args()
    with postgres.server() as base, postgres.schema(base) as address, Store(address) as hub:
        made, written = sessions(options.most), 0
        for size in (each for each in SIZES if each <= options.most):
            begin = time.perf_counter()
            while written < size and (more := fill(hub, islice(made, 50))):
                written += more
            while not hub.search.prepare():
                time.sleep(0.2)
            hub.upkeep.optimize()
            took = time.perf_counter() - begin
            stored = hub.upkeep.statistics().database_bytes / 1e6
            print(f"{written:,} messages, {stored:,.0f} MB, {took:.0f} s", flush=True)
            measure(hub)


if __name__ == "__main__":
    main()
