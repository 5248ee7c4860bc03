"""Real child processes for the tests: each runs a short Python script of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


def environment() -> dict[str, str]:
    """Return an environment in which a child finds this checkout, whatever its folder."""
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def start(script: str, *arguments: object, python: str = sys.executable) -> subprocess.Popen[str]:
    """Start a script; its output is piped, its input is open so that it can be told to go on."""
    return subprocess.Popen(
        [python, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a script and return its output; a failure shows what it said."""
    output, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complaint
    return output


def run(script: str, *arguments: object, python: str = sys.executable) -> str:
    """Run a script to its end and return its output."""
    return finish(start(script, *arguments, python=python))


def die(script: str, *arguments: object, python: str = sys.executable) -> str:
    """Run a script that kills itself, and return what it had printed by then."""
    process = start(script, *arguments, python=python)
    output, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, complaint
    return output


def kill(process: subprocess.Popen[str]) -> str:
    """Kill a script the hard way and return what it had printed by then."""
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate(timeout=PATIENCE)
    return output


def heard(process: subprocess.Popen[str]) -> str:
    """Return the next line a script prints; fail with its complaint if it ended instead."""
    assert process.stdout is not None
    # Sign by sign: a buffer would keep further lines that `communicate` then never sees.
    line = bytearray()
    while not line.endswith(b"\n"):
        sign = os.read(process.stdout.fileno(), 1)
        if not sign:
            assert process.stderr is not None
            raise AssertionError(process.stderr.read())
        line += sign
    return line.decode().strip()


def tell(process: subprocess.Popen[str], line: str = "go") -> None:
    """Send a script a line on its standard input."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


@contextmanager
def running(
    script: str, *arguments: object, python: str = sys.executable
) -> Iterator[subprocess.Popen[str]]:
    """Run a script that prints a first line once it is ready; it is killed after the block."""
    process = start(script, *arguments, python=python)
    try:
        heard(process)
        yield process
    finally:
        kill(process)


def together(script: str, each: Sequence[Sequence[object]]) -> list[str]:
    """Run one script once for each list of arguments, all at the same time."""
    started = [start(script, *arguments) for arguments in each]
    try:
        return [finish(process) for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                kill(process)
