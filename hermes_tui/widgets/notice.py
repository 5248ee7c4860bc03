"""Messages of widgets to whoever shows or remembers something for them."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class Notice(Message):
    """A sentence to show."""

    text: str
    error: bool = False


class Keep(Message):
    """Something was chosen that the browser should remember, by the name of its field."""

    def __init__(self, **changes: object) -> None:
        super().__init__()
        self.changes = changes
