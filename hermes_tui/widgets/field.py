"""A field for one line of text."""

from __future__ import annotations

from textual.widgets import Input

from hermes_store.text import clean


class Field(Input):
    """Shows what is put into it, stored titles and pasted text too, and never obeys it."""

    def validate_value(self, value: str) -> str:
        """Make a text harmless to a terminal."""
        return clean(value).replace("\n", " ").replace("\t", " ")
