"""A home with sessions, and terminals with the browser in them."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.sample_sessions import create
from hermes_store import SessionDB
from tests.e2e.terminal import PATIENCE, Terminal
from tests.support import add

HERMES = Path(sys.executable).parent / "hermes"
SAMPLE = 40
# Named so that nothing in the sample has these words.
QUOKKA, NUMBAT, POTOROO = "20260101_000001_aaaaaaaa", "20260101_000002_bbbbbbbb", "old_potoroo"


@dataclass
class Home:
    """A home folder, and the surroundings in which programs run there."""

    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        """The session database."""
        return self.folder / "state.db"

    def configure(self, text: str) -> None:
        """Write config.yaml."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "config.yaml").write_text(text)

    def environment(self) -> dict[str, str]:
        """Return surroundings with nobody else's settings, and no other `hermes`."""
        return {
            "HERMES_HOME": str(self.folder),
            "HOME": str(self.folder.parent),
            "LANG": "C.UTF-8",
            "PATH": f"{HERMES.parent}:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "TEXTUAL_DISABLE_KITTY_KEY": "1",
            "TMPDIR": str(self.folder.parent),
            "TZ": "UTC",
            **self.more,
        }

    def titles(self) -> dict[str, str | None]:
        """Return the titles of the sessions that there are."""
        with SessionDB(self.database, read_only=True) as db:
            return {row["id"]: row["title"] for row in db.search_sessions(limit=1_000)}


Browse = Callable[..., Terminal]
Open = Callable[..., Terminal]


def _fill(path: Path) -> None:
    now = time.time()
    create(path, SAMPLE, now=now - 3_600)
    with SessionDB(path) as db:
        add(
            db,
            QUOKKA,
            "Where do quokkas live? On Rottnest island, as /srv/quokka/map.txt says.",
            *(f"Filler number {place} about marsupials." for place in range(60)),
            "And the last word is eucalyptus.",
            at=now - 1_500,
            ended=now - 1_400,
            title="Quokka habitat",
        )
        add(db, NUMBAT, "Numbats eat termites.", at=now - 2_000, ended=now - 1_900, title="Numbats")
        long_ago = now - 500 * 86_400
        add(db, POTOROO, "Potoroo.", at=long_ago, ended=long_ago + 9, title="Potoroo, very old")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder with a database that is made once for all processes of a test run."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            unfinished.mkdir()
            make(unfinished / "state.db")
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database of sample sessions and three known ones; copied, never changed."""
    return made_once(tmp_path_factory, "sample", _fill)


@pytest.fixture
def place(home: Path, sample: Path) -> Home:
    """A home with sample sessions."""
    shutil.copytree(sample, home)
    return Home(home)


@pytest.fixture
def bare(home: Path) -> Home:
    """A home with nothing in it."""
    home.mkdir()
    return Home(home)


@pytest.fixture
def open_terminal() -> Iterator[Open]:
    """Start a program in a terminal."""
    opened: list[Terminal] = []

    def start(
        home: Home,
        *command: str | Path,
        size: tuple[int, int] = (120, 36),
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> Terminal:
        terminal = Terminal(
            command,
            home.environment(),
            size=size,
            folder=home.folder.parent,
            stdin=stdin,
            stdout=stdout,
        )
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def browse(open_terminal: Open) -> Browse:
    """Start the browser in a terminal and wait until it shows something."""

    def start(
        home: Home, *arguments: str, size: tuple[int, int] = (120, 36), shows: str = "Quokka"
    ) -> Terminal:
        terminal = open_terminal(home, HERMES, "sessions", "browse", *arguments, size=size)
        terminal.wait_open()
        terminal.wait_for(shows)
        return terminal

    return start


def go_to_list(terminal: Terminal) -> None:
    """Give the keys to the list."""
    terminal.send("tab")
    terminal.wait_for(" u undo")


def eventually(test: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something outside of the terminal is true."""
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.05)
