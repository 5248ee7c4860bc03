"""A campaign of harm: workers on real homes are killed, starved and misled; nothing may be lost.

Each round makes a fresh home (a database of ours, one in the older layout, one of a newer Hermes,
or one of an old version, with sessions and a trash), lets a worker do one kind of work on it,
hurts it in one way, and looks at what is left. The worker notes every operation before it begins
and after it ended. Afterwards

- nothing acknowledged is lost and nothing is there twice,
- every session is whole in the database, or whole in the trash, or gone as it was told to,
- SQLite's integrity check and that of the full-text indexes pass,
- every refusal was a sentence of the store, never a traceback, and nothing hung.

    python -m tests.campaign --rounds 2000 --seed 7
    python -m tests.campaign --rounds 50 --work restore --harm kill_call
    python -m tests.campaign --again /tmp/campaign-…/r00012/round.json

A violation ends with exit code 1, and the folder of its round is kept with a `round.json` that
repeats the round. Harm by call repeats exactly; harm at a time only as well as the clock allows.
With --peer, the Python of an environment with a real Hermes, that Hermes appends to homes that it
made itself, all the while.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.campaign import clock

clock.install()  # before anything of the store is loaded

from tests.campaign import harm as harms  # noqa: E402
from tests.campaign import homes as home_kinds  # noqa: E402
from tests.campaign import rounds, work  # noqa: E402
from tests.campaign.rounds import Outcome, Plan  # noqa: E402

FIRST_CALLS = 150
FIRST_SECONDS = 0.15


class Campaign:
    """The rounds of one run, and what they have taught about how long work takes."""

    def __init__(self, seed: int, folder: Path, peer: str | None, home: str | None) -> None:
        self._draw = random.Random(seed)
        self._folder = folder
        self._peer = peer
        self._only = home
        self._homes: dict[str, home_kinds.Home] = {}
        self._calls: dict[tuple[str, str], int] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._pairs: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.per_work: Counter[str] = Counter()
        self.per_harm: dict[str, Counter[str]] = {}

    def pairs(self, works: list[str], kinds: list[str]) -> tuple[str, str]:
        """Return the next kind of work and harm; all come up before one comes again."""
        if not self._pairs:
            self._pairs = [(each, kind) for each in works for kind in kinds]
            self._draw.shuffle(self._pairs)
        return self._pairs.pop()

    def drawn(self, chosen: str, kind: str) -> Plan:
        """Draw a round."""
        kinds = home_kinds.KINDS + ((home_kinds.REAL,) if self._peer else ())
        possible = work.homes_of(chosen, kinds)
        home = self._only if self._only in possible else self._draw.choice(possible)
        key = (chosen, home)
        if home == "old":
            home = f"old{self._draw.randint(1, 10)}"
        harm = harms.drawn(
            kind,
            self._draw,
            self._calls.get(key, FIRST_CALLS),
            self._seconds.get(key, FIRST_SECONDS),
        )
        seed, size = self._draw.randrange(2**32), self._draw.choice([3, 12, 40])
        # A full or damaged disk would hurt the real Hermes too.
        spared = kind not in ("disk_full", *harms.DAMAGE)
        peer = self._peer if home == home_kinds.REAL and spared else None
        return Plan(chosen, home, harm, seed, size, peer)

    def run(self, number: int, plan: Plan) -> Outcome:
        """Run a round, count it and clean up, unless something is broken."""
        folder = self._folder / f"r{number:05}"
        folder.mkdir()
        (folder / "round.json").write_text(json.dumps(plan.as_json(), indent=1))
        outcome = rounds.run(plan, self._home(plan.home), folder)
        key = (plan.work, plan.home.rstrip("0123456789"))
        if outcome.calls:
            self._calls[key] = outcome.calls
            self._seconds[key] = outcome.seconds
        self._count(plan, outcome)
        if not outcome.broken:
            shutil.rmtree(folder)
        return outcome

    def _home(self, kind: str) -> home_kinds.Home:
        if kind not in self._homes:
            folder = self._folder / f"home-{kind}"
            self._homes[kind] = home_kinds.make(kind, folder, self._peer)
        return self._homes[kind]

    def _count(self, plan: Plan, outcome: Outcome) -> None:
        self.per_work[plan.work] += 1
        counts = self.per_harm.setdefault(plan.harm.kind, Counter())
        for each in (self.counts, counts):
            each["rounds"] += 1
            each["hits"] += outcome.killed
            each["inside"] += outcome.inside
            each["acknowledged"] += outcome.acknowledged
            each["refused"] += outcome.refusals
            each["violations"] += bool(outcome.broken)

    def report(self) -> str:
        """Return the counts as a table."""
        names = ("rounds", "hits", "inside", "acknowledged", "refused", "violations")
        lines = [f"{'':20}" + "".join(f"{name:>14}" for name in names)]
        rows = [*sorted(self.per_harm.items()), ("all", self.counts)]
        lines += [f"{kind:20}" + "".join(f"{row[n]:>14,}" for n in names) for kind, row in rows]
        done = ", ".join(f"{kind} {count}" for kind, count in sorted(self.per_work.items()))
        return "\n".join([*lines, f"Rounds by work: {done}."])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", action="append", choices=sorted(work.WORK))
    parser.add_argument("--harm", action="append", choices=harms.KINDS)
    parser.add_argument("--home", choices=(*home_kinds.KINDS, home_kinds.REAL))
    parser.add_argument("--peer", help="the Python of an environment with a real Hermes")
    parser.add_argument("--again", type=Path, help="the round.json of an earlier round")
    parser.add_argument("--verbose", action="store_true", help="name every round")
    return parser.parse_args()


def _kinds(options: argparse.Namespace, folder: Path) -> list[str]:
    """Return the kinds of harm to do."""
    chosen = options.harm or [kind for kind in harms.KINDS if kind not in harms.ON_REQUEST]
    if harms.can_mount(folder / "disk"):
        return list(chosen)
    print("This user cannot mount a small disk; disk_full is left out.")
    return [kind for kind in chosen if kind != "disk_full"]


def main() -> int:
    """Run a campaign and return the exit code."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="campaign-"))
    campaign = Campaign(options.seed, folder, options.peer, options.home)
    kinds = _kinds(options, folder)
    works = options.work or sorted(work.WORK)
    began = time.monotonic()
    for number in range(1 if options.again else options.rounds):
        if options.seconds and time.monotonic() - began > options.seconds:
            break
        if options.again:
            plan = Plan.from_json(json.loads(options.again.read_text()))
        else:
            plan = campaign.drawn(*campaign.pairs(works, kinds))
        if options.verbose:
            print(number, plan.work, plan.home, plan.harm, flush=True)
        outcome = campaign.run(number, plan)
        if outcome.broken:
            print(f"Round {number}: {plan.work} on {plan.home}, {plan.harm.kind}:")
            for line in outcome.broken[:8]:
                print(f"  {line}")
            print(f"  Kept: {folder / f'r{number:05}'}", flush=True)
    print(campaign.report())
    print(f"Seed {options.seed}, {time.monotonic() - began:.0f} s.")
    if campaign.counts["violations"]:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
