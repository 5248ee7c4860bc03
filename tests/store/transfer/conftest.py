"""The fixture that writes files to import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.store.transfer.lines import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes objects as the lines of a file."""

    def write(*lines: Any, name: str = "in.jsonl", end: str = "\n") -> Path:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / name).write_text("\n".join(texts) + end, encoding="utf-8")
        return tmp_path / name

    return write
