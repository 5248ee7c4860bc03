"""No proxy between a test and the loopback address, no keys of a person, and short pauses."""

from __future__ import annotations

import os

import pytest

from hermes_tui.chat import provider


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what could lead a test elsewhere."""
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_api_key")) or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(provider, "FIRST_PAUSE", 0.001)
