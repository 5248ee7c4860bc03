"""Opening a conversation in the pager or the editor. Not visible itself."""

from __future__ import annotations

from textual.widget import Widget

from hermes_tui.browse import read_conversation
from hermes_tui.browse.session_list_widget import Target
from hermes_tui.store_access import Access, Answer, Failed
from hermes_tui.widgets import outside_program
from hermes_tui.widgets.notice import Notice


class OpenOutside(Widget):
    """Reads a conversation as Markdown and hands the terminal over to another program."""

    class MarkdownRead(Answer[tuple[list[str], str]]):
        """A conversation as Markdown, and the command that shows it."""

    def __init__(self, access: Access) -> None:
        super().__init__()
        self.display = False
        self.access = access

    def open_in(self, variable: str, target: Target | None, *, everything: bool) -> None:
        """Show a conversation in the program that an environment variable names."""
        words = outside_program.command(variable)
        if isinstance(words, str):
            self.post_message(Notice(words, error=True))
        elif target is not None:
            self.access.ask(
                self,
                self.MarkdownRead,
                lambda store, _: (
                    words,
                    read_conversation.as_markdown(store, target, everything=everything),
                ),
            )

    def on_open_outside_markdown_read(self, event: MarkdownRead) -> None:
        event.stop()
        failure = None if event.stale else outside_program.show(self.app, *event.value)
        if failure is not None:
            self.post_message(Notice(failure, error=True))

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if not event.stale:
            self.post_message(Notice(str(event.error), error=True))
