"""`hermes sessions restore`: restore conversations from the trash."""

from __future__ import annotations

from hermes_tui.cli.trash import restore as run
from hermes_tui.cli.trash import restore_arguments as describe

__all__ = ["describe", "run"]
