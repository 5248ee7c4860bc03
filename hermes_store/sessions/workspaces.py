"""Workspaces: the repository or folder in which a conversation took place.

The key of a workspace is the root of the repository, or else the folder; the branch only describes
a session, so that another branch does not tear a workspace apart. Files that lack the columns have
no workspaces.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hermes_store.engines.base import Capabilities, Transaction
from hermes_store.errors import InvalidInput
from hermes_store.records.safe_text import clean
from hermes_store.records.sql_patterns import like
from hermes_store.records.stored_values import text
from hermes_store.records.workspace import Place

MAX_NEEDLE = 4_000
COLUMNS = ("git_repo_root", "cwd")
"""What can name a workspace, the most telling first."""


def key(caps: Capabilities, alias: str) -> str:
    """Return the SQL for the key of a session's workspace; NULL if it has none."""
    present = [name for name in COLUMNS if caps.has_session(name)]
    named = ", ".join(f"NULLIF(TRIM({alias}.{name}), '')" for name in present)
    return f"COALESCE({named}, NULL)" if named else "NULL"


def part_of_path(needle: str) -> str:
    """Return a part of a path as workspaces have it, without the slash that shells add."""
    wanted = needle.strip()
    return wanted.rstrip("/\\") or wanted


def matches(caps: Capabilities, alias: str, needle: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that a part of the path is `needle`, and its values.

    A blank needle is no condition.
    """
    wanted = part_of_path(needle)
    if not wanted:
        return "TRUE", ()
    if len(wanted) > MAX_NEEDLE:
        raise InvalidInput(f"A part of a path has at most {MAX_NEEDLE:,} characters.")
    return caps.dialect.like(key(caps, alias)), (like(wanted),)


def is_in(caps: Capabilities, alias: str, workspace: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that a session took place in a workspace or a folder below it."""
    tests, values = [], []
    if caps.has_session("git_repo_root"):
        tests.append(f"TRIM({alias}.git_repo_root) = ?")
        values.append(workspace)
    if caps.has_session("cwd"):
        alone = f"COALESCE(TRIM({alias}.git_repo_root), '') = '' AND " if tests else ""
        below = (f"{workspace}/", f"{workspace}\\")
        within = f"substr(TRIM({alias}.cwd), 1, {len(workspace) + 1}) IN (?, ?)"
        tests.append(f"({alone}(TRIM({alias}.cwd) = ? OR {within}))")
        values += [workspace, *below]
    return f"({' OR '.join(tests)})" if tests else "FALSE", tuple(values)


def scope(
    caps: Capabilities, alias: str, needle: str | None, workspace: str | None
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the conditions for a part of the path and for a workspace, whichever is given."""
    found = []
    if needle is not None:
        found.append(matches(caps, alias, needle))
    if workspace is not None:
        found.append(is_in(caps, alias, workspace))
    return found


def known(tx: Transaction) -> Counter[str]:
    """Return the keys of all workspaces with their numbers of sessions."""
    rows = tx.rows(f"SELECT {key(tx.caps, 's')} AS w, COUNT(*) FROM sessions s GROUP BY w")
    return Counter({text(found): number for found, number in rows if found is not None})


def branches(tx: Transaction) -> Counter[str]:
    """Return the branches of all sessions with their numbers of sessions."""
    if not tx.caps.has_session("git_branch"):
        return Counter()
    rows = tx.rows("SELECT git_branch, COUNT(*) FROM sessions GROUP BY git_branch")
    return Counter({text(found): number for found, number in rows if found})


def here(tx: Transaction, place: Place) -> str | None:
    """Return the workspace of a folder if any conversation took place there."""
    for wanted in (place.git_repo_root, place.cwd):
        if wanted is None:
            continue
        condition, values = is_in(tx.caps, "s", wanted)
        if tx.one(f"SELECT 1 FROM sessions s WHERE {condition} LIMIT 1", values) is not None:
            return wanted
    return None


# -- folders on this machine -------------------------------------------------------------------


def place_of(folder: Path) -> Place:
    """Return a folder with the root and the branch of its repository, read without running git."""
    for above in (folder, *folder.parents):
        marker = above / ".git"
        if marker.exists():
            return Place(str(folder), str(above), _branch(marker))
    return Place(str(folder))


def place_here() -> Place | None:
    """Return the current folder as a place; None if it was deleted."""
    try:
        return place_of(Path.cwd())
    except OSError:
        return None


def _branch(marker: Path) -> str | None:
    """Return the branch that is checked out; None if there is none or it cannot be read."""
    try:
        if marker.is_file():  # a worktree or a submodule says where its files are
            said = marker.read_text("utf-8", "replace").strip().removeprefix("gitdir:").strip()
            marker = (marker.parent / said).resolve()
        head = (marker / "HEAD").read_text("utf-8", "replace").strip()
    except (OSError, ValueError):  # also a path with a NUL in it
        return None
    name = head.removeprefix("ref:").strip().removeprefix("refs/heads/")
    return clean(name) if head.startswith("ref:") and name else None
