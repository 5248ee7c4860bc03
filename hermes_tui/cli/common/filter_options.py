"""The options that choose many conversations at once, shared by `prune` and `archive`.

Names and meanings are those of Hermes Agent. All conditions must hold.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from hermes_store.config import paths
from hermes_store.errors import InvalidInput
from hermes_store.records.prune import PruneFilter
from hermes_tui.cli.common import ages, source_option, workspace_option
from hermes_tui.cli.common.number_options import check_number

_NUMBERS = ("messages", "tokens", "tool_calls", "cost")
_TEXTS = {
    "title": "titles that contain this",
    "model": "models whose name contains this, such as sonnet",
    "provider": "this billing provider, such as openrouter",
    "end_reason": "this end reason, such as session_reset",
    "cwd": "sessions in this folder or below it",
    "branch": "git branches whose name contains this",
    "user": "this user id",
    "chat_id": "this chat or channel id",
    "chat_type": "this type of chat, such as dm or group",
}


def describe(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the options; `verb` is what the command does."""
    group = parser.add_argument_group("which conversations")
    group.add_argument(
        "--older-than", metavar="AGE", help=f"inactive for this long: {ages.EXAMPLES}, or a date"
    )
    group.add_argument("--newer-than", metavar="AGE", help="active within this time")
    group.add_argument(
        "--before", metavar="TIME", help="started longer ago than 2d, or before a date"
    )
    group.add_argument(
        "--after", metavar="TIME", help="started within the last 2d, or since a date"
    )
    source_option.add(group, verb, "cron")
    workspace_option.add(group, verb)
    for name, about in _TEXTS.items():
        group.add_argument(f"--{name.replace('_', '-')}", help=f"{verb} only {about}")
    for name in _NUMBERS:
        kind = float if name == "cost" else int
        unit = "USD" if name == "cost" else "N"
        for bound in ("min", "max"):
            flag = f"--{bound}-{name.replace('_', '-')}"
            group.add_argument(flag, type=kind, metavar=unit)
    group.add_argument("--where", help=f"{verb} only what matches these search fields")


def chosen(options: argparse.Namespace, now: float) -> PruneFilter:
    """Return the filter that the options describe, without any age of its own.

    Its source is as it was typed; `source_option.chosen` has the stored name.
    """
    bounds = {
        f"{bound}_{name}": getattr(options, f"{bound}_{name}")
        for name in _NUMBERS
        for bound in ("min", "max")
    }
    for name, value in list(bounds.items()):
        check_number(f"--{name.replace('_', '-')}", value, least=0)
        if name.startswith("min_"):
            bounds[name] = value or None  # nothing has less than none
    texts: dict[str, Any] = {name: _said(options, name) for name in _TEXTS}
    texts["cwd"] = texts["cwd"] and _folder(texts["cwd"])
    before, after = _times(options, now, "before", "after", "started")
    older, newer = _times(options, now, "older_than", "newer_than", "been active")
    return PruneFilter(
        older_than_days=None,
        active_before=older,
        active_after=newer,
        started_before=before,
        started_after=after,
        source=_said(options, "source"),
        workspace=_said(options, "workspace"),
        where=_said(options, "where") or "",
        **texts,
        **bounds,
    )


def _said(options: argparse.Namespace, name: str) -> str | None:
    """Return the text of an option; InvalidInput if it is blank.

    A script whose variable is not set must not get everything.
    """
    text: str | None = getattr(options, name)
    if text is not None and not text.strip():
        raise InvalidInput(f"--{name.replace('_', '-')} is empty. Give a value or leave it out.")
    return text


def _folder(text: str) -> str:
    """Return a folder as sessions name it: in full, if it is written relative to this one."""
    if text.startswith((".", "~")):
        return str(paths.expanded(Path(text)).resolve())
    return text


def _times(
    options: argparse.Namespace, now: float, upper: str, lower: str, what: str
) -> tuple[float | None, float | None]:
    found = []
    for name in (upper, lower):
        given = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        found.append(None if given is None else ages.moment(given, flag, now))
    high, low = found
    if high is not None and low is not None and low >= high:
        raise InvalidInput(
            f"--{upper.replace('_', '-')} and --{lower.replace('_', '-')} leave no time in which "
            f"a conversation could have {what}."
        )
    return high, low


def is_empty(found: PruneFilter) -> bool:
    """Return whether a filter has no condition at all."""
    nothing = PruneFilter(older_than_days=None)
    return all(getattr(found, each.name) == getattr(nothing, each.name) for each in fields(found))
