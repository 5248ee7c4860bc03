"""Keeps the text of a chat's field until it is sent, and finds it again when the chat reopens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from hermes_store.errors import StoreError
from hermes_tui.chat import drafts
from hermes_tui.chat.drafts import Draft
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Notice

SOON = 0.4
"""Seconds between writes while somebody types; a crash loses at most what was typed in them."""
TOO_LONG = (
    f"Text of more than {drafts.MOST_CHARACTERS:,} characters is not kept as a draft; send it "
    "before you leave."
)


class DraftKeeper(Widget):
    """Writes drafts while one types. Takes no room on screen."""

    DEFAULT_CSS = "DraftKeeper { display: none; }"

    @dataclass
    class Restored(Message):
        """There is a draft of the session."""

        text: str
        cleared: bool
        """Whether it was cleared, so that it is only offered."""

    class Found(Answer[Draft | None]):
        """The draft of a session."""

    class Kept(Answer[None]):
        """A draft was written."""

    def __init__(self, access: Access, clock: Callable[[], float]) -> None:
        super().__init__()
        self.access = access
        self._clock = clock
        self._draft = self._written = Draft(uuid4().hex, "", "", 0.0)
        self._waiting: Timer | None = None
        self._told = False
        """Whether the user knows that drafts are not kept."""

    def open(self, session_id: str | None) -> None:
        """Go to a session, whose draft will be announced."""
        self.flush()
        draft = self._draft = self._written = Draft(uuid4().hex, session_id or "", "", 0.0)
        database = self.access.database

        def find(stopped: Stopped) -> Draft | None:
            try:
                return drafts.take(database, draft.session_id, draft.chat)
            except StoreError:  # reading is enough; the next writing says why it cannot be done
                return drafts.peek(database, draft.session_id)

        self.access.run(self, self.Found, find, queue=self.access.drafts)

    def on_draft_keeper_found(self, event: Found) -> None:
        event.stop()
        found = event.value
        if not event.stale and found is not None:
            if not self._draft.text:
                self._draft = self._written = replace(found, chat=self._draft.chat)
            self.post_message(self.Restored(found.text, found.cleared))

    def note(self, session_id: str | None, text: str) -> None:
        """Keep a text soon; an empty one removes the draft, unless that was cleared."""
        same = replace(self._draft, session_id=session_id or "")
        self._later(same if same.cleared and not text else replace(same, text=text, cleared=False))

    def clear(self, text: str) -> None:
        """Keep a text that is being cleared from the field."""
        self._later(replace(self._draft, text=text, cleared=True))

    def _later(self, draft: Draft) -> None:
        if len(draft.text) > drafts.MOST_CHARACTERS:
            self._tell(TOO_LONG)
            return
        self._draft = draft
        if self._waiting is None:
            self._waiting = self.set_timer(SOON, self.flush)

    def flush(self) -> None:
        """Write the draft now, in a thread, if it is not written yet."""
        draft = self._due()
        if draft is not None:
            database = self.access.database
            self.access.run(
                self,
                self.Kept,
                lambda _: drafts.keep(database, draft),
                exclusive=False,
                queue=self.access.drafts,
            )

    def _due(self) -> Draft | None:
        """Return the draft if it has to be written, and take it as written."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        if replace(self._draft, at=self._written.at) == self._written:
            return None
        self._draft = self._written = replace(self._draft, at=self._clock())
        return self._draft

    def on_failed(self, event: Failed) -> None:
        event.stop()
        self._tell(str(event.error))

    def _tell(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            self.post_message(Notice(sentence, error=True))

    def on_unmount(self) -> None:
        """Write the draft once more; a worker would end with this widget."""
        draft = self._due()
        if draft is not None:
            database = self.access.database
            self.access.drafts.submit(lambda: drafts.keep(database, draft))
