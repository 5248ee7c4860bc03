"""Lists, newest continuations and what is resumed are those of the real store, in any family."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import apsw
import pytest

from tests.peer.conftest import Peer
from tests.peer.shapes import DRIVER, Family, Knows, write
from tests.store import processes

pytestmark = pytest.mark.peer
FAMILIES = 150
"""In each file."""
SEEDS = 4

KNOWN = {
    "0.13.0": Knows(markers=False, resets=False, forks=False),
    "0.19.0": Knows(resets=False),
    "0.20.4": Knows(),
}
LOOKED_AT = ("the list by start", "the list by activity", "newest continuations", "what is resumed")


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", KNOWN)
def test_families_are_understood_alike(
    tmp_path: Path, request: pytest.FixtureRequest, version: str, seed: int
) -> None:
    peer: Peer = request.getfixturevalue("peers")(version)
    path = tmp_path / "state.db"
    peer.run(DRIVER, "real", path)
    first = seed * FAMILIES
    families = [Family(first + number, KNOWN[version]) for number in range(FAMILIES)]
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    with con:
        ids = write(con, families)
    con.close()
    asked = json.dumps(ids)
    real = json.loads(peer.run(DRIVER, "real", path, asked))
    ours = json.loads(processes.run(DRIVER, "ours", path, asked, python=sys.executable))
    for what, one, other in zip(LOOKED_AT, ours, real, strict=True):
        if version == "0.13.0":  # it shows the folder of the first part, and has none itself
            one, other = ([row[:3] if isinstance(row, list) else row for row in each]
                          for each in (one, other))  # fmt: skip
        wrong = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
        assert one == other, f"{what}, (ours, theirs): {wrong[:3]}"
