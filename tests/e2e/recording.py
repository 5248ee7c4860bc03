"""Records what a program writes to its terminal, as an asciinema file (version 2).

`HERMES_RECORD=DIR` turns it on; every terminal of a test becomes a file named after the test.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import time
from pathlib import Path
from typing import Any

FOLDER = "HERMES_RECORD"


class Recording:
    """A file that grows with every piece of output."""

    def __init__(self, path: Path, size: tuple[int, int], title: str) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._began = time.monotonic()
        columns, rows = size
        self._write(
            {
                "version": 2,
                "width": columns,
                "height": rows,
                "timestamp": int(time.time()),
                "title": title,
                "env": {"TERM": "xterm-256color"},
            }
        )

    def output(self, data: bytes) -> None:
        """Note what was written."""
        text = self._decode(data)
        if text:
            self._write([self._now(), "o", text])

    def resized(self, columns: int, rows: int) -> None:
        """Note a new size."""
        self._write([self._now(), "r", f"{columns}x{rows}"])

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)

    def _write(self, value: Any) -> None:
        if not self._file.closed:
            self._file.write(json.dumps(value, ensure_ascii=False) + "\n")
            self._file.flush()


def recording(size: tuple[int, int]) -> Recording | None:
    """Begin a recording of the test that runs, if recordings are wanted."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    test = os.environ.get("PYTEST_CURRENT_TEST", "terminal").split(" ")[0]
    name = re.sub(r"[^\w.-]+", "-", test.rpartition("/")[2].replace(".py::", "-")).strip("-")
    number, path = 1, Path(folder, f"{name}.cast")
    while path.exists():
        number += 1
        path = Path(folder, f"{name}-{number}.cast")
    return Recording(path, size, test)
