"""Where a conversation took place."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEPARATORS = re.compile(r"[/\\]+")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, and the repository that it belongs to."""

    cwd: str | None = None
    git_repo_root: str | None = None
    git_branch: str | None = None

    @property
    def workspace(self) -> str | None:
        """The key of the workspace: the root of the repository, or else the folder."""
        return (self.git_repo_root or "").strip() or (self.cwd or "").strip() or None


def short_name(workspace: str) -> str:
    """Return the last name of a workspace's path; the root of a disk is named as it is."""
    parts = [part for part in _SEPARATORS.split(workspace) if part]
    return parts[-1] if parts else workspace


def long_name(workspace: str) -> str:
    """Return the last two names, for workspaces that have the same last name."""
    parts = [part for part in _SEPARATORS.split(workspace) if part]
    return "/".join(parts[-2:]) or workspace
