"""Take the pictures for README and docs from the real program: `make pictures`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import stage
from drawing import still


@dataclass(frozen=True)
class Picture:
    """What to press before the picture is taken."""

    name: str
    keys: tuple[str, ...] = ()
    """Keys as Textual names them; letters and signs stand for themselves."""
    size: stage.Size = (120, 34)
    theme: str = "hermes-dark"
    chat: bool = False
    title: str = "hermes sessions browse"


CI = (*"exit code 137", "tab")
LINEAGE = ("ctrl+t", "ctrl+t")
"""From the transcript, which is the page at first."""

PICTURES = (
    Picture("browse"),
    Picture("search", CI),
    Picture("reading", (*CI, "z")),
    Picture("lineage", (*"is:compressed", "tab", "right", *LINEAGE)),
    Picture("figures", ("f3",)),
    Picture("trash", ("f4",)),
    Picture("clean-up", ("f2",)),
    Picture("light", theme="hermes-light"),
    Picture(
        "chat", (*"What did we say about docker?", "enter"), (100, 30), chat=True, title="hermes"
    ),
)


async def _take(picture: Picture, database: Path, chat: str) -> None:
    async with stage.browser(database, picture.size, picture.theme, chat) as running:
        for key in picture.keys:
            await running.press(key)
        drawn = still(running.rows(), picture.size[0], picture.title)
    path = stage.HERE / f"{picture.name}.svg"
    path.write_text(drawn, encoding="utf-8")
    print(path)


def main(names: list[str]) -> None:
    """Take all pictures, or those that are named."""
    stage.prepare()
    with stage.sample_database() as sample, stage.model() as address:
        for picture in PICTURES:
            if not names or picture.name in names:
                with stage.copy_of(sample) as database:
                    asyncio.run(_take(picture, database, address if picture.chat else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
