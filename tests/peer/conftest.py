"""The real hermes-agent, in environments of its own that are made when they are missing."""

from __future__ import annotations

import os
import subprocess
import sys
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
