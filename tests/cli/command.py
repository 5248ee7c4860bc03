"""Runs the real command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
