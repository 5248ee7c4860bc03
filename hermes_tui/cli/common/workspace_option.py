"""The option `--workspace`, shared by the verbs that list, search, export and prune."""

from __future__ import annotations

import argparse


def add(parser: argparse._ActionsContainer, verb: str) -> None:
    """Add the option; `verb` says what the command does, such as 'list'."""
    parser.add_argument(
        "--workspace",
        metavar="NEEDLE",
        help=f"{verb} only repositories and folders with this in their path",
    )
