"""Writers on PostgreSQL and on SQLite: one, sixteen, and fifty for a minute."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hermes_store import SessionDB

TURN, TURNS = 250, 8
TOGETHER, TOGETHER_SECONDS = 16, 5.0
CROWD = 50
ONE_GOAL, TOGETHER_GOAL, WAIT_GOAL = 0.8, 2.5, 1.0
TEXT = "message {} of writer {}: the build of the payment service failed with exit code 137"
_spawned = multiprocessing.get_context("spawn")


def _alone(places: Sequence[str]) -> list[float]:
    """Return messages per second; both take turns, to meet the same moods of the machine."""
    dbs = [SessionDB(place) for place in places]
    took = [0.0] * len(dbs)
    for db in dbs:
        db.create_session("bench-alone", "cli")
    for turn in range(TURNS):
        for place, db in enumerate(dbs):
            begin = time.perf_counter()
            for number in range(TURN):
                db.append_message("bench-alone", "user", TEXT.format(number, turn))
            took[place] += time.perf_counter() - begin
    for db in dbs:
        db.close()
    return [TURNS * TURN / each for each in took]


def _write(place: str, writer: int, seconds: float, begin: Any, found: Any) -> None:
    waits: list[float] = []
    with SessionDB(place) as db:
        name = f"bench-{writer}-{seconds}"
        db.create_session(name, "cli")
        begin.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            started = time.perf_counter()
            db.append_message(name, "user", TEXT.format(len(waits), writer))
            waits.append(time.perf_counter() - started)
    found.put((name, len(waits), max(waits)))


def _together(place: str, writers: int, seconds: float) -> tuple[float, float, int]:
    """Return messages per second, the worst wait in seconds, and how many messages were lost."""
    found, begin = _spawned.Queue(), _spawned.Barrier(writers)
    processes = [
        _spawned.Process(target=_write, args=(place, number, seconds, begin, found))
        for number in range(writers)
    ]
    for process in processes:
        process.start()
    told = [found.get() for _ in processes]
    for process in processes:
        process.join()
    lost = 0
    with SessionDB(place) as db:
        for name, number, _ in told:
            said = [row["content"] for row in db.get_messages(name)]
            lost += number - len(set(said)) + (len(said) - len(set(said)))
    worst = max(wait for _, _, wait in told)
    return sum(number for _, number, _ in told) / seconds, worst, lost


def run(
    file: Path, address: str, row: Callable[..., None], seconds: float
) -> list[tuple[str, bool]]:
    """Measure, print, and return the goals with whether they were reached."""
    places = (str(file), address)
    rates = _alone(places)
    row("append, 1 writer", rates, "/s")
    both = [_together(place, TOGETHER, TOGETHER_SECONDS) for place in places]
    row(f"append, {TOGETHER} writers", [rate for rate, _, _ in both], "/s")
    row("  worst wait", [worst * 1_000 for _, worst, _ in both], "ms")
    rate, worst, lost = _together(address, CROWD, seconds)
    print(f"{CROWD} writers for {seconds:.0f} s: {rate:,.0f}/s, worst wait {worst * 1_000:.0f} ms, "
          f"{lost} lost or stored twice")  # fmt: skip
    return [
        (f"append of 1 writer at least {ONE_GOAL:g}x", rates[1] >= ONE_GOAL * rates[0]),
        (
            f"append of {TOGETHER} writers at least {TOGETHER_GOAL:g}x",
            both[1][0] >= TOGETHER_GOAL * both[0][0],
        ),
        ("nothing lost, nothing twice", not lost and not both[0][2] and not both[1][2]),
        (f"worst wait of {CROWD} writers under {WAIT_GOAL:g} s", worst < WAIT_GOAL),
    ]
