"""The tags dialog: edits the tags of one or several conversations as one line of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.errors import InvalidInput
from hermes_store.marks.marks import tag_name
from hermes_store.records.marks import TagChange
from hermes_store.records.safe_text import clean_line
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.numbers import plural
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.text_field import Field

HINT = 'Space-separated; empty clears. With spaces: "next week"'
_TAG = re.compile(r'#?"(?P<quoted>[^"]*)"?|(?P<word>[^\s,]+)')


def typed_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a line such as: work #urgent "next week"; InvalidInput if one is bad."""
    found = (match["quoted"] or match["word"] or "" for match in _TAG.finditer(text))
    return tuple(dict.fromkeys(tag_name(each) for each in found if each.strip("# \t")))


def shown_tags(tags: Iterable[str]) -> str:
    """Return tags as they are typed."""
    return " ".join(f'"{tag}"' if re.search(r"[\s,]", tag) else tag for tag in tags)


def tag_change(text: str, shared: Iterable[str]) -> TagChange:
    """Return what an edited line means for conversations that all had the tags it began with."""
    wanted, before = typed_tags(text), tuple(shared)
    return TagChange(
        tuple(tag for tag in wanted if tag not in before),
        tuple(tag for tag in before if tag not in wanted),
    )


class TagsDialog(Dialog[TagChange]):
    """Asks for the tags of conversations; tags that only some of them have stay."""

    class Read(Answer[list[tuple[str, ...]]]):
        """The tags of each conversation."""

    def __init__(
        self, access: Access, roots: Sequence[str], known: Sequence[tuple[str, ...]]
    ) -> None:
        """`known` are the tags of those conversations that have been read already."""
        super().__init__()
        self.access = access
        self._roots = tuple(roots)
        several = len(roots) > 1
        self.title_text = f"Tags of {plural(len(roots), 'conversation')}" if several else "Tags"
        self._shared, self._some = _split(known)

    def body(self) -> Iterable[Widget]:
        yield Field(shown_tags(self._shared), id="answer", compact=True, select_on_focus=False)
        yield PlainText("", id="advice")
        yield PlainText(HINT, classes="hint")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Save", id="ok")

    def keys(self) -> Keys:
        return (("⏎", "save"), ("Esc", "cancel"))

    def on_mount(self) -> None:
        self._advise()
        roots = self._roots
        self.ask(
            self.Read,
            lambda store, _: [marks.tags for marks in store.marks.of(roots).values()],
        )

    def on_tags_dialog_read(self, event: Read) -> None:
        """Show the tags as they are now, unless somebody is typing already."""
        event.stop()
        field = self.query_one("#answer", Input)
        if field.value == shown_tags(self._shared):
            self._shared, self._some = _split(event.value)
            field.value = shown_tags(self._shared)
            field.cursor_position = len(field.value)
            self._advise()

    def _advise(self) -> None:
        advice = ""
        if self._some:
            advice = f"Some also have {shown_tags(self._some)}; these stay."
        self.query_one("#advice", PlainText).update(
            Content.styled(clean_line(advice), "$foreground-muted")
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.confirm("ok")

    def confirm(self, button: str) -> None:
        try:
            self.dismiss(tag_change(self.query_one("#answer", Input).value, self._shared))
        except InvalidInput as error:
            self.failed(error)


def _split(tags: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tags that all conversations have, and those that only some have."""
    every = sorted({tag for each in tags for tag in each})
    shared = tuple(tag for tag in every if all(tag in each for each in tags))
    return shared, tuple(tag for tag in every if tag not in shared)
