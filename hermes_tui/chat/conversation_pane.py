"""The talk pane: the recap or the whole conversation, and the answer that is coming."""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.timer import Timer

from hermes_store.records.message import SUMMARY_MARKS, Message
from hermes_store.records.recap import Recap
from hermes_store.records.transcript import Outline
from hermes_store.store import Store
from hermes_tui.chat.streamed_reply import Delta
from hermes_tui.opening.start_options import Opening
from hermes_tui.presentation import session_details
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Notice
from hermes_tui.widgets.plain_text import PlainText

FRAMES = 1 / 12
"""Seconds between redraws of a growing answer."""
RECALLED = 60
"""The last messages among which those of the user can be recalled."""
CHARACTERS_PER_TOKEN = 4
"""A rough mean, for servers that send many tokens in one piece."""

Page = tuple[Outline, list[Message]]
"""A conversation, and the messages at its end that are not on screen yet."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is shown of a session when it is opened."""

    recap: Recap
    page: Page
    said: list[str]
    """The last messages of the user, oldest first."""
    shows_recap: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot of an answer that is coming."""

    text: str
    reasoning: str
    note: str
    stored: bool
    """Whether a message was written to the database since the last snapshot."""


class Heard:
    """The answer so far; written by the thread that asks, read by the screen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text = self._reasoning = self._note = ""
        self._changed = self._stored = False
        self._pieces = self._counted = self._before = 0
        self._exact = True
        self.session_id: str | None = None
        """The session that was written to; None until then."""

    def piece(self, delta: Delta) -> None:
        """Add a piece of the answer."""
        with self._lock:
            self._text += delta.text
            self._reasoning += delta.reasoning
            self._pieces += 1
            self._counted = delta.tokens
            self._changed = True

    def tokens(self) -> tuple[int, bool]:
        """Return how many tokens have arrived, and whether the server counted all of them."""
        with self._lock:
            return self._before + self._now(), self._is_exact()

    def _is_exact(self) -> bool:
        return self._exact and bool(self._counted or not self._pieces)

    def _now(self) -> int:
        said = len(self._text) + len(self._reasoning)
        return self._counted or max(self._pieces, said // CHARACTERS_PER_TOKEN)

    def saved(self, session_id: str) -> None:
        """Drop the draft, because the database has it now."""
        with self._lock:
            self._before += self._now()
            self._exact = self._is_exact()
            self._pieces = self._counted = 0
            self._text = self._reasoning = ""
            self._stored = self._changed = True
            self.session_id = session_id

    def looking_up(self, question: str) -> None:
        """Note that the model is searching."""
        with self._lock:
            self._note = f"searching earlier conversations for “{question}”"
            self._changed = True

    def take(self) -> Draft | None:
        """Return a snapshot, or None if nothing changed since the last one."""
        with self._lock:
            if not self._changed:
                return None
            draft = Draft(self._text, self._reasoning, self._note, self._stored)
            self._changed = self._stored = False
            return draft


class ConversationPane(Vertical):
    """Shows the current session of the chat."""

    recap_box = query_one("#chat-recap", VerticalScroll)
    transcript = query_one(Transcript)

    @dataclass
    class Opened(TextualMessage):
        """A session is on screen."""

        said: list[str]
        """The messages of the user, oldest first."""

    @dataclass
    class Stored(TextualMessage):
        """A message of the current turn was written to the database."""

        session_id: str

    @dataclass
    class Remark(TextualMessage):
        """What happens while an answer is coming; empty once its text is visible."""

        text: str

    class SessionRead(Answer[Beginning]):
        """A session was read."""

    class MessagesRead(Answer[list[Message]]):
        """Messages that scrolled into view."""

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
        self._spoken = False
        """Whether something was said since the session was shown, maybe before it was read."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="chat-recap", can_focus=False) as box:
            box.border_title = "Previous conversation"
            yield PlainText("", id="chat-recap-text")
        yield Transcript(id="chat-transcript")

    def on_mount(self) -> None:
        self._drawing = self.set_interval(FRAMES, self._draw, pause=True)
        # The end of the recap is known only once it has been laid out, and moves with the size.
        self.watch(self.recap_box, "virtual_size", self._to_end_of_recap, init=False)

    def on_resize(self) -> None:
        self._to_end_of_recap()

    def _to_end_of_recap(self) -> None:
        self.recap_box.scroll_end(animate=False, immediate=True)

    # -- the session -----------------------------------------------------------------------

    def show(self, session_id: str | None, *, recap: bool) -> None:
        """Show a session: its recap, or all of it; None for one that has not started."""
        self._session_id = session_id
        self._spoken = False
        self.recap_box.display = False
        if session_id is None:
            self.transcript.clear()
            return
        limits = self._limits

        def read(store: Store, stopped: Stopped) -> Beginning:
            page = _page_end(store, session_id)
            last = store.messages.by_id(page[0].message_ids[-RECALLED:])
            said = [each.text for each in last if _is_typed(each)]
            known = store.transcripts.quick_recap(session_id, limits)
            return Beginning(known, page, said, recap)

        self.access.ask(self, self.SessionRead, read)

    def on_conversation_pane_session_read(self, event: SessionRead) -> None:
        event.stop()
        if event.stale:
            return
        found = event.value
        self.query_one("#chat-recap-text", PlainText).update(session_details.recap(found.recap))
        wanted = found.shows_recap and not self._spoken
        self.recap_box.display = wanted and bool(found.recap.entries)
        self.transcript.display = not self.recap_box.display
        self._show_page(found.page)
        self.post_message(self.Opened(found.said))
        if self._spoken:
            # What was said meanwhile may be missing from what was read.
            self._show_draft_below()
            self._grow()

    def _show_page(self, page: Page) -> None:
        self.transcript.show(*page, matches=array("q"), spans=None, focus=None)

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if not event.stale:
            self.post_message(Notice(str(event.error), error=True))

    def on_transcript_messages_wanted(self, event: Transcript.MessagesWanted) -> None:
        event.stop()
        ids = event.ids
        self.access.ask(
            self, self.MessagesRead, lambda store, _: store.messages.by_id(ids), exclusive=False
        )

    def on_conversation_pane_messages_read(self, event: MessagesRead) -> None:
        event.stop()
        self.transcript.provide(event.value)

    def toggle_recap(self) -> None:
        """Switch between the recap and the conversation."""
        self.recap_box.display = not self.recap_box.display and self._session_id is not None
        self.transcript.display = not self.recap_box.display

    def scroll_page(self, direction: int) -> None:
        """Scroll the recap or the conversation, whichever is visible."""
        if self.recap_box.display:
            self.recap_box.scroll_relative(y=direction * 10, animate=False)
        elif direction < 0:
            self.transcript.action_page_up()
        else:
            self.transcript.action_page_down()

    @property
    def root_id(self) -> str | None:
        """The first session of the conversation; None if it has not started."""
        outline = self.transcript.outline
        return outline.root_id if outline is not None else self._session_id

    # -- an answer -------------------------------------------------------------------------

    def listen(self) -> Heard:
        """Prepare for an answer, and return its listener."""
        self.recap_box.display = False
        self.transcript.display = True
        self.transcript.to_end()
        self._spoken = True
        self._heard = Heard()
        if self._drawing is not None:
            self._drawing.resume()
        return self._heard

    def _draw(self) -> None:
        draft = self._show_draft()
        if draft is None:
            return
        if draft.text or draft.reasoning:
            self.post_message(self.Remark("" if draft.text else "thinking"))
        elif draft.note:
            self.post_message(self.Remark(draft.note))

    def _show_draft(self) -> Draft | None:
        draft = self._heard.take()
        if draft is None:
            return None
        self._session_id = self._heard.session_id or self._session_id
        if draft.stored and self._session_id is not None:
            self.post_message(self.Stored(self._session_id))
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
        """Show the stored messages once the answer has ended."""
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
                lambda store, _: _page_end(store, session_id, known),
            )

    def on_conversation_pane_grown(self, event: Grown) -> None:
        """Show the stored messages, and the draft below them."""
        event.stop()
        if event.stale:
            return
        self.transcript.show_draft(None)
        if self.transcript.outline is None:
            self._show_page(event.value)
        else:
            self.transcript.grow(*event.value)
        self._show_draft_below()

    def _show_draft_below(self) -> None:
        if self._draft is not None:
            self.transcript.show_draft(self._draft)


def _page_end(store: Store, session_id: str, known: Outline | None = None) -> Page:
    from hermes_tui.presentation import markdown

    markdown.prepare()  # here, because this is not the thread of the screen
    return store.transcripts.page_end(session_id, known)


def _is_typed(message: Message) -> bool:
    text = message.text
    return message.role == "user" and bool(text.strip()) and not text.startswith(SUMMARY_MARKS)
