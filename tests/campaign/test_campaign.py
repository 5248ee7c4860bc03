"""The campaign in short: a few dozen rounds, of each kind of work and most kinds of harm."""

from __future__ import annotations

import subprocess
import sys

from tests.store import processes

ROUNDS = 40
SECONDS = 20
"""On a busy machine there are fewer rounds."""


def test_a_short_campaign() -> None:
    command = ["-m", "tests.campaign", "--rounds", str(ROUNDS), "--seconds", str(SECONDS)]
    done = subprocess.run(
        [sys.executable, *command],
        env=processes.environment(),
        cwd=processes.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
