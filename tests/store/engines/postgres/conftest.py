"""Fixtures for tests of PostgreSQL: an address of an empty schema, and a store there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_store import SessionDB
from tests import postgres


@pytest.fixture
def address() -> Iterator[str]:
    """The address of an empty schema."""
    found = postgres.fresh_address()
    try:
        yield found
    finally:
        postgres.drop(found)


@pytest.fixture
def hub(address: str) -> Iterator[SessionDB]:
    """An empty store on a server."""
    with SessionDB(address) as store:
        yield store
