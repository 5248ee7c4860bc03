"""A field for one line of text."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widgets import Input

from hermes_store.records.safe_text import clean


class Field(Input):
    """Shows what is put into it, stored titles and pasted text too, and never obeys it."""

    # A browser that stays open all day should rest when nobody types; blinking took half of what
    # it used then.
    cursor_blink = reactive(False, init=False)

    def validate_value(self, value: str) -> str:
        """Make a text harmless to a terminal."""
        return clean(value).replace("\n", " ").replace("\t", " ")
