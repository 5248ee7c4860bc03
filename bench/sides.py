"""The two sides of a benchmark, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent
PEER_VERSION = "0.19.0"


def peer_python(version: str = PEER_VERSION) -> Path:
    """Return the Python of an environment with the real hermes-agent, created on first use."""
    folder = ROOT / ".peers" / f"hermes-{version}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists() and not _works(python):
        print(f"Installing hermes-agent {version} into {folder} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", f"hermes-agent=={version}"]
        subprocess.run(install, check=True)
        (folder / ".ready").touch()
    return python


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([str(python), "-c", "import hermes_state"], check=False).returncode == 0


class Side:
    """A driver process that answers commands."""

    def __init__(self, name: str) -> None:
        self.name = name
        ours = name.startswith("ours")
        python = sys.executable if ours else str(peer_python())
        environment = dict(os.environ, PYTHONPATH=str(ROOT) if ours else "")
        self._process = subprocess.Popen(
            [python, str(ROOT / "bench" / "driver.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def send(self, command: str, *arguments: Any) -> None:
        """Send a command without waiting for its answer."""
        assert self._process.stdin is not None
        print(json.dumps([command, arguments]), file=self._process.stdin, flush=True)

    def answer(self) -> Any:
        """Wait for the answer to the oldest unanswered command."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The {self.name} side of the benchmark ended early.")
        return json.loads(line)

    def ask(self, command: str, *arguments: Any) -> Any:
        """Send a command and wait for its answer."""
        self.send(command, *arguments)
        return self.answer()
