"""Runs the browser on the demo's sessions, without a terminal and with a clock that stands still.

Pictures and the film both drive it: press keys, wait until nothing moves, look at the screen.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from hermes_store.config.settings import Config, ModelConfig
from hermes_store.records.listing import Grouping, View
from hermes_tui.app import HermesApp
from hermes_tui.cli.common.builtin_chat import conversation_maker
from hermes_tui.demo import sample
from hermes_tui.demo.model_server import DemoServer
from hermes_tui.opening.start_options import Choice, Opening
from hermes_tui.store_access import Access

NOW = 1_790_000_000.0
"""What the clock says: Monday, 21 September 2026, 14:13:20 UTC."""
HERE = Path(__file__).resolve().parent
Size = tuple[int, int]
QUIET = 0.25
"""Seconds in which nothing may change on screen before a picture is taken."""


def prepare() -> None:
    """Make surroundings that give the same pictures on every machine."""
    os.environ |= {"TZ": "UTC", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"}
    os.environ.pop("NO_COLOR", None)
    time.tzset()


@contextmanager
def sample_database() -> Iterator[Path]:
    """A database with the demo's sessions; it may be changed."""
    with tempfile.TemporaryDirectory(prefix="hermes-pictures-") as name:
        database = Path(name) / "state.db"
        sample.create(database, NOW)
        yield database


@contextmanager
def copy_of(database: Path) -> Iterator[Path]:
    """A copy of a database and of what lies beside it, under the same name."""
    with tempfile.TemporaryDirectory(prefix="hermes-pictures-") as name:
        folder = Path(name) / "demo"
        shutil.copytree(database.parent, folder)
        yield folder / database.name


@dataclass(frozen=True)
class Stage:
    """A running browser."""

    app: HermesApp
    pilot: Pilot[Choice]

    async def settle(self) -> None:
        """Wait until no worker runs and the screen has stopped changing."""
        while True:
            before = self.rows()
            with suppress(WorkerCancelled):
                await self.app.workers.wait_for_complete()
            await self.pilot.pause(QUIET)
            if self.app.is_running and before == self.rows():
                return

    async def press(self, key: str) -> None:
        """Press a key and wait for what it does."""
        await self.pilot.press(key)
        await self.settle()

    def rows(self) -> list[list[Segment]]:
        """Return what is on screen, row by row."""
        columns, lines = self.app.size
        console = Console(
            width=columns, height=lines, file=StringIO(), force_terminal=True,
            color_system="truecolor", legacy_windows=False,
        )  # fmt: skip
        picture = self.app.screen._compositor.render_update(
            full=True, screen_stack=self.app._background_screens, simplify=True
        )
        assert picture is not None
        segments = [each for each in console.render(picture) if not each.control]
        return [list(line) for line in Segment.split_lines(segments)][:lines]


@asynccontextmanager
async def browser(
    database: Path, size: Size, theme: str = "hermes-dark", chat: str = ""
) -> AsyncIterator[Stage]:
    """Run the browser; or the chat, with the address of a model's server."""
    config = Config(model=ModelConfig(default="demo", base_url=chat)) if chat else Config()
    make = conversation_maker(database, config, {"OPENAI_API_KEY": "demo"}, lambda: NOW)
    opening = Opening(
        database=database, clock=lambda: NOW, theme=theme, demo=True,
        view=View(group=Grouping.DATE),
        open_chat=make if chat else None, chat_first=bool(chat),
    )  # fmt: skip
    app = HermesApp(Access(database, config), opening)
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=True) as pilot:
        stage = Stage(app, pilot)
        await stage.settle()
        yield stage


@contextmanager
def model() -> Iterator[str]:
    """A server with the demo's model; its address."""
    with DemoServer(delay=0) as server:
        yield server.base_url
