"""What every command needs: the home, the database and the printer."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config import paths
from hermes_store.config.database_address import (
    beside_server,
    configured_address,
    is_address,
    shown,
)
from hermes_store.errors import DatabaseMissing, InvalidInput, StoreError
from hermes_tui.cli.common.output import Printer, complain

if TYPE_CHECKING:
    from hermes_store.config.settings import Config
    from hermes_store.engines.base import Synchronous
    from hermes_store.store import Store


@dataclass(frozen=True, slots=True)
class Context:
    """Where a command looks, and where it prints."""

    home: Path
    database: Path
    printer: Printer
    now: float
    named: bool = False
    """Whether the command line names the database."""
    address: str | None = None
    """The address of the server that has the sessions, if one has; may hold a password."""

    @property
    def place(self) -> str:
        """What people call the database."""
        return shown(self.address or self.database)

    @contextmanager
    def store(self, *, read_only: bool = True, create: bool = False) -> Iterator[Store]:
        """Open the database for a block, with the durability that config.yaml sets."""
        if self.address is None and not create and not self.database.exists():
            if self.named:
                # Whoever names a file means one that exists: this is no empty history.
                raise StoreError(f"There is no session database at {self.database}.")
            raise DatabaseMissing(f"There is no session database at {self.database} yet.")

        # Reading does not need config.yaml, and must work with a broken one.
        durability = "FULL" if read_only else self.config().sessions.durability
        with self._opened(read_only, durability) as store:
            odd = store.unknown_layout() if read_only else None
            if odd is not None:
                complain(odd)
            yield store

    def _opened(self, read_only: bool, durability: Synchronous) -> Store:
        from hermes_store.store import Store

        try:
            return Store(self.address or self.database, read_only, synchronous=durability)
        except DatabaseMissing as error:
            if self.address is None:
                raise
            # Whoever names a server means one that has sessions: this is no empty history.
            raise StoreError(str(error)) from None

    def config(self) -> Config:
        """Load config.yaml from the home folder."""
        from hermes_store.config.settings import load_config

        return load_config(self.home)


def add_options(parser: argparse.ArgumentParser, *, reports: bool) -> None:
    """Add the options for the location of the database and, if asked, `--json`."""
    place = parser.add_argument_group("which database")
    place.add_argument("--home", type=Path, metavar="DIR", help="home folder instead of ~/.hermes")
    place.add_argument("--profile", metavar="NAME", help="profile inside the home folder")
    place.add_argument("--db", metavar="FILE", help="database file, or postgresql://… for a server")
    if reports:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def say_if_elsewhere(context: Context) -> None:
    """Say on standard error that config.yaml keeps sessions in PostgreSQL, if it does."""
    sentence = elsewhere(context)
    if sentence is not None:
        complain(sentence)


def elsewhere(context: Context) -> str | None:
    """Return that sentence, or None."""
    from hermes_store.config.agent_settings import elsewhere_sentence

    return elsewhere_sentence(context.home)


def from_options(options: argparse.Namespace) -> Context:
    """Return the context for a command line and the environment."""
    home: Path | None = getattr(options, "home", None)
    profile: str | None = getattr(options, "profile", None)
    named: str | None = getattr(options, "db", None)
    if named is not None and (home is not None or profile is not None):
        raise InvalidInput("--db already names the database; leave out --home and --profile.")
    for option, folder in (("--home", home), ("--profile", profile)):
        if folder is not None and re.match("[a-z]+:/", str(folder)):
            raise InvalidInput(f"{option} names a folder. The address of a server goes to --db.")
    address = named if is_address(named) else None
    if named is not None and address is None:
        database = paths.expanded(Path(named))
        base = database.parent
    else:
        base = paths.expanded(home) if home is not None else paths.hermes_home()
        if profile is not None:
            base = paths.profile_home(profile, base)
        if address is None and home is None and profile is None:
            address = configured_address(_absolute(base))
        database = paths.database_path(base)
        if address is not None:
            database = beside_server(_absolute(base), address)
    return Context(
        home=_absolute(base),
        database=_absolute(database),
        printer=Printer(as_json=getattr(options, "json", False)),
        now=time.time(),
        named=named is not None,
        address=address,
    )


def _absolute(path: Path) -> Path:
    """Return a path that stays the same when the program goes to another folder."""
    try:
        return path.absolute()
    except OSError:  # the current folder was deleted
        return path
