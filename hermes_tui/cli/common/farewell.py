"""What is printed after leaving a chat: its session, and how to come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_store.errors import StoreError
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain

if TYPE_CHECKING:
    from hermes_tui.opening.start_options import Choice


def say(context: Context, choice: Choice) -> None:
    """Name the session that was left, and the command that resumes it."""
    session_id = choice.session_id
    if not choice.left or session_id is None:
        return
    try:
        with context.store() as store:
            title = store.sessions.get(session_id).title
    except StoreError:  # gone or locked meanwhile; its id is still worth printing
        title = None
    named = f" “{plain(title)}”" if title else ""
    context.printer.line(f"Session {session_id}{named}")
    context.printer.line(f"Resume with: hermes --resume {session_id}")
    context.printer.flush()
