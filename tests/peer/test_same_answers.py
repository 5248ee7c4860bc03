"""The same script of operations gets the same answers from this store and from the real one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peer.conftest import Peer
from tests.peer.scripts import DRIVER, Writer
from tests.store import processes

pytestmark = pytest.mark.peer
SCRIPTS = 40
LENGTH = 80


@pytest.mark.parametrize("seed", range(SCRIPTS))
@pytest.mark.parametrize("version", ["0.13.0", "0.19.0", "0.20.4"])
def test_the_answers_are_those_of_the_real_store(
    tmp_path: Path, peers: Callable[[str], Peer], version: str, seed: int
) -> None:
    peer = peers(version)
    steps = Writer(seed, version).script(LENGTH)
    script, nothing = tmp_path / "steps.json", tmp_path / "nothing.json"
    script.write_text(json.dumps(steps))
    nothing.write_text("[]")
    kind = ["newest"] if version == "0.20.4" else []
    real = json.loads(peer.run(DRIVER, "real", tmp_path / "real.db", script, *kind))
    # This store works on a file that the real one made.
    peer.run(DRIVER, "real", tmp_path / "ours.db", nothing)
    ours = json.loads(
        processes.run(DRIVER, "ours", tmp_path / "ours.db", script, *kind, python=sys.executable)
    )
    assert len(real) == len(ours) == len(steps)
    for number, step in enumerate(steps):
        assert ours[number] == real[number], f"step {number}: {step}"
