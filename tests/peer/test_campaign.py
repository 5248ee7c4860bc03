"""A short campaign on homes of a real newer Hermes, which appends all the while."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.store import processes

pytestmark = pytest.mark.peer


def test_a_short_campaign_beside_a_real_hermes(hermes19: str) -> None:
    command = ["-m", "tests.campaign", "--rounds", "40", "--peer", hermes19, "--home", "real"]
    done = subprocess.run(
        [sys.executable, *command],
        env=processes.environment(),
        cwd=processes.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
