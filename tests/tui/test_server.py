"""The browser on a server: the same keys, live changes, and a server that goes away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from tests import postgres
from tests.support import add
from tests.tui.running import Typed, drive, listed, main, make_app, page, press, until


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a schema with three conversations."""
    found = postgres.fresh_address()
    try:
        with SessionDB(found) as db:
            for name, text in (("a", "docker is down"), ("b", "hotel in Lisbon"), ("c", "mail")):
                add(db, name, text, title=f"About {text}")
        yield found
    finally:
        postgres.drop(found)


def test_the_same_keys_do_the_same(address: str, tmp_path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        assert sorted(listed(pilot)) == ["a", "b", "c"]
        await press(pilot, Typed("docker"))
        await until(pilot, lambda: listed(pilot) == ["a"], "the match")
        await press(pilot, "ctrl+d")
        await until(pilot, lambda: "moved to trash" in "".join(page(pilot)), "the deletion")
        await press(pilot, "ctrl+z", "escape")
        await until(pilot, lambda: len(listed(pilot)) == 3, "what was restored")

    drive(make_app(tmp_path / "files", address=address), script)
    with SessionDB(address) as db:
        assert db.get_session("a") is not None


@pytest.mark.usefixtures("watchful")
def test_what_others_write_appears(address: str, tmp_path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        with SessionDB(address) as db:
            add(db, "new", "from another machine", title="Just now")
            await until(pilot, lambda: "new" in listed(pilot), "the new conversation")

    drive(make_app(tmp_path / "files", address=address), script)


def test_a_server_that_goes_away_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.engines.postgres.connections.READERS_PATIENCE", 0.2)
    server = postgres.Server(Path(tempfile.mkdtemp(prefix="hermes-browser-")))
    try:
        with SessionDB(server.address) as db:
            add(db, "a", "docker is down")
            add(db, "b", "nothing else")

        async def script(pilot: Pilot[Any]) -> None:
            server.crash()
            await press(pilot, Typed("docker"))
            said = "cannot be reached"
            await until(pilot, lambda: said in " ".join(page(pilot)), "the sentence")
            server.start()
            await press(pilot, "escape")
            await until(pilot, lambda: len(listed(pilot)) == 2, "the list")
            await press(pilot, Typed("docker"))
            await until(pilot, lambda: listed(pilot) == ["a"], "the match")
            assert main(pilot).is_current

        drive(make_app(tmp_path / "files", address=server.address), script)
    finally:
        server.remove()
