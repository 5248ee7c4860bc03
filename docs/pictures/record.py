"""Record the film for the README from the real program: `make pictures`.

The walk is one table. Every key gives a frame; the last frame of a step stays longer.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import stage
from drawing import Frame, film
from rich.segment import Segment
from rich.style import Style

SIZE = (110, 30)
KEY_SECONDS = 0.11
"""How long each key of a text that is typed stays."""
PROMPT, COMMAND = "$ ", "hermes sessions browse --demo"
LIMIT = 600_000
"""Bytes that a page can load without a thought."""


@dataclass(frozen=True)
class Step:
    """Keys to press, what stands above the screen meanwhile, and how long the result stays."""

    caption: str
    keys: tuple[str, ...]
    seconds: float


WALK = (
    Step("Every conversation with Hermes, in one list", (), 2.5),
    Step("Type: every message is searched as you type", (*"exit code 137",), 2.5),
    Step("The conversation opens at the match", ("tab", "tab"), 2.5),
    Step("n: the next match", ("n", "n"), 2.0),
    Step("z: the whole screen for reading", ("z",), 3.0),
    Step("t: the next tool call", ("t", "t"), 2.0),
    Step("Esc: back to the list", ("escape", "escape"), 1.0),
    Step("r: a better title", ("r", *"CI: 4 GB for the build"), 1.0),
    Step("Enter: renamed", ("enter",), 2.5),
    Step("u: and back again, as with every change", ("u",), 2.5),
    Step("q: quit", ("q",), 0.0),
)


def _shell(typed: str) -> list[list[Segment]]:
    """Return the screen of a shell with its cursor."""
    line = [
        Segment(PROMPT, Style(color="#6fb86f")),
        Segment(typed),
        Segment(" ", Style(reverse=True)),
    ]
    return [line, *([] for _ in range(SIZE[1] - 1))]


async def _walk(database: Path) -> list[Frame]:
    frames: list[Frame] = []
    async with stage.browser(database, SIZE) as running:
        for step in WALK:
            for key in step.keys:
                await running.pilot.press(key)
                if not running.app.is_running or running.app.return_code is not None:
                    break
                await running.settle()
                frames.append(Frame(running.rows(), KEY_SECONDS, step.caption))
            else:
                frames.append(Frame(running.rows(), step.seconds, step.caption))
    # The shell comes last: what shows no film shows the first frame.
    return [*_without_repeats(frames), Frame(_shell(""), 1.0), Frame(_shell(COMMAND), 1.0)]


def _without_repeats(frames: list[Frame]) -> list[Frame]:
    """Let a frame that looks like the one before make that one stay longer."""
    kept: list[Frame] = []
    for each in frames:
        if kept and (kept[-1].rows, kept[-1].caption) == (each.rows, each.caption):
            kept[-1] = Frame(each.rows, kept[-1].seconds + each.seconds, each.caption)
        else:
            kept.append(each)
    return kept


def main() -> None:
    """Record the walk."""
    stage.prepare()
    with stage.sample_database() as database:
        frames = asyncio.run(_walk(database))
    drawn = film(frames, SIZE[0])
    path = stage.HERE / "walk.svg"
    path.write_text(drawn, encoding="utf-8")
    seconds, size = sum(each.seconds for each in frames), len(drawn.encode())
    print(f"{path}: {len(frames)} frames, {seconds:.0f} s, {size:,} bytes")
    if size > LIMIT:
        sys.exit(f"That is more than {LIMIT:,} bytes; shorten the walk.")


if __name__ == "__main__":
    main()
