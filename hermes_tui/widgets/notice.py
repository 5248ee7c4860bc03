"""A message for the user, sent by a widget to its screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class Notice(Message):
    """A sentence to show."""

    text: str
    error: bool = False
