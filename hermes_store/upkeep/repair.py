"""Repairing a database: only what is proven broken, by the least step that mends it.

Indexes are built again, in the file. Only if tables are damaged, everything readable is carried
over into a new file, whose pages then replace those of the old one; that needs the lock that
SQLite gives to the only user of a file. The schema and its version stay what they are, whichever
Hermes made them. Before the first change the database is copied as it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import apsw

from hermes_store import errors
from hermes_store.engines.sqlite import damage, fulltext, migrations
from hermes_store.engines.sqlite.closing import empty_log, guard_close
from hermes_store.engines.sqlite.damage import Damage, find_damage
from hermes_store.engines.sqlite.error_translation import missing, translated
from hermes_store.engines.sqlite.file_capabilities import probe
from hermes_store.engines.sqlite.files_seen import beside, real_path
from hermes_store.engines.sqlite.lock_waiting import TRY_SECONDS, busy_handler
from hermes_store.engines.sqlite.salvage import Salvaged, salvage
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.records.upkeep_reports import Repair

_CHUNK = 4_000_000
_OF_HERMES = ("sessions", "messages", "state_meta", "schema_version")


def repair(path: Path) -> Repair:
    """Mend what is broken in a database; do nothing if nothing is."""
    given, path = path, real_path(path)
    if not path.exists():
        raise missing(given)
    with translated(given):
        done = _finish_interrupted(path, Repair())
        done = _mend(path, done)
        return _own_additions(path, done)


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as con:
        guard_close(con)
        con.set_busy_handler(busy_handler(TRY_SECONDS * 4))
        yield con


def _finish_interrupted(path: Path, done: Repair) -> Repair:
    """Let SQLite undo a change that a crash has left half way."""
    journal = beside(path, "-journal")
    hot = journal.exists() and journal.stat().st_size > 0
    with _opened(path) as con, suppress(apsw.CorruptError):
        con.execute("PRAGMA schema_version").fetchall()
    if hot and not journal.exists():
        return _and(done, "Undid a change that was left half way.")
    return done


def _mend(path: Path, done: Repair) -> Repair:
    """Mend Hermes' own tables, with the least step that is enough."""
    with _opened(path) as con:
        found, declarations = find_damage(con), damage.mended_declarations(con)
        if not found.found and not declarations:
            return done
        with _kept(path, con) as original:
            done = replace(done, original=original)
            if declarations:
                damage.declare(con, declarations)
                tables = " and ".join(sorted(declarations))
                done = _and(done, f"Corrected names of columns in the declaration of {tables}.")
                found = find_damage(con)
            done, found = _rebuild(con, done, found)
            empty_log(con, path)  # a backup copied to this path later must not get it
    if not found.found:
        return done
    try:
        return _carry_over(path, done)
    except errors.DatabaseCorrupt:
        if not done.steps:  # the database is still what was copied
            for ending in ("", "-wal"):
                beside(original, ending).unlink(missing_ok=True)
        raise


def _rebuild(con: apsw.Connection, done: Repair, found: Damage) -> tuple[Repair, Damage]:
    """Build again what can be built from the rest of the file."""
    if found.tables:
        return done, found
    steps: tuple[tuple[bool, Callable[[], None], str], ...] = (
        (
            bool(found.indexes),
            lambda: damage.rebuild_indexes(con, found.indexes),
            f"Rebuilt {_names(found.indexes, 'index', 'indexes')} from the table.",
        ),
        (
            bool(found.fulltext),
            lambda: damage.rebuild_fulltext(con, found.fulltext),
            f"Rebuilt {_names(found.fulltext, 'search index', 'search indexes')}.",
        ),
        (
            found.free_pages,
            lambda: damage.rebuild_free_pages(con),
            "Rebuilt the list of free pages.",
        ),
    )
    stuck = False
    for needed, step, said in steps:
        if not needed:
            continue
        try:
            step()
        except (apsw.CorruptError, apsw.ConstraintError, apsw.IOError):
            return done, replace(found, tables=True)
        except apsw.SQLError as error:
            stuck = True
            done = replace(done, lost=(*done.lost, _not_rebuilt(found, error)))
            continue
        done = _and(done, said)
    left = find_damage(con)
    return done, Damage() if stuck and not left.tables else left


def _not_rebuilt(found: Damage, error: apsw.Error) -> str:
    names = ", ".join(sorted(found.indexes | found.fulltext))
    return f"Not everything in {names} could be rebuilt ({error}); Hermes Agent may be able to."


def _names(names: frozenset[str], one: str, many: str) -> str:
    return f"the {one if len(names) == 1 else many} {', '.join(sorted(names))}"


def _free_name(path: Path, what: str) -> Path:
    stamp = f".{what}-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while (found := beside(path, stamp if number == 1 else f"{stamp}-{number}")).exists():
        number += 1
    return found


def _and(done: Repair, step: str) -> Repair:
    return replace(done, steps=(*done.steps, step))


# -- keeping the original ------------------------------------------------------------------------


@contextmanager
def _kept(path: Path, con: apsw.Connection) -> Iterator[Path]:
    """Copy the database and its log as they are, before the block changes anything."""
    kept = _free_name(path, "damaged")
    descriptors: list[int] = []
    con.execute("PRAGMA writable_schema = ON")  # opens even a file that is too short
    try:
        # Nobody can write while the files are copied; the log can only be read.
        con.execute("BEGIN IMMEDIATE")
        try:
            for ending in ("", "-wal"):
                if beside(path, ending).exists():
                    _copy(beside(path, ending), beside(kept, ending), descriptors)
        except OSError as error:
            for ending in ("", "-wal"):
                beside(kept, ending).unlink(missing_ok=True)
            raise errors.DatabaseUnreadable(
                f"{path} cannot be copied before the repair: {error.strerror}. Nothing was "
                "changed. Free some space, or copy it elsewhere and repair the copy."
            ) from error
        finally:
            con.execute("ROLLBACK")
            con.execute("PRAGMA writable_schema = RESET")
        yield kept
    finally:
        con.close()
        # Closing a file that SQLite has open drops its locks, so not before the connection.
        for descriptor in descriptors:
            os.close(descriptor)


def _copy(source: Path, target: Path, opened: list[int]) -> None:
    """Copy a file for its owner only; the open source is added to a list."""
    opened.append(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
    with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        place = 0
        while data := os.pread(opened[-1], _CHUNK, place):
            out.write(data)
            place += len(data)
        out.flush()
        os.fsync(out.fileno())


# -- damaged tables --------------------------------------------------------------------------------


def _carry_over(path: Path, done: Repair) -> Repair:
    """Carry everything readable over into a new file, and put its pages in place."""
    mended = _free_name(path, "repaired")
    with _opened(path) as con:
        con.execute("PRAGMA writable_schema = ON")  # opens even a file that is too short
        alone = _is_alone(con)
        try:
            saved = salvage(con, mended)
            _refuse_to_lose_tables(path, saved)
        except BaseException:
            for ending in ("", "-journal"):
                beside(mended, ending).unlink(missing_ok=True)
            raise
        if not saved.rows.get("schema_version", 1):
            saved.lost.append("The schema version could not be read; the schema is unchanged.")
        done = replace(done, lost=(*done.lost, *saved.lost))
        if not alone:
            return replace(_and(done, _recovered(saved)), beside=mended)
        with closing(apsw.Connection(str(mended), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            if find_damage(source).found:
                raise errors.DatabaseCorrupt(
                    f"{path} could not be repaired: the recovered copy {mended} is damaged, too. "
                    "Nothing was replaced."
                )
            with con.backup("main", source, "main") as pages:
                pages.step()
        con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    mended.unlink()
    return _and(done, _recovered(saved))


def _refuse_to_lose_tables(path: Path, saved: Salvaged) -> None:
    lost = sorted({"sessions", "messages"} & saved.declared - saved.rows.keys())
    if lost:
        raise errors.DatabaseCorrupt(
            f"{path} could not be repaired: the declaration of {' and '.join(lost)} is damaged, "
            "and without it the rows cannot be read. Nothing was changed."
        )


def _is_alone(con: apsw.Connection) -> bool:
    """Take the lock that SQLite gives only to the sole user of a file; keep it if granted."""
    con.execute("PRAGMA locking_mode = EXCLUSIVE")
    try:
        con.execute("BEGIN EXCLUSIVE")
        con.execute("COMMIT")
    except (apsw.BusyError, apsw.LockedError):
        con.execute("PRAGMA locking_mode = NORMAL")
        return False
    return True


def _recovered(saved: Salvaged) -> str:
    found = (_count(saved.rows.get(f"{each}s", 0), each) for each in ("session", "message"))
    return f"Recovered {' and '.join(found)} from damaged pages."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# -- this program's own additions ------------------------------------------------------------------


def _own_additions(path: Path, done: Repair) -> Repair:
    """Add or rebuild what this program derives from Hermes' tables, and what Hermes 11 lacks."""
    if done.beside is not None:
        return done
    with _opened(path) as con:
        caps = probe(con)
        if caps.foreign or caps.empty:
            return done
        current = migrations.is_current(con)
        indexed = not current or not fulltext.is_external(con) or not fulltext.check(con)
    if current and indexed:
        return done
    lost = [each for each in _OF_HERMES if each not in caps.tables]
    if lost and done.original is None:
        with _opened(path) as con, _kept(path, con) as original:
            done = replace(done, original=original)
    said = (f"The table {each} was missing; whatever it contained is lost." for each in lost)
    done = replace(done, lost=(*done.lost, *said))
    with closing(SqliteDatabase(path)) as db:
        if not indexed:
            with db.write() as tx:
                fulltext.start_rebuild(tx.connection)
            migrations.finish_rebuild(db.write, None)
            return _and(done, "Rebuilt the search indexes from the messages.")
    return _and(done, "Added the tables and indexes that were missing.")
