"""A still world: one clock, one time zone, one home, nothing that blinks or moves by itself."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
import pytest_textual_snapshot  # type: ignore[import-untyped]
from syrupy.location import PyTestLocation
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from bench.sample_sessions import create
from hermes_store.store import Store
from hermes_tui import store_access
from hermes_tui.app import HermesApp
from hermes_tui.browse import list_pane
from hermes_tui.demo.model_server import DemoServer
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets import status_bar
from tests.support import raw
from tests.tui import stock
from tests.tui.off_the_loop import watched
from tests.tui.running import NOW, WIDE, Keys, Script, load, press, settle

ROOT = Path(__file__).parent.parent.parent
SAMPLE_SESSIONS = 120
NEVER = 3_600.0


class Pictures(pytest_textual_snapshot.SVGImageExtension):  # type: ignore[misc]
    """Keeps pictures in one folder at the top, by the path of their test."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder for the pictures of a test module."""
        path = Path(test_location.filepath).with_suffix("")
        return str(ROOT / "snapshots" / path.relative_to(ROOT / "tests"))


class Snap(Protocol):
    """Compares the browser, after some keys, with its picture."""

    def __call__(
        self,
        app: HermesApp,
        *keys: Keys,
        size: tuple[int, int] = WIDE,
        script: Script | None = None,
    ) -> None: ...


@pytest.fixture
def server() -> Iterator[DemoServer]:
    """A server that answers at once."""
    with DemoServer(delay=0) as demo:
        yield demo


@pytest.fixture(autouse=True)
def still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what differs between two runs, or between two machines."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TMUX", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda _: None)
    monkeypatch.setattr(list_pane, "REST", 0)
    monkeypatch.setattr(store_access, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(status_bar, "SECONDS", NEVER)
    monkeypatch.setattr(status_bar, "ERROR_SECONDS", NEVER)
    monkeypatch.setattr(pytest_textual_snapshot, "SVGImageExtension", Pictures)
    with utc():
        yield


@pytest.fixture(autouse=True)
def off_the_loop() -> Iterator[None]:
    """See that no screen waits for the database on the event loop."""
    with watched() as refused:
        yield
    assert not refused, f"on the event loop: {refused}"


@contextmanager
def utc() -> Iterator[None]:
    """Let it be Greenwich for a while."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the browser look for changes often."""
    monkeypatch.setattr(store_access, "POLL_SECONDS", 0.02)


@pytest.fixture(scope="session")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of sample sessions that nobody changes."""
    path = tmp_path_factory.mktemp("sample") / "state.db"
    with utc():
        create(path, SAMPLE_SESSIONS, now=NOW)
    with Store(path) as store:
        store.search.prepare()
    with raw(path) as con:
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def three(path: Path) -> Path:
    """A file with three conversations; `three` is the newest."""
    stock.several(path, *stock.THREE)
    return path


@pytest.fixture
def sample(sample_file: Path, path: Path) -> Path:
    """A copy of the sample, for one test alone."""
    for ending in ("", ".words"):
        shutil.copy(f"{sample_file}{ending}", f"{path}{ending}")
    return path


async def measure(pilot: Pilot[Any]) -> None:
    """Find all heights of a transcript: its scroll bar shows guesses for what was never seen."""
    for view in pilot.app.screen.query(Transcript):
        for place in range(len(view.laid_out.heights)):
            view.laid_out.height(place)
        view.measure()
        view.refresh()
    await settle(pilot)


@pytest.fixture
def snap(snap_compare: Any) -> Snap:
    """Take a picture, and compare it with the one that is kept."""

    def compare(
        app: HermesApp,
        *keys: Keys,
        size: tuple[int, int] = WIDE,
        script: Script | None = None,
    ) -> None:
        async def before(pilot: Pilot[Any]) -> None:
            await load(pilot)
            if script is not None:
                await script(pilot)
            await press(pilot, *keys)
            await measure(pilot)

        same = snap_compare(app, terminal_size=size, run_before=before)
        assert app.crash_log is None, app.crash_log.read_text()
        assert same

    return compare
