"""`make bench ENGINE=postgres`: this store on PostgreSQL and on SQLite, one corpus, one run.

The corpus is the real text of `bench.search`: a file is made, and pushed to a server. Queries are
drawn from it by seed; a third of them is in no message. The server is a throw-away one with fsync
on, or that of HERMES_TEST_DATABASE_URL. Clients and server share the cores of one machine, so
compare ratios, not milliseconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench import browser, postgres_writers, real_text, search_files
from bench.search_queries import CLASSES, PHRASE, Drawer, Query
from hermes_store import Store
from hermes_store.records.listing import View
from hermes_store.records.search import Request
from tests import postgres

REPEATS = 5
SEARCH_GOAL, PHRASE_GOAL, LIST_GOAL, START_GOAL = 3.0, 5.0, 3.0, 1.3
SETTINGS = ("max_connections = 200", "shared_buffers = '256MB'")
Goals = list[tuple[str, bool]]


@contextmanager
def server() -> Iterator[str]:
    """Provide the address of a server: the one that is named, or a throw-away one."""
    given = os.environ.get(postgres.VARIABLE)
    if given:
        yield given
        return
    made = postgres.started(Path(tempfile.mkdtemp(prefix="hermes-bench-postgres-")))
    try:
        with psycopg.connect(made.get_uri(), autocommit=True) as con:
            for setting in SETTINGS:
                con.execute(f"ALTER SYSTEM SET {setting}")
        stop = [made.bin_path / "pg_ctl", "-D", made.pgdata, "-m", "fast", "stop"]
        subprocess.run(stop, user=made.system_user, check=True, capture_output=True)
        with postgres.quietly():
            made.ensure_postgres_running()
        yield made.get_uri()
    finally:
        made.cleanup()


@contextmanager
def schema(address: str) -> Iterator[str]:
    """Provide the address of an empty schema, which is dropped afterwards."""
    name = f"bench_{os.getpid()}_{time.time_ns() % 1_000_000}"
    try:
        yield f"{address}{'&' if '?' in address else '?'}schema={name}"
    finally:
        with psycopg.connect(address, autocommit=True) as con:
            con.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1_000


def row(name: str, both: Sequence[float], unit: str, ratio: float | None = None) -> None:
    """Print one line: the figures of SQLite and of PostgreSQL, and their ratio."""
    sqlite, on_server = both
    ratio = on_server / sqlite if ratio is None else ratio
    print(f"{name:<30} {sqlite:>12,.2f} {on_server:>12,.2f} {unit:<6} {ratio:>7.2f}x", flush=True)


def in_turns(works: Sequence[Callable[[], object]]) -> list[float]:
    """Return the medians of some works, which take turns, in milliseconds."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for place, work in enumerate(works):
            took[place].append(milliseconds(work))
    return [statistics.median(each) for each in took]


def load(file: Path, address: str) -> None:
    """Push a file to a server and index it there."""
    with Store(file, read_only=True) as source, Store(address) as hub:
        begin = time.perf_counter()
        report = source.transfer.push(hub.database, host="bench")
        pushed = time.perf_counter() - begin
        while not hub.search.prepare():
            time.sleep(0.1)  # the store does so in the background already
        indexed = time.perf_counter() - begin - pushed
        hub.upkeep.optimize()
        sizes = [store.upkeep.statistics().database_bytes / 1e6 for store in (source, hub)]
    print(f"{report.added:,} sessions, {report.messages:,} messages: pushed at "
          f"{report.messages / pushed:,.0f}/s, indexed in {indexed:.1f} s more")  # fmt: skip
    print(f"{'':<30} {'SQLite':>12} {'PostgreSQL':>12}")
    row("size", sizes, "MB")
    with Store(file) as store:
        store.search.prepare()


def _found(store: Store, query: Query) -> list[tuple[Any, ...]]:
    hits = store.search.run(Request(query.text, limit=20)).hits
    return [(hit.session_id, hit.timestamp) for hit in hits]


def searches(stores: Sequence[Store], queries: Sequence[Query]) -> Goals:
    """Time every class of queries, in turns, and compare the answers."""
    goals: Goals = []
    other = 0
    for kind in CLASSES:
        ratios, took = [], []
        for query in (each for each in queries if each.kind == kind):
            asked = [partial(_found, store, query) for store in stores]
            other += asked[0]() != asked[1]()
            took.append(in_turns(asked))
            ratios.append(took[-1][1] / took[-1][0])
        middle = [statistics.median(each) for each in zip(*took, strict=True)]
        ratio, worst = statistics.median(ratios), max(ratios)
        limit = PHRASE_GOAL if kind == PHRASE else SEARCH_GOAL
        row(f"{kind}, p50 (worst {worst:.1f}x)", middle, "ms", ratio)
        over = sum(each > limit for each in ratios)
        goals.append((f"{kind} within {limit:g}x: {over} of {len(ratios)} over", not over))
    print(f"{other} of {len(queries)} pages are not the same on both")
    return goals


def lists(stores: Sequence[Store]) -> Goals:
    """Time the first rows of the list, and all of its ids."""
    goals: Goals = []
    for name, view in (("list, 20 rows", View(limit=20)), ("list, all ids", View())):
        took = in_turns([partial(_rows, store, view) for store in stores])
        row(name, took, "ms")
        goals.append((f"{name} within {LIST_GOAL:g}x", took[1] <= LIST_GOAL * took[0]))
    return goals


def _rows(store: Store, view: View) -> Any:
    entries = store.lists.entries(view, now=browser.NOW)
    ids = [each for each in entries if isinstance(each, str)]
    return store.lists.rows(ids[:20], now=browser.NOW)


def starts(file: Path, address: str, times: int = 15) -> Goals:
    """Time the browser until its first rows are drawn."""
    commands = {
        place: (browser.browser(place), browser.first_title(place))
        for place in (str(file), address)
    }
    took = [statistics.median(each) for each, _ in browser.openings(commands, times).values()]
    row("browser, first rows", took, "ms")
    return [(f"browser start within {START_GOAL:g}x", took[1] <= START_GOAL * took[0])]


def run(
    folder: Path, scale: real_text.Scale, *, seed: int = 1, number: int = 12, seconds: float = 60.0
) -> None:
    """Measure everything, print it, and say which goals were reached."""
    search_files.build(folder, scale, seed=1, layouts=("own",))
    file = folder / "own" / "state.db"
    print(f"PostgreSQL beside SQLite, {scale.name}, seed {seed}; load of the machine "
          f"{os.getloadavg()[0]:.1f} of {os.cpu_count()}")  # fmt: skip
    with server() as base, schema(base) as address:
        load(file, address)
        drawer = Drawer(file, seed)
        queries = drawer.draw(number)
        drawer.bare.close()
        with Store(file, read_only=True) as local, Store(address, read_only=True) as hub:
            goals = searches((local, hub), queries) + lists((local, hub))
        goals += starts(file, address)
        with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
            copy = Path(name) / "state.db"
            copy.write_bytes(file.read_bytes())
            goals += postgres_writers.run(copy, address, row, seconds)
    print("\ngoals")
    for goal, reached in goals:
        print(f"  {'reached    ' if reached else 'not reached'}  {goal}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m bench --engine postgres", description=__doc__)
    parser.add_argument("--scale", choices=real_text.SCALES, default="S")
    parser.add_argument("--corpus", type=Path, default=search_files.FOLDER,
                        help="where the file to push is kept")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="draws the queries")
    parser.add_argument("--queries", type=int, default=12, help="of each class")
    parser.add_argument("--seconds", type=float, default=60.0, help="for 50 writers")
    options = parser.parse_args(arguments)
    scale = real_text.SCALES[options.scale]
    run(
        options.corpus / scale.name,
        scale,
        seed=options.seed,
        number=options.queries,
        seconds=options.seconds,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
