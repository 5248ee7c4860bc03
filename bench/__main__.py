"""`make bench`: this store and the real hermes-agent on the same corpus in the same run.

Prints the figures of both sides and their ratio. Writing and lists are measured on sample sessions,
search on real text (`bench.search`). Scales: XS for a quick try, S (1,000 sessions) by
default, M (10,000 sessions, 500,000 messages) with `make bench SCALE=M`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import browser, corpus, gateway, postgres, real_text, search, search_files
from bench.sides import PEER_VERSION, Side, peer_python


def _ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


def _row(name: str, real: str, ours: str, ratio: str = "", note: str = "") -> None:
    print(f"{name:<34} {real:>16} {ours:>16} {ratio:>10}  {note}", flush=True)


def _load(real: Side, ours: Side, folder: Path, scale: corpus.Scale) -> None:
    path = folder / "corpus.jsonl"
    sessions, messages, size = corpus.write(scale, path)
    print(
        f"\n{scale.name}: {sessions:,} sessions, {messages:,} messages, {size / 1e6:.0f} MB of text"
    )
    _row("", f"real {PEER_VERSION}", "ours", "ratio")
    took = {}
    for side in (real, ours):
        side.ask("open", str(folder / f"{side.name}.db"))
        side.ask("learn", str(path))
        took[side.name] = side.ask("load", str(path))
    _row("bulk load", f"{took['real']:.1f} s", f"{took['ours']:.1f} s",
         f"{took['real'] / took['ours']:.1f}x")  # fmt: skip
    sizes = {}
    for side in (real, ours):
        side.ask("close")
        sizes[side.name] = (folder / f"{side.name}.db").stat().st_size
        side.ask("open", str(folder / f"{side.name}.db"))
    prepared = ours.ask("prepare")
    words = folder / "ours.db.vocabulary"
    _row("file", f"{sizes['real'] / 1e6:.1f} MB", f"{sizes['ours'] / 1e6:.1f} MB",
         f"{sizes['ours'] / sizes['real']:.3f}",
         f"+ {words.stat().st_size / 1e6:.1f} MB vocabulary, made in {prepared:.1f} s")  # fmt: skip


def _append(real: Side, ours: Side, chunks: int, durability: str) -> None:
    """Append in turns of a thousand: the real one does its upkeep once every thousand."""
    os.sync()  # earlier writes would delay every wait for the disk
    slow: list[list[float]] = []
    fast: list[list[float]] = []
    for chunk in range(chunks):
        for side, took in ((real, slow), (ours, fast)):
            took.append(side.ask("append", f"bench_{side.name}", 1_000, chunk * 1_000))
    theirs, own = (1_000 / statistics.median(map(sum, took)) for took in (slow, fast))
    _row(f"append, synchronous {durability}", f"{theirs:.0f} /s", f"{own:.0f} /s",
         f"{own / theirs:.1f}x", f"medians of {chunks} times 1,000")  # fmt: skip
    _row("  worst single append", f"{max(map(max, slow)) * 1000:.0f} ms",
         f"{max(map(max, fast)) * 1000:.0f} ms")  # fmt: skip


def _append_normal(folder: Path, chunks: int) -> None:
    """Append to the same files with commits that a power failure may undo."""
    with Side("real-normal") as real, Side("ours-normal") as ours:
        for side, name in ((real, "real"), (ours, "ours")):
            side.ask("open", str(folder / f"{name}.db"))
            side.ask("learn", str(folder / "corpus.jsonl"))
        _append(real, ours, chunks, "normal")
        for side in (real, ours):
            side.ask("close")


def _lists(real: Side, ours: Side) -> None:
    took = {s.name: [s.ask("list_active", 20) for _ in range(7)] for s in (real, ours)}
    _row("list 20 by activity", f"{_ms(took['real']):.1f} ms", f"{_ms(took['ours']):.1f} ms",
         f"{_ms(took['real']) / _ms(took['ours']):.0f}x")  # fmt: skip


def _commands(folder: Path, times: int) -> None:
    """Time `hermes sessions list` as a whole process, on the same corpus."""
    took: dict[str, list[float]] = {"real": [], "ours": []}
    commands = {
        "real": [str(peer_python().parent / "hermes")],
        "ours": [sys.executable, "-m", "hermes_tui"],
    }
    for name in commands:
        home = folder / f"home-{name}"
        home.mkdir()
        for ending in ("", "-wal", "-shm"):
            file = folder / f"{name}.db{ending}"
            if file.exists():
                (home / f"state.db{ending}").symlink_to(file)
    for _ in range(times):
        for name, command in commands.items():
            environment = dict(os.environ, HERMES_HOME=str(folder / f"home-{name}"))
            started = time.perf_counter()
            subprocess.run(
                [*command, "sessions", "list"], env=environment, capture_output=True, check=True
            )
            took[name].append(time.perf_counter() - started)
    _row("command: sessions list", f"{_ms(took['real']):.0f} ms", f"{_ms(took['ours']):.0f} ms",
         f"{_ms(took['real']) / _ms(took['ours']):.1f}x")  # fmt: skip


def _imports(times: int) -> None:
    """Time what importing the store adds to starting Python."""
    took: dict[str, list[float]] = {}
    for code in ("pass", "import hermes_store", "from hermes_store import SessionDB"):
        took[code] = []
        for _ in range(times):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            took[code].append(time.perf_counter() - started)
    bare = _ms(took["pass"])
    for code in list(took)[1:]:
        _row(f"  {code}", "", f"+{_ms(took[code]) - bare:.0f} ms", "", f"bare Python {bare:.0f} ms")


def _set_aside(real: Side, ours: Side, folder: Path) -> None:
    """Keep a copy of both full databases for the concurrent writers."""
    for side in (real, ours):
        side.ask("close")
        shutil.copy(folder / f"{side.name}.db", folder / f"{side.name}.whole.db")
        side.ask("open", str(folder / f"{side.name}.db"))


def _delete(real: Side, ours: Side) -> None:
    os.sync()
    took: dict[str, list[float]] = {"real": [], "ours": []}
    for place in range(7):
        for side in (real, ours):
            side.ask("append", f"big_{place}", 1000, place * 10_000)
            took[side.name].append(side.ask("delete", f"big_{place}"))
    _row("delete 1,000 messages", f"{_ms(took['real']):.0f} ms", f"{_ms(took['ours']):.0f} ms",
         f"{_ms(took['real']) / _ms(took['ours']):.1f}x")  # fmt: skip


def _prune(real: Side, ours: Side) -> None:
    half = (time.time() - corpus.NOW) / 86_400 + 90
    results = {side.name: side.ask("prune", half) for side in (real, ours)}
    (slow, gone), (fast, went) = results["real"], results["ours"]
    _row("prune", f"{slow:.1f} s", f"{fast:.1f} s", f"{slow / fast:.1f}x",
         f"sessions {gone} / {went}")  # fmt: skip


def _contention(
    folder: Path, seconds: float, names: list[str], label: str, corpus_of: str
) -> float:
    """Let several processes write to a copy of a side's corpus; return messages per second."""
    path = folder / f"{label.replace(' ', '_')}.db"
    shutil.copy(folder / f"{corpus_of}.whole.db", path)
    os.sync()  # or the first wait for the disk would include the whole copy
    sides = [Side(name) for name in names]
    for side in sides:
        side.ask("open", str(path))
        side.ask("learn", str(folder / "corpus.jsonl"))
    start = time.time() + 1.0
    for place, side in enumerate(sides):
        side.send("append_for", f"writer_{place}", seconds, start)
    answers = [side.answer() for side in sides]
    for side in sides:
        side.ask("close")
        side.__exit__(None, None, None)
    counts = [len(done) for done, _ in answers]
    own = [each for each, name in zip(answers, names, strict=True) if name == names[-1]]
    mine = [len(done) for done, _ in own]
    worst = max(max([*done, *given_up], default=0.0) for done, given_up in own) * 1000
    lost = sum(len(given_up) for _, given_up in answers)
    failed = f", {lost} failed" if lost else ""
    rate = sum(counts) / seconds
    mixed = f", of all {min(counts) / max(counts):.2f}" if len(mine) < len(counts) else ""
    share = min(mine) / max(1, *mine)
    print(f"{label:<34} {rate:>9.0f} msg/s, worst wait {worst:.0f} ms, slowest/fastest writer "
          f"{share:.2f}{mixed}{failed}, counts {counts}", flush=True)  # fmt: skip
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--scale", choices=corpus.SCALES, default="S")
    parser.add_argument("--times", type=int, default=7, help="how often each command runs")
    parser.add_argument("--corpus", type=Path, default=search_files.FOLDER,
                        help="where the files to search are kept")  # fmt: skip
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite",
                        help="postgres: this store on PostgreSQL beside SQLite")  # fmt: skip
    options = parser.parse_args()
    if options.engine == "postgres":
        chosen = real_text.SCALES[options.scale]
        postgres.run(options.corpus / chosen.name, chosen)
        return
    scale = corpus.SCALES[options.scale]
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
        folder = Path(name)
        with Side("real") as real, Side("ours") as ours:
            _load(real, ours, folder, scale)
            _append(real, ours, scale.chunks, "full")
            _append_normal(folder, scale.chunks)
            ours.ask("prepare")
            _lists(real, ours)
            _commands(folder, options.times)
            _imports(options.times)
            _set_aside(real, ours, folder)
            _delete(real, ours)
            _prune(real, ours)
        print()
        theirs = _contention(folder, 10.0, ["real"] * 8, "8 writers, real", "real")
        own = _contention(folder, 10.0, ["ours"] * 8, "8 writers, ours", "ours")
        print(f"{'':<34} {own / theirs:>9.1f}x messages per second")
        own = _contention(folder, 10.0, ["ours-normal"] * 8, "8 writers, ours, normal", "ours")
        print(f"{'':<34} {own / theirs:>9.1f}x messages per second")
        together = "2 real and 3 of ours on one file"
        _contention(folder, 10.0, ["real"] * 2 + ["ours"] * 3, together, "ours")
        gateway.measure(folder)
        search.measure(options.corpus / scale.name, real_text.SCALES[scale.name])
        browser.run(folder, scale.browsed)


if __name__ == "__main__":
    main()
