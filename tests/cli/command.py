"""Runs the real command in a process of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return the answer of a command with --json."""
        assert self.code in (0, 1), self.err
        answer = json.loads(self.out)
        assert answer["version"] == 1
        return answer


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return surroundings without any other `hermes`, on a terminal that says nothing."""
    kept = {key: os.environ[key] for key in ("LANG", "TZ", "TMPDIR") if key in os.environ}
    return {
        **kept,
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        **(more or {}),
    }


def hermes(
    home: Path,
    *arguments: str,
    stdin: str | None = None,
    more: Mapping[str, str] | None = None,
) -> Outcome:
    """Run `hermes` with arguments in a home folder and return what it did."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes_tui", *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(home, more),
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def on_terminal(
    home: Path,
    *arguments: str,
    size: tuple[int, int] = (80, 24),
    typed: str = "",
    more: Mapping[str, str] | None = None,
) -> Outcome:
    """Run `hermes` in a terminal of its own; `out` is all that it shows there."""
    master, slave = pty.openpty()
    columns, lines = size
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_tui", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(home, {"TERM": "xterm-256color", **(more or {})}),
        cwd=home,
    ) as process:
        os.close(slave)
        os.write(master, typed.encode())
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        shown = b"".join(iter(lambda: _read(master), b""))
        code = process.wait()
        late.cancel()
    os.close(master)
    text = shown.decode("utf-8", "replace").replace("\r\n", "\n")
    assert "Traceback" not in text, text
    return Outcome(code, text, "")


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65_536)
    except OSError:  # nobody has the other end open anymore
        return b""
