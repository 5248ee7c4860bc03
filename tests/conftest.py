"""Fixtures for every test: a home of its own, and a store in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point HERMES_HOME at an empty place, so that no test can touch a person's own sessions."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HERMES_HOME", str(folder))
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of `db` lies."""
    return tmp_path / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    """An empty store, open for writing."""
    with SessionDB(path) as store:
        yield store
