"""The real hermes-agent, in environments of its own that are made when they are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.store.processes import ROOT

PEERS = ROOT / ".peers"


def _has_hermes(python: Path, home: Path) -> bool:
    if not python.exists():
        return False
    probe = [str(python), "-c", "import hermes_state"]
    environment = os.environ | {"HERMES_HOME": str(home)}
    return subprocess.run(probe, env=environment, capture_output=True).returncode == 0


def _environment(version: str, home: Path) -> str:
    """Return the Python of an environment with this hermes-agent, made now if need be."""
    folder = PEERS / f"hermes-{version}"
    python = folder / "bin" / "python"
    if not _has_hermes(python, home):
        PEERS.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", f"hermes-agent=={version}"]
        subprocess.run(install, check=True)
        assert _has_hermes(python, home)
    return str(python)


@pytest.fixture(scope="session")
def hermes13(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of the last Hermes with schema 11."""
    return _environment("0.13.0", tmp_path_factory.mktemp("home13"))


@pytest.fixture(scope="session")
def hermes19(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of a newer Hermes, with schema 22."""
    return _environment("0.19.0", tmp_path_factory.mktemp("home19"))


@dataclass(frozen=True)
class Peer:
    """A version of the real hermes-agent, and how to run a script with it."""

    python: str
    source: str | None = None
    """The folder of its source, if it is not installed."""

    def run(self, script: str, *arguments: object) -> str:
        """Run a script to its end and return its output."""
        environment = os.environ | {"PYTHONPATH": self.source or "", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [self.python, "-c", script, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.source,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1] if done.stdout else ""


SOURCE = "HERMES_AGENT_SOURCE"
"""The folder of a checkout of Hermes Agent 0.20.4, which the package index does not have."""


@pytest.fixture(scope="session")
def peers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Peer]:
    """Return a version of the real hermes-agent."""
    os.environ.setdefault("HERMES_HOME", str(tmp_path_factory.mktemp("peer-home")))

    def peer(version: str) -> Peer:
        if version == "0.13.0":
            return Peer(request.getfixturevalue("hermes13"))
        if version == "0.19.0":
            return Peer(request.getfixturevalue("hermes19"))
        source = os.environ.get(SOURCE)
        if not source:
            pytest.skip(f"{SOURCE} does not name a checkout of {version}")
        return Peer(request.getfixturevalue("hermes19"), source)

    return peer
