"""The contract: what is tested on `db` holds for every engine.

A test that takes `path`, or that is in `engines/`, is about the file and runs on SQLite alone. So
does one that is marked `sqlite`, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests import postgres

ENGINES = ("sqlite", "postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test for every engine, unless it is about one."""
    if "engine" not in metafunc.fixturenames:
        return
    code = metafunc.function.__code__
    about_file = "path" in code.co_varnames or "/store/engines/" in code.co_filename
    alone = about_file or metafunc.definition.get_closest_marker("sqlite") is not None
    metafunc.parametrize("engine", ENGINES[:1] if alone else ENGINES)


@pytest.fixture
def db(engine: str, path: Path) -> Iterator[SessionDB]:
    """An empty store, open for writing."""
    if engine == "sqlite":
        with SessionDB(path) as store:
            yield store
        return
    address = postgres.fresh_address()
    try:
        with SessionDB(address) as store:
            yield store
    finally:
        postgres.drop(address)
