"""The talk pane: the recap or the whole conversation, and an answer that is still coming."""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.timer import Timer
from textual.widgets import Static

from hermes_store.records.message import Message
from hermes_store.records.recap import Recap
from hermes_store.records.session import Session
from hermes_store.records.transcript import Outline
from hermes_store.store import Store
from hermes_tui.chat.streamed_reply import Delta
from hermes_tui.presentation import session_details
from hermes_tui.start_options import Opening
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Notice

FRAMES = 1 / 12
"""How often a growing answer is drawn; more often only costs."""

Page = tuple[Outline, list[Message]]
"""A conversation, and those messages at its end that are not on screen yet."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What has come of an answer since the last look."""

    text: str
    reasoning: str
    note: str
    stored: bool
    """Whether something was written to the database."""


class Heard:
    """What has come of an answer so far; written by the thread that asks, read by the screen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text = self._reasoning = self._note = ""
        self._changed = self._stored = False
        self.session_id: str | None = None
        """The session that was written to; None while nothing was."""

    def piece(self, delta: Delta) -> None:
        """Take a piece of the answer."""
        with self._lock:
            self._text += delta.text
            self._reasoning += delta.reasoning
            self._changed = True

    def saved(self, session_id: str) -> None:
        """Hear that something was written: what came so far is in the database now."""
        with self._lock:
            self._text = self._reasoning = ""
            self._stored = self._changed = True
            self.session_id = session_id

    def looking_up(self, question: str) -> None:
        """Hear that the model looks for something."""
        with self._lock:
            self._note = f"looking for “{question}” in earlier conversations"
            self._changed = True

    def take(self) -> Draft | None:
        """Return what there is, if anything changed since the last time."""
        with self._lock:
            if not self._changed:
                return None
            draft = Draft(self._text, self._reasoning, self._note, self._stored)
            self._changed = self._stored = False
            return draft


class ConversationPane(Vertical):
    """Shows the session that is talked in."""

    recap_box = query_one("#chat-recap", VerticalScroll)
    transcript = query_one(Transcript)

    @dataclass
    class Opened(TextualMessage):
        """A session is on screen."""

        session: Session
        said: list[str]
        """What the person said in it, the oldest first."""

    @dataclass
    class Remark(TextualMessage):
        """What goes on while an answer is coming; nothing where the answer itself says it."""

        text: str

    class SessionRead(Answer[tuple[Session, Recap, Page, bool]]):
        """A session, its recap and its end, and whether the recap is to be shown."""

    class MessagesRead(Answer[list[Message]]):
        """Messages that came into sight."""

    class Grown(Answer[Page]):
        """The end of the conversation."""

    def __init__(self, access: Access, opening: Opening) -> None:
        super().__init__(id="chat-body")
        self.access = access
        self._limits, self._clock = opening.limits, opening.clock
        self._session_id: str | None = None
        self._heard = Heard()
        self._drawing: Timer | None = None
        self._draft: Message | None = None

    def compose(self) -> ComposeResult:
        """Make the recap and the conversation, which take turns."""
        with VerticalScroll(id="chat-recap", can_focus=False) as box:
            box.border_title = "Previous conversation"
            yield Static("", id="chat-recap-text", markup=False)
        yield Transcript(id="chat-transcript")

    def on_mount(self) -> None:
        """Draw answers, once there are any."""
        self._drawing = self.set_interval(FRAMES, self._draw, pause=True)

    # -- the session -----------------------------------------------------------------------

    def show(self, session_id: str | None, *, recap: bool) -> None:
        """Show a session: its recap, or all of it; None for one that has not begun."""
        self._session_id = session_id
        self.recap_box.display = False
        if session_id is None:
            self.transcript.clear()
            return
        limits = self._limits

        def read(store: Store, stopped: Stopped) -> tuple[Session, Recap, Page, bool]:
            return (
                store.sessions.get(session_id),
                store.transcripts.quick_recap(session_id, limits),
                store.transcripts.page_end(session_id),
                recap,
            )

        self.access.ask(self, self.SessionRead, read)

    def on_conversation_pane_session_read(self, event: SessionRead) -> None:
        """Show a session."""
        event.stop()
        if event.stale:
            return
        session, said, page, recap = event.value
        self.query_one("#chat-recap-text", Static).update(session_details.recap(said))
        self.recap_box.display = recap and bool(said.entries)
        self.transcript.display = not self.recap_box.display
        self._show_page(page)
        self.recap_box.scroll_end(animate=False)
        texts = [entry.text for entry in said.entries if entry.role == "user"]
        self.post_message(self.Opened(session, texts))

    def _show_page(self, page: Page) -> None:
        self.transcript.show(*page, matches=array("q"), spans=None, focus=None)

    def on_failed(self, event: Failed) -> None:
        """Say what could not be read."""
        event.stop()
        if not event.stale:
            self.post_message(Notice(str(event.error), error=True))

    def on_transcript_messages_wanted(self, event: Transcript.MessagesWanted) -> None:
        """Read messages that came into sight."""
        event.stop()
        ids = event.ids
        self.access.ask(
            self, self.MessagesRead, lambda store, _: store.messages.by_id(ids), exclusive=False
        )

    def on_conversation_pane_messages_read(self, event: MessagesRead) -> None:
        """Show messages that came into sight."""
        event.stop()
        self.transcript.provide(event.value)

    def toggle_recap(self) -> None:
        """Show the recap instead of the conversation, or the other way round."""
        self.recap_box.display = not self.recap_box.display and self._session_id is not None
        self.transcript.display = not self.recap_box.display

    def scroll_page(self, direction: int) -> None:
        """Scroll what was said."""
        if self.recap_box.display:
            self.recap_box.scroll_relative(y=direction * 10, animate=False)
        elif direction < 0:
            self.transcript.action_page_up()
        else:
            self.transcript.action_page_down()

    # -- an answer -------------------------------------------------------------------------

    def listen(self) -> Heard:
        """Get ready for an answer, and return what hears it."""
        self.recap_box.display = False
        self.transcript.display = True
        self.transcript.to_end()
        self._heard = Heard()
        if self._drawing is not None:
            self._drawing.resume()
        return self._heard

    def _draw(self) -> None:
        """Show what has come since the last time, and tell what goes on."""
        draft = self._show_draft()
        if draft is None:
            return
        if draft.text or draft.reasoning:
            self.post_message(self.Remark("" if draft.text else "thinking …"))
        elif draft.note:
            self.post_message(self.Remark(draft.note))

    def _show_draft(self) -> Draft | None:
        draft = self._heard.take()
        if draft is None:
            return None
        self._session_id = self._heard.session_id or self._session_id
        if draft.stored:
            self._grow()
        self._draft = None
        if draft.text or draft.reasoning:
            self._draft = Message(
                0,
                self._session_id or "",
                "assistant",
                self._clock(),
                draft.text,
                reasoning=draft.reasoning,
            )
            self.transcript.show_draft(self._draft)
        return draft

    def settle(self) -> None:
        """Show what is stored now that the answer is over."""
        if self._drawing is not None:
            self._drawing.pause()
        self._show_draft()
        self._draft = None
        self._grow()

    def _grow(self) -> None:
        session_id, known = self._session_id, self.transcript.outline
        if session_id is not None:
            self.access.ask(
                self,
                self.Grown,
                lambda store, _: store.transcripts.page_end(session_id, known),
            )

    def on_conversation_pane_grown(self, event: Grown) -> None:
        """Show what was stored, and below it what is still coming."""
        event.stop()
        if event.stale:
            return
        self.transcript.show_draft(None)
        if self.transcript.outline is None:
            self._show_page(event.value)
        else:
            self.transcript.grow(*event.value)
        if self._draft is not None:
            self.transcript.show_draft(self._draft)
