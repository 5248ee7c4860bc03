"""A database that is replaced or removed under an open store: refused, or written where it is now.

A store that goes on writing to a file without a name acknowledges what nobody will ever read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_store import Store, StoreError
from tests.support import is_whole

MESSAGES = 400
"""Enough for several checkpoints."""


def _replace(path: Path) -> None:
    """Put a copy in place, as restoring a backup does."""
    copy = path.with_name("backup")
    shutil.copy(path, copy)
    os.replace(copy, path)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink()


@pytest.mark.xfail(strict=True, reason="An open store does not notice that its file was replaced.")
@pytest.mark.parametrize("harm", [_replace, _remove])
def test_what_is_acknowledged_is_in_the_file(path: Path, harm: Callable[[Path], None]) -> None:
    with Store(path) as store:
        store.sessions.start("a", "cli")
        store.upkeep.optimize()
    acknowledged = []
    with Store(path) as store:
        store.messages.append("a", {"role": "user", "content": "before"})
        harm(path)
        for number in range(MESSAGES):
            try:
                store.messages.append("a", {"role": "user", "content": f"new {number}"})
            except StoreError as error:
                assert str(error).endswith(".")
            else:
                acknowledged.append(f"new {number}")
    with Store(path) as store:
        there = {each.content for each in store.messages.of("a")}
    assert set(acknowledged) <= there
    assert is_whole(path)
