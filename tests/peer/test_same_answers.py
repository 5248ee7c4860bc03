"""The same script of operations gets the same answers from this store and from the real one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.peer.scripts import DRIVER, Writer
from tests.store import processes

pytestmark = pytest.mark.peer
SCRIPTS = 60
LENGTH = 80


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_the_answers_are_those_of_the_real_store(tmp_path: Path, hermes13: str, seed: int) -> None:
    steps = Writer(seed).script(LENGTH)
    script = tmp_path / "steps.json"
    script.write_text(json.dumps(steps))
    real = json.loads(processes.run(DRIVER, "real", tmp_path / "real.db", script, python=hermes13))
    ours = json.loads(
        processes.run(DRIVER, "ours", tmp_path / "ours.db", script, python=sys.executable)
    )
    assert len(real) == len(ours) == len(steps)
    for number, step in enumerate(steps):
        assert ours[number] == real[number], f"step {number}: {step}"
