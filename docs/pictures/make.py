"""Take the screenshots for README and docs from the real program: `make pictures`.

Runs the browser on sample sessions with a fixed clock, presses some keys and saves the screen.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from textual.worker import WorkerCancelled

from hermes_store.config.settings import Config, ModelConfig
from hermes_tui.app import HermesApp
from hermes_tui.chat.input_field import Prompt
from hermes_tui.cli.common.builtin_chat import conversation_maker
from hermes_tui.demo.model_server import DemoServer
from hermes_tui.demo.sample_sessions import create
from hermes_tui.start_options import Opening
from hermes_tui.store_access import Access

NOW = 1_790_000_000.0
HERE = Path(__file__).resolve().parent
SIZE = (120, 34)

PICTURES: dict[str, list[str]] = {
    "browse": [],
    "search": [*"docker deploy", "tab", "2"],
    "lineage": [*"is:compressed", "tab", "right", "3"],
    "prune": ["f2"],
    "statistics": ["f3"],
}


async def _settle(app: HermesApp, pilot: object) -> None:
    with suppress(WorkerCancelled):
        await app.workers.wait_for_complete()
    await pilot.pause(0.2)  # type: ignore[attr-defined]


async def _take(name: str, keys: list[str], database: Path) -> None:
    opening = Opening(database=database, clock=lambda: NOW, demo=True)
    app = HermesApp(Access(database, Config()), opening)
    async with app.run_test(size=SIZE) as pilot:
        await _settle(app, pilot)
        for key in keys:
            await pilot.press("space" if key == " " else "colon" if key == ":" else key)
            await _settle(app, pilot)
        await pilot.pause(1.2)
        await _settle(app, pilot)
        app.save_screenshot(f"{name}.svg", path=str(HERE))


async def _take_chat(database: Path, base_url: str) -> None:
    model = ModelConfig(default="demo", base_url=base_url)
    config = Config(model=model)
    make = conversation_maker(database, config, {"OPENAI_API_KEY": "demo"}, lambda: NOW)
    opening = Opening(database=database, clock=lambda: NOW, open_chat=make, chat_first=True)
    app = HermesApp(Access(database, config), opening)
    async with app.run_test(size=(100, 30)) as pilot:
        await _settle(app, pilot)
        app.screen.query_one(Prompt).replace_text("What did we say about docker?")
        await pilot.press("enter")
        for _ in range(20):
            await _settle(app, pilot)
        app.save_screenshot("chat.svg", path=str(HERE))


def main() -> None:
    """Take all screenshots."""
    os.environ |= {"TZ": "UTC", "COLORTERM": "truecolor"}
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "state.db"
        create(database, 120, now=NOW)
        for name, keys in PICTURES.items():
            asyncio.run(_take(name, keys, database))
            print(HERE / f"{name}.svg")
        with DemoServer() as server:
            asyncio.run(_take_chat(database, server.base_url))
        print(HERE / "chat.svg")


if __name__ == "__main__":
    main()
