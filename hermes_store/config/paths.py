"""Where Hermes stores its files: the home folder, profiles, the database, the transcripts."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hermes_store.errors import InvalidInput, NotFound

DATABASE_NAME = "state.db"

CONFIG_NAME = "config.yaml"
BROWSER_STATE_NAME = "browser-state.json"
MOST_CONFIG_BYTES = 500_000
"""The largest config.yaml that is read; parsing more would take many seconds."""


def expanded(path: Path) -> Path:
    """Return a path with the home folder for a leading ~; InvalidInput if there is none."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise InvalidInput(
            f"'{path}' cannot be used, because the home folder {path.parts[0]} is unknown. "
            "Write the path in full."
        ) from None


def default_home() -> Path:
    """Return the folder Hermes uses when HERMES_HOME is not set."""
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local) / "hermes"
    return expanded(Path("~")) / ".hermes"


def hermes_home() -> Path:
    """Return $HERMES_HOME, or the default home folder."""
    configured = os.environ.get("HERMES_HOME", "").strip()
    return expanded(Path(configured)) if configured else default_home()


def database_path(home: Path | None = None) -> Path:
    """Return the path of a home folder's session database."""
    return (home or hermes_home()) / DATABASE_NAME


def sessions_dir(home: Path | None = None) -> Path:
    """Return the folder that holds the JSONL transcripts."""
    return (home or hermes_home()) / "sessions"


def drafts_file(database: Path) -> Path:
    """Return the file that holds what was typed in the chat but not sent."""
    return database.with_name(f"{database.name}.drafts")


def own_files(database: Path) -> Iterator[Path]:
    """Yield the files beside a database that Hermes needs, whether they exist or not."""
    home = database.parent
    yield from (home / CONFIG_NAME, home / ".env", sessions_dir(home) / "sessions.json")
    yield home / BROWSER_STATE_NAME
    drafts = drafts_file(database)
    yield from (drafts, drafts.with_name(f"{drafts.name}.lock"))
    real = Path(os.path.realpath(database))
    yield from (
        real.with_name(f"{real.name}.words{part}") for part in ("", ".part", ".new", ".lock")
    )
    for file in ("", ".companion"):
        for log in ("", "-wal", "-shm", "-journal"):
            yield real.with_name(f"{real.name}{file}{log}")


def create_folder(folder: Path) -> None:
    """Create a missing folder, and its missing parents, for the owner alone."""
    # `Path.mkdir` gives the mode to the last folder only, and everybody's to its parents.
    if not folder.parent.exists():
        create_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def profile_home(name: str, root: Path | None = None) -> Path:
    """Return the home folder of a named profile ('default' is the root itself)."""
    base = root or hermes_home()
    if name in ("", "default"):
        return base
    if Path(name).name != name or name in (".", ".."):
        raise InvalidInput(f"'{name}' is not a valid profile name. Use a single folder name.")
    home = base / "profiles" / name
    if not home.is_dir():
        known = ", ".join(profiles(base)) or "none"
        raise NotFound(f"There is no profile '{name}' in {base}. Available profiles: {known}.")
    return home


def profiles(root: Path | None = None) -> tuple[str, ...]:
    """Return the sorted names of all profiles that have a folder."""
    folder = (root or hermes_home()) / "profiles"
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir()))


def write_privately(path: Path, value: object, indent: int | None = None) -> None:
    """Replace a small file with a value as JSON; only its owner can read it."""
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(made, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=indent)
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)
