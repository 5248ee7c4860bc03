"""The whole search command of agentsview, which reads Hermes' files too, on the same corpus.

It installs from the package index into an environment of its own and copies every session into an
archive in a home of its own. It runs without any network but the loopback; where that cannot be
had it is left out.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parent.parent
WAYS = ("substring", "--fts")
_ALL = ["--include-children", "--include-automated", "--include-one-shot"]
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 0x1


class Missing(Exception):
    """agentsview cannot be measured here."""


def program() -> Path:
    """Return the program, installed on first use."""
    folder = ROOT / ".peers" / "agentsview"
    found = folder / "bin" / "agentsview"
    if not found.exists():
        print(f"Installing agentsview into {folder} …", flush=True)
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "agentsview"]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run(install, check=True)
        except subprocess.CalledProcessError as error:
            raise Missing("agentsview cannot be installed here.") from error
    return found


class AgentsView:
    """agentsview on a copy of a database, cut off from every network but the loopback."""

    def __init__(self, database: Path) -> None:
        alone = ["unshare", "--map-root-user", "--net"]
        try:
            subprocess.run([*alone, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Missing(
                "agentsview is left out: it cannot be cut off from the network."
            ) from error
        command = [*alone, sys.executable, "-m", "bench.agentsview", str(program()), str(database)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.copied = float(self._line())
        """Seconds it took to copy every session."""

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise Missing("agentsview did not start.")
        return line

    def search(self, way: str, text: str) -> float:
        """Return the seconds that the whole command takes."""
        assert self._process.stdin is not None
        print(json.dumps([way, text]), file=self._process.stdin, flush=True)
        return float(self._line())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _use_loopback() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


def _serve(agentsview: str, database: Path, home: Path) -> None:
    (home / ".hermes").mkdir()
    shutil.copy(database, home / ".hermes" / "state.db")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DO_NOT_TRACK": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
    }

    def run(*arguments: str, check: bool = True) -> None:
        command = [agentsview, *arguments]
        subprocess.run(command, env=environment, capture_output=True, check=check)

    options = ("--background", "--no-browser", "--no-update-check", "--port", "0")
    started = time.perf_counter()
    run("serve", *options)
    run("sync")
    print(time.perf_counter() - started, flush=True)
    try:
        for line in sys.stdin:
            way, text = json.loads(line)
            fast = ["--fts"] if way == "--fts" else []
            started = time.perf_counter()
            run(
                "session",
                "search",
                "--limit",
                "20",
                "--json",
                *_ALL,
                *fast,
                "--",
                text,
                check=False,
            )
            print(time.perf_counter() - started, flush=True)
    finally:
        run("serve", "stop", check=False)


def main() -> None:
    """Serve searches inside a network of its own; started by `AgentsView`."""
    _use_loopback()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-agentsview-") as home:
        _serve(sys.argv[1], Path(sys.argv[2]), Path(home))


if __name__ == "__main__":
    main()
