"""A one-line text field."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widgets import Input

from hermes_store.records.safe_text import clean


class Field(Input):
    """Shows any text, such as stored titles and pasted text, without control characters."""

    # Blinking took half of the CPU time of an idle browser, which may stay open all day.
    cursor_blink = reactive(False, init=False)

    def validate_value(self, value: str) -> str:
        """Make a text safe for a terminal."""
        return clean(value).replace("\n", " ").replace("\t", " ")
