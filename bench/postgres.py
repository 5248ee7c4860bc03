"""`make bench-postgres`: this store on PostgreSQL and on SQLite, the same corpus, in one run.

The server is a throw-away one with fsync on, or that of HERMES_TEST_DATABASE_URL. All figures are
for one machine: clients and server share its cores. Compare ratios, not milliseconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench.corpus import NOW, SCALES, Scale
from bench.sample_sessions import fill
from hermes_store import SessionDB, Store
from hermes_store.records.listing import View
from hermes_store.records.search import Request
from tests import postgres

REPEATS = 9
TURN = 250
SEARCHES = {
    "a common word": "the",
    "a frequent word": "error",
    "a rare word": "walrus",
    "an absent word": "zebrafishing",
    "two words": "error deploy",
    "a word and not another": "error -deploy",
    "a phrase": '"the first"',
    "an absent phrase": '"first the"',
    "a beginning": "deplo*",
    "a part of a word": "eploymen",
    "a path": "/srv/app",
    "an e-mail address": "me@example.com",
    "two Chinese characters": "部署",
    "one Chinese character": "部",
    "signs": "=>",
    "a field alone": "source:telegram",
}


def _row(name: str, both: Sequence[float], unit: str, *, more_is_better: bool = False) -> None:
    sqlite, server = both
    ratio = server / sqlite if sqlite else 0.0
    good = "x of SQLite" if more_is_better else "x as long"
    figures = f"{sqlite:>12,.2f} {server:>12,.2f} {unit:<6} {ratio:>7.2f}"
    print(f"{name:<28} {figures} {good}", flush=True)


def _median(work: Callable[[], object]) -> float:
    took = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        took.append((time.perf_counter() - begin) * 1000)
    return statistics.median(took)


def _load(places: Sequence[Path | str], scale: Scale) -> None:
    took, sizes = [], []
    for place in places:
        with Store(place) as store:
            begin = time.perf_counter()
            fill(store.database, scale.sessions, now=NOW, exchanges=scale.exchanges)
            took.append(time.perf_counter() - begin)
            store.search.prepare()
            store.upkeep.optimize()
            sizes.append(store.upkeep.statistics().database_bytes / 1e6)
            counted = store.upkeep.statistics()
    print(f"{scale.name}: {counted.sessions:,} sessions, {counted.messages:,} messages")
    print(f"{'':<28} {'SQLite':>12} {'PostgreSQL':>12}")
    _row("load", took, "s")
    _row("size", sizes, "MB")


def _search_and_list(places: Sequence[Path | str]) -> None:
    stores = [Store(place, read_only=True) for place in places]
    for name, text in SEARCHES.items():
        request = Request(text, limit=20)
        for store in stores:
            store.search.run(request)
        _row(name, [_median(partial(store.search.run, request)) for store in stores], "ms")
    for name, view in (("list, 20 rows", View(limit=20)), ("list, all ids", View())):
        _row(name, [_median(partial(_rows, store, view)) for store in stores], "ms")
    for store in stores:
        store.close()


def _rows(store: Store, view: View) -> Any:
    ids = [each for each in store.lists.entries(view, now=NOW) if isinstance(each, str)]
    return store.lists.rows(ids[:20], now=NOW)


def _append_alone(places: Sequence[Path | str]) -> None:
    """Append in turns, so that both meet the same moods of the machine."""
    dbs = [SessionDB(place) for place in places]
    took = [0.0, 0.0]
    for db in dbs:
        db.create_session("bench", "cli")
    for turn in range(8):
        for place, db in enumerate(dbs):
            begin = time.perf_counter()
            for number in range(TURN):
                db.append_message("bench", "user", f"message {turn}.{number} of the benchmark")
            took[place] += time.perf_counter() - begin
    for db in dbs:
        db.close()
    rates = [8 * TURN / each for each in took]
    _row("append, 1 writer", rates, "/s", more_is_better=True)


def _writer(place: str, writer: int, seconds: float, found: Any) -> None:
    waits: list[float] = []
    with SessionDB(place) as db:
        name = f"writer{writer}"
        db.create_session(name, "cli")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.perf_counter()
            db.append_message(name, "user", f"message {len(waits)} of writer {writer}")
            waits.append(time.perf_counter() - begin)
    found.put((writer, len(waits), max(waits)))


def _append_together(places: Sequence[Path | str], writers: int, seconds: float) -> None:
    rates, worst = [], []
    spawned = multiprocessing.get_context("spawn")
    for place in places:
        found = spawned.Queue()
        processes = [
            spawned.Process(target=_writer, args=(str(place), number, seconds, found))
            for number in range(writers)
        ]
        for process in processes:
            process.start()
        told = [found.get() for _ in processes]
        for process in processes:
            process.join()
        rates.append(sum(number for _, number, _ in told) / seconds)
        worst.append(max(wait for _, _, wait in told) * 1000)
        with SessionDB(place) as db:
            for writer, number, _ in told:
                assert len(db.get_messages(f"writer{writer}")) >= number, "a message was lost"
    _row(f"append, {writers} writers", rates, "/s", more_is_better=True)
    _row(f"worst wait, {writers} writers", worst, "ms")


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.postgres")
    parser.add_argument("--scale", choices=SCALES, default="S")
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    address = postgres.fresh_address()
    with psycopg.connect(postgres.server(), autocommit=True) as con:
        for setting in ("fsync = on", "synchronous_commit = on"):
            con.execute(f"ALTER SYSTEM SET {setting}")
        con.execute("SELECT pg_reload_conf()")
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        places = (Path(folder) / "state.db", address)
        try:
            _load(places, SCALES[options.scale])
            _search_and_list(places)
            _append_alone(places)
            _append_together(places, options.writers, options.seconds)
        finally:
            postgres.drop(address)


if __name__ == "__main__":
    main()
