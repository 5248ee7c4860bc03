"""`make bench-search`: search beside the real hermes-agent, a plain scan and the bare index.

Every file is measured cold (no files of ours beside it, a new process, its first search; the file
itself is in the system's page cache) and warm (one process, the list of words made, after other
queries). Queries are drawn from the corpus by seed; a third of them is in no message. Times are
p50 / p95 in ms; a ratio compares the p50.
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench import real_text, search_files
from bench.agentsview import WAYS, AgentsView, Missing
from bench.search_figures import (
    COLD,
    COMMAND,
    FIRST,
    INDEX,
    MESSAGES,
    REAL,
    RUN,
    SCAN,
    WARM,
    Figures,
    p50,
    print_commands,
    print_searches,
)
from bench.search_goals import print_goals
from bench.search_queries import EAST_1, EAST_2, EAST_4, PIECE, Drawer, Query
from bench.search_truth import Bare, Truth, Verdict, timed
from bench.sides import PEER_VERSION, ROOT, Side
from hermes_store import Store

WAY = {MESSAGES: "messages", RUN: "run", FIRST: "stream"}
LARGEST_CHECKED = 5_000
"""Answers of more messages are compared by their page only."""
SHOWN = 8


def forget(database: Path) -> None:
    """Remove every file of ours beside a database."""
    for file in database.parent.glob(f"{database.name}.*"):
        file.unlink()


def _read_through(database: Path) -> None:
    """Bring a file into the system's page cache."""
    with database.open("rb") as file:
        while file.read(1 << 22):
            pass


def _answering_index(layout: str, query: Query) -> str | None:
    """Return which index of a file can answer a query by itself."""
    if query.kind in (EAST_1, EAST_2):
        return None
    if query.kind in (PIECE, EAST_4):
        complete = layout == "v22" or (layout == "own" and query.kind == EAST_4)
        return "trigram" if complete else None
    return "words"


def _bare_first(database: Path, query: Query, index: str | None) -> float:
    """Return the seconds of opening a file and asking it once, by a scan or an index."""

    def ask() -> None:
        bare = Bare(database)
        if index is None:
            bare.scan(query)
        else:
            bare.index(query, trigram=index == "trigram")
        bare.close()

    return timed(ask)


def _miss(figures: Figures, layout: str, state: str, query: Query, ids: list[int]) -> None:
    figures.missed[layout, state, query.kind] += not ids and not query.absent


def cold(figures: Figures, layout: str, database: Path, queries: list[Query]) -> None:
    """Search once in each new process, with nothing prepared."""
    _read_through(database)
    for query in queries:
        for way in WAY:
            forget(database)
            with Side("ours") as side:
                took, _ = side.ask("first", str(database), WAY[way], query.text)
                side.ask("close")
            figures.add(layout, COLD, way, query, took)
        if layout == "v22":
            with Side("real") as side:
                took, ids = side.ask("first", str(database), "messages", query.text)
                side.ask("close")
            figures.add(layout, COLD, REAL, query, took)
            _miss(figures, layout, COLD, query, ids)
        figures.add(layout, COLD, SCAN, query, _bare_first(database, query, None))
        if index := _answering_index(layout, query):
            figures.add(layout, COLD, INDEX, query, _bare_first(database, query, index))
    forget(database)


def warm(
    figures: Figures, layout: str, database: Path, queries: list[Query], others: list[Query]
) -> None:
    """Search in processes that have searched before; the sides take turns."""
    bare = Bare(database)
    with ExitStack() as stack:
        sides = {way: stack.enter_context(Side("ours")) for way in WAY}
        if layout == "v22":
            sides[REAL] = stack.enter_context(Side("real"))
        for way, side in sides.items():
            side.ask("open", str(database))
            if way != REAL:
                side.ask("prepare")
        for query in others:
            for way, side in sides.items():
                side.ask("found", WAY.get(way, "messages"), query.text)
            bare.scan(query)
            bare.index(query)
        for query in queries:
            for way, side in sides.items():
                took, ids = side.ask("found", WAY.get(way, "messages"), query.text)
                figures.add(layout, WARM, way, query, took)
                if way == REAL:
                    _miss(figures, layout, WARM, query, ids)
            figures.add(layout, WARM, SCAN, query, timed(bare.scan, query))
            if index := _answering_index(layout, query):
                took = timed(bare.index, query, index == "trigram")
                figures.add(layout, WARM, INDEX, query, took)
        for side in sides.values():
            side.ask("close")
    bare.close()


def check(
    layout: str, database: Path, queries: list[Query], truths: dict[Query, Truth], listed: bool
) -> tuple[list[str], dict[str, list[int]]]:
    """Compare answers with the plain scan; return what is wrong with them, and the pages."""
    forget(database)
    verdict, ranked, pages = Verdict(), Verdict(), dict[str, list[int]]()
    with Side("ours") as side:
        side.ask("open", str(database))
        if listed:
            side.ask("prepare")
        for query in queries:
            truth = truths[query]
            _, page = side.ask("found", "run", query.text)
            _, other = side.ask("found", "messages", query.text)
            every = side.ask("every", query.text) if len(truth.may) < LARGEST_CHECKED else None
            verdict.judge(query, truth, page, every)
            ranked.judge(query, truth, other, None)
            pages[f"search.run: {query}"] = page
            pages[f"search_messages: {query}"] = other
        side.ask("close")
    state = "with" if listed else "without"
    wrong = [f"search.run: {each}" for each in verdict.wrong]
    wrong += [f"search_messages: {each}" for each in ranked.wrong]
    print(f"{layout}, {state} a list of words: {len(queries)} queries, {len(wrong)} wrong answers; "
          f"page of search.run is not the newest that a scan finds: {len(verdict.other_order)}, "
          f"of search_messages: {len(ranked.other_order)}", flush=True)  # fmt: skip
    _print_some(wrong + [f"order: {name}" for name in verdict.other_order])
    return wrong, pages


def _print_some(lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        print(f"    {line}")
    if len(lines) > SHOWN:
        print(f"    and {len(lines) - SHOWN} more")


def check_all(
    files: dict[str, Path], queries: list[Query], truths: dict[Query, Truth]
) -> list[str]:
    """Check every layout with and without a list of words; all should give the same pages."""
    wrong, first = list[str](), dict[str, list[int]]()
    for layout, database in files.items():
        for listed in (False, True):
            found, pages = check(layout, database, queries, truths, listed)
            wrong += found
            first = first or pages
            others = [f"another page: {name}" for name in first if pages[name] != first[name]]
            if others:
                print(f"    {len(others)} of {len(first)} pages are not those of the first line")
                _print_some(others)
    return wrong


def _print_load() -> None:
    cores = os.cpu_count()
    print(f"{time.strftime('%H:%M')}, the machine is busy with {os.getloadavg()[0]:.1f} of {cores}")


def loading(figures: Figures, times: int = 7) -> None:
    """Time how long the code of both sides takes to load in a new process."""
    for name in ("ours", "real"):
        took = []
        for _ in range(times):
            with Side(name) as side:
                took.append(side.ask("loading"))
        before, search = (p50([each[part] * 1_000 for each in took]) for part in (0, 1))
        more = f", then {search:.0f} ms at the first search, which are in the cold times"
        print(f"loading the code, {name}: {before:.0f} ms{more if name == 'ours' else ''}")
        figures.loading = figures.loading or search


def prepare(figures: Figures, layout: str, database: Path) -> None:
    """Time making the list of words beside the bare pass over them."""
    bare = Bare(database)
    bare.connection.execute(
        "CREATE VIRTUAL TABLE temp.bare USING fts5vocab(main, messages_fts, row)"
    )

    def read() -> None:
        for _ in bare.connection.execute("SELECT term FROM temp.bare"):
            pass

    floor = min(timed(read) for _ in range(2))
    bare.close()
    forget(database)
    with Side("ours") as side:
        side.ask("open", str(database))
        took = side.ask("prepare")
        side.ask("close")
    size = sum(file.stat().st_size for file in database.parent.glob(f"{database.name}.*"))
    figures.prepared[layout] = (took * 1_000, floor * 1_000)
    print(f"{layout}: list of words {took:.2f} s, bare pass {floor:.2f} s, {took / floor:.1f}x, "
          f"{size / 1e6:.1f} MB beside the file", flush=True)  # fmt: skip


def lists(figures: Figures, layout: str, database: Path, times: int = 7) -> None:
    """Time a list of 20 by activity, first in a process and again."""
    for name in ("ours", "real") if layout == "v22" else ("ours",):
        first = []
        for _ in range(times):
            forget(database)
            with Side(name) as side:
                first.append(side.ask("first_list", str(database), 20) * 1_000)
                again = [side.ask("list_active", 20) * 1_000 for _ in range(times)]
                side.ask("close")
        took = f"first in a process {p50(first):.1f} ms, again {p50(again):.1f} ms"
        print(f"{layout}, {name}: {took}", flush=True)
        if name == "ours":
            figures.listed[layout, COLD], figures.listed[layout, WARM] = p50(first), p50(again)


def commands(figures: Figures, layout: str, database: Path, queries: list[Query]) -> None:
    """Time `hermes sessions search` as a whole process with nothing prepared."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-home-") as home:
        (Path(home) / "state.db").symlink_to(database.resolve())
        environment = dict(os.environ, HERMES_HOME=home)
        program = [str(Path(sys.executable).parent / "hermes"), "sessions", "search", "--json"]
        for query in queries:
            forget(database)
            started = time.perf_counter()
            done = subprocess.run(
                [*program, "--", query.text], env=environment, capture_output=True, check=False
            )
            took = time.perf_counter() - started
            if done.returncode not in (0, 1):
                raise RuntimeError(done.stderr.decode())
            figures.add(layout, COMMAND, "hermes", query, took)
    forget(database)


def commands_of_agentsview(
    figures: Figures, layout: str, database: Path, queries: list[Query]
) -> None:
    """Time the same in agentsview, after it has copied everything."""
    try:
        with AgentsView(database) as other:
            print(f"agentsview copied every session in {other.copied:.1f} s first")
            for query in queries:
                for way in WAYS:
                    took = other.search(way, query.parts[0] if query.prefix else query.text)
                    figures.add(layout, COMMAND, f"agentsview {way}", query, took)
    except Missing as reason:
        print(reason)


def measure(
    folder: Path, scale: real_text.Scale, seed: int = 1, number: int = 12, beside: bool = True
) -> list[str]:
    """Make the files that are missing, measure everything, print it; return wrong answers."""
    for package in ("hermes_store", "hermes_tui"):  # as an installed package is
        compileall.compile_dir(ROOT / package, quiet=1)
    search_files.build(folder, scale, seed=1, layouts=search_files.LAYOUTS)
    files = {layout: folder / layout / "state.db" for layout in search_files.LAYOUTS}
    Store(files["own"]).close()  # as this version of the store wants it
    drawer = Drawer(files["v22"], seed)
    queries = drawer.draw(number)
    others = Drawer(files["v22"], seed + 1_000).draw(3)
    truths = {query: Truth.of(drawer.bare, query) for query in queries}
    drawer.bare.close()
    figures = Figures(scale.name)
    print(f"\nsearch, {scale.name}: {scale.sessions:,} sessions, {scale.messages:,} messages, "
          f"{len(queries)} queries, seed {seed}; p50 / p95 in ms")  # fmt: skip
    _print_load()
    loading(figures)
    for layout, database in files.items():
        cold(figures, layout, database, queries)
        print(f"\n{layout}, cold ({database.stat().st_size / 1e6:.0f} MB)")
        print_searches(figures, layout, COLD, f"real {PEER_VERSION}")
        warm(figures, layout, database, queries, others)
        print(f"\n{layout}, warm")
        print_searches(figures, layout, WARM, f"real {PEER_VERSION}")
    print("\nanswers compared with a plain scan")
    wrong = check_all(files, queries, truths)
    print("\npreparing")
    for layout, database in files.items():
        prepare(figures, layout, database)
    print("\nlist of 20 by activity")
    for layout, database in files.items():
        lists(figures, layout, database)
    print("\nwhole command, v22, nothing prepared")
    commands(figures, "v22", files["v22"], queries)
    if beside:
        commands_of_agentsview(figures, "v22", files["v22"], queries)
    print_commands(figures, "v22")
    print_goals(figures)
    _print_load()
    return wrong


def main() -> None:
    """Measure search alone."""
    parser = argparse.ArgumentParser(prog="make bench-search", description=__doc__)
    parser.add_argument("--scale", choices=real_text.SCALES, default="S")
    parser.add_argument("--folder", type=Path, default=search_files.FOLDER,
                        help="where the files are kept and found again")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="draws the queries")
    parser.add_argument("--queries", type=int, default=12, help="of each class")
    parser.add_argument("--no-agentsview", action="store_true")
    options = parser.parse_args()
    scale = real_text.SCALES[options.scale]
    folder = options.folder / scale.name
    wrong = measure(folder, scale, options.seed, options.queries, not options.no_agentsview)
    if wrong:
        sys.exit(f"{len(wrong)} wrong answers")


if __name__ == "__main__":
    main()
