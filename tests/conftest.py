"""Fixtures for every test: a home of its own, and a store in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB


@pytest.fixture(autouse=True)
def away_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point HERMES_HOME at an empty place, so that no test can touch a person's own sessions."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HERMES_DATABASE_URL", raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home folder, which does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of `db` lies."""
    return tmp_path / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    """An empty store, open for writing."""
    with SessionDB(path) as store:
        yield store
