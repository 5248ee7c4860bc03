"""Text on a screen: nothing in it is markup, and none of it can control a terminal."""

from __future__ import annotations

from textual.content import Content
from textual.visual import VisualType
from textual.widgets import Static

from hermes_store.records.safe_text import clean, clean_in_place


class PlainText(Static):
    """Shows text of any origin."""

    def __init__(
        self, content: str | Content = "", *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(safe(content), id=id, classes=classes, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Replace the text."""
        if isinstance(content, str | Content):
            content = safe(content)
        super().update(content, layout=layout)


def safe(content: str | Content) -> str | Content:
    """Return text that is safe to show; styles stay where they are."""
    if isinstance(content, str):
        return clean(content)
    shown = clean_in_place(content.plain)
    return content if shown == content.plain else Content(shown, spans=list(content.spans))
