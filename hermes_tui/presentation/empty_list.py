"""Why a list is empty, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from hermes_store.errors import DatabaseMissing, StoreError
from hermes_store.records.listing import View
from hermes_store.records.safe_text import clean
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.fit_text import short_path


def nothing_found(
    error: StoreError | None, unfinished: str | None = None, here: str | None = None
) -> Content:
    """Return the text for a search without results, one that failed, or one still going on.

    `here` is the only workspace that was searched.
    """
    if error is not None:
        return _text("The search failed", clean(str(error)))
    if unfinished is not None:
        return _text("Nothing so far", f"Still looking: {unfinished}")
    if here is not None:
        return _text(f"Nothing found in {clean(short_name(here))}", "F5 searches all workspaces.")
    return _text(
        "Nothing found",
        "Try fewer words, or only the beginning of one. Esc clears the search, F1 explains its "
        "language.",
    )


def nothing_listed(
    error: StoreError | None, view: View, database: Path | str, *, hidden: bool
) -> Content:
    """Return the text for a list without conversations."""
    if error is not None and not isinstance(error, DatabaseMissing):
        return _text("This database cannot be read", clean(str(error)))
    if view.workspace is not None:
        title = f"No conversations in a workspace '{clean(view.workspace)}'"
        return _text(title, "Run without --workspace to see all conversations.")
    if hidden:
        return _text("All conversations are hidden", "h chooses which to show, H shows them all.")
    if view.source is not None:
        title = f"No conversations from {clean(view.source)}"
        return _text(title, "Run without --source to see all conversations.")
    return _text(
        "No conversations yet",
        f"Hermes Agent keeps them in {clean(short_path(database))}. Talk to it, or press Ctrl+N to "
        "start one here, and they appear. For a tour with sample conversations, run "
        "'hermes sessions browse --demo'.",
    )


def _text(title: str, text: str) -> Content:
    return Content.assemble((f"{title}\n\n", "bold"), (text, "$foreground-muted"))
