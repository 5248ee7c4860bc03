"""The transcript in the reading pane: reads what it shows, and what is added later."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_store.records.message import Message
from hermes_store.records.transcript import Outline
from hermes_tui.browse import read_conversation
from hermes_tui.browse.read_conversation import Page, Wanted
from hermes_tui.store_access import Access, Answer
from hermes_tui.transcript.view import Transcript


class TranscriptPage(Transcript):
    """A transcript that is read from the store."""

    class PageRead(Answer[Page]):
        """A transcript."""

    class MessagesRead(Answer[list[Message]]):
        """Messages that scrolled into view."""

    class Grown(Answer[tuple[Outline, list[Message]]]):
        """New messages of a live conversation."""

    def __init__(self, access: Access, *, id: str) -> None:
        super().__init__(id=id)
        self.access = access

    def ask(self, wanted: Wanted) -> None:
        """Read a conversation and show it."""
        self.access.ask(
            self,
            self.PageRead,
            lambda store, stopped: read_conversation.page(store, wanted, stopped),
        )

    def on_transcript_page_page_read(self, event: PageRead) -> None:
        event.stop()
        page = event.value
        if not event.stale:
            self.show(
                page.outline,
                page.messages,
                matches=page.matches,
                spans=page.spans,
                focus=page.focus,
            )
            self.post_message(self.Moved())

    def forget(self) -> None:
        """Show nothing, and cancel what is being read."""
        self.access.cancel(self, self.PageRead.__qualname__)
        self.clear()

    def on_transcript_messages_wanted(self, event: Transcript.MessagesWanted) -> None:
        event.stop()
        ids: Sequence[int] = event.ids
        self.access.ask(
            self, self.MessagesRead, lambda store, _: store.messages.by_id(ids), exclusive=False
        )

    def on_transcript_page_messages_read(self, event: MessagesRead) -> None:
        event.stop()
        self.provide(event.value)

    def ask_for_more(self, *, everything: bool) -> None:
        """Read what was said since."""
        outline = self.outline
        if outline is not None:
            self.access.ask(
                self,
                self.Grown,
                lambda store, _: store.transcripts.page_end(
                    outline.root_id, outline, everything=everything
                ),
            )

    def on_transcript_page_grown(self, event: Grown) -> None:
        event.stop()
        outline, messages = event.value
        now = self.outline
        if not event.stale and now is not None and now.root_id == outline.root_id:
            self.grow(outline, messages)
            self.post_message(self.Moved())
