"""The talking part of the chat screen: sending, streaming, stopping, and what is on screen."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from hermes_store.errors import StoreError
from hermes_store.records.message import Message
from hermes_store.records.recap import Recap
from hermes_store.records.session import Session
from hermes_store.records.text import clean
from hermes_store.records.transcript import Outline
from hermes_tui.access import Asks, Stopped, Workers
from hermes_tui.chat.prompt import Prompt
from hermes_tui.opening import Choice, Opening
from hermes_tui.presentation import details
from hermes_tui.presentation.rows import safe
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.transcript.page import MessagesWanted
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from hermes_store.store import Store
    from hermes_tui.chat.conversation import Conversation, Turn
    from hermes_tui.chat.replies import Delta

FRAMES = 1 / 12
"""How often a growing answer is drawn; more often only costs."""

Page = tuple[Outline, list[Message]]
"""A conversation, and those messages at its end that are not on screen yet."""
Open = Callable[[str | None], "Conversation"]
"""What makes a conversation, given a session to go on with."""


class Heard:
    """What has come of an answer so far; written by the thread that asks, read by the screen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.text = ""
        self.reasoning = ""
        self.note = ""
        self.changed = False
        self.stored = False
        self.kept = False
        """Whether what was said is in the database."""

    def piece(self, delta: Delta) -> None:
        """Take a piece of the answer."""
        with self._lock:
            self.text += delta.text
            self.reasoning += delta.reasoning
            self.changed = True

    def saved(self, session_id: str) -> None:
        """Hear that something was written: what came so far is in the database now."""
        with self._lock:
            self.text = self.reasoning = ""
            self.stored = self.changed = self.kept = True

    def looking_up(self, question: str) -> None:
        """Hear that the model looks for something."""
        with self._lock:
            self.note = f"looking for “{question}” in earlier conversations"
            self.changed = True

    def take(self) -> tuple[str, str, bool] | None:
        """Return text, reasoning and whether something was stored, if anything changed."""
        with self._lock:
            if not self.changed:
                return None
            stored, self.changed, self.stored = self.stored, False, False
            return self.text, self.reasoning, stored


class ChatBase(Asks, Screen[Choice]):
    """A conversation with a model."""

    CSS_PATH = styles_folder() / "chat.tcss"

    header = query_one("#chat-header", Static)
    recap_box = query_one("#chat-recap", VerticalScroll)
    recap_text = query_one("#chat-recap-text", Static)
    transcript = query_one(Transcript)
    note = query_one("#chat-note", Static)
    offers = query_one("#chat-offers", Static)
    prompt = query_one(Prompt)
    status = query_one(StatusBar)

    def __init__(
        self, office: Workers, opening: Opening, open_: Open, session_id: str | None = None
    ) -> None:
        super().__init__()
        self.office = office
        self.opening = opening
        self.clock = opening.clock
        self.session_id = session_id
        self.conversation: Conversation | None = None
        self._open = open_
        self._answer: Worker[None] | None = None
        self._stop = threading.Event()
        self._making = threading.Lock()
        self._heard = Heard()
        self._drawing: Timer | None = None
        self._draft: Message | None = None

    def compose(self) -> ComposeResult:
        """Lay out header, recap, conversation, remarks, field and key line."""
        yield Static("", id="chat-header", markup=False)
        with Vertical(id="chat-body"):
            with VerticalScroll(id="chat-recap", can_focus=False) as box:
                box.border_title = "Previous conversation"
                yield Static("", id="chat-recap-text", markup=False)
            yield Transcript(id="chat-transcript")
        yield Static("", id="chat-note", markup=False)
        yield Static("", id="chat-offers", markup=False)
        yield Prompt(id="chat-prompt")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """Show where the conversation stood, and begin in the field."""
        self.prompt.focus()
        self.offers.display = False
        self._drawing = self.set_interval(FRAMES, self._draw, pause=True)
        self.show_session(recap=True)
        # Loading what talks to the model takes a second; not when the first text is waiting.
        self.office.run(
            self, "prepare", lambda _: self.talk_partner().provider.prepare(), lambda _: None,
            self.failed,
        )  # fmt: skip

    # -- what is on screen -----------------------------------------------------------------

    def show_session(self, *, recap: bool) -> None:
        """Show the session that is talked in: its recap, or all of it."""
        self.recap_box.display = False
        self.show_header(None)
        if self.session_id is None:
            self.transcript.clear()
            self.say_note("Say something. /help shows the commands, Esc leaves.")
            return
        self.say_note("")
        session_id, limits = self.session_id, self.opening.limits

        def read(store: Store, stopped: Stopped) -> tuple[Session, Recap, Page]:
            return (
                store.sessions.get(session_id),
                store.transcripts.quick_recap(session_id, limits),
                store.transcripts.page_end(session_id),
            )

        self.office.ask(
            self, "session", read, lambda found: self._shown(*found, recap=recap), self.failed
        )

    def _shown(self, session: Session, said: Recap, page: Page, *, recap: bool) -> None:
        self.show_header(session)
        self.prompt.remember([entry.text for entry in said.entries if entry.role == "user"])
        self.recap_text.update(details.recap(said))
        self.recap_box.display = recap and bool(said.entries)
        self.transcript.display = not self.recap_box.display
        self.transcript.show(*page, matches=_none(), spans=None, focus=None)
        self.recap_box.scroll_end(animate=False)

    def show_header(self, session: Session | None) -> None:
        """Say which session this is."""
        title = safe(session.title or session.id) if session is not None else "new session"
        model = f"  {safe(session.model)}" if session is not None and session.model else ""
        self.header.update(
            Content.assemble(
                (" Hermes chat ", "$primary bold"), f" {title}", (model, "$foreground-muted")
            )
        )

    def say_note(self, text: str, style: str = "$foreground-muted") -> None:
        """Show a remark above the field."""
        self.note.update(Content.styled(clean(text), style))
        self.note.display = bool(text)

    def failed(self, error: StoreError) -> None:
        """Say what went wrong."""
        self.say_note(str(error), "$error")

    def on_messages_wanted(self, event: MessagesWanted) -> None:
        """Read messages that came into sight."""
        event.stop()
        self.office.ask(
            self,
            "messages",
            lambda store, _: store.messages.by_id(event.ids),
            self.transcript.provide,
            self.failed,
            exclusive=False,
        )

    # -- talking ---------------------------------------------------------------------------

    @property
    def is_answering(self) -> bool:
        """Whether an answer is under way."""
        return self._answer is not None and self._answer.state in (
            WorkerState.PENDING,
            WorkerState.RUNNING,
        )

    def talk(self, text: str) -> None:
        """Say something and let the answer appear as it comes."""
        self._begin(lambda talk, heard, stop: talk.say(text, heard, stop), text)

    def _begin(self, job: Callable[[Conversation, Heard, Stopped], Turn], text: str | None) -> None:
        self.recap_box.display = False
        self.transcript.display = True
        self.transcript.to_end()
        self.say_note("…")
        self._heard = heard = Heard()
        self._stop = stop = threading.Event()

        def work(stopped: Stopped) -> Turn:
            return job(self.talk_partner(), heard, lambda: stop.is_set() or stopped())

        self._answer = self.office.run(
            self, "answer", work, self._answered, lambda error: self._not_answered(error, text)
        )
        if self._drawing is not None:
            self._drawing.resume()

    def talk_partner(self) -> Conversation:
        """Return the conversation, made with the first thing said; in a worker's thread."""
        with self._making:
            if self.conversation is None:
                self.conversation = self._open(self.session_id)
                self.conversation.on_title = self._title_found
            return self.conversation

    def _title_found(self, title: str) -> None:
        self.call_later(self.refresh_header)

    def _draw(self) -> None:
        """Show what has come since the last time."""
        found = self._heard.take()
        if found is None:
            return
        text, reasoning, stored = found
        if self.conversation is not None and self.session_id is None:
            self.session_id = self.conversation.session_id
        if stored:
            self._grow()
        if self._heard.note:
            self.say_note(self._heard.note)
        self._draft = None
        if text or reasoning:
            self.say_note("" if text else "thinking …")
            self._draft = Message(
                0, self.session_id or "", "assistant", self.clock(), text, reasoning=reasoning
            )
            self.transcript.show_draft(self._draft)

    def _grow(self) -> None:
        session_id, known = self.session_id, self.transcript.outline
        if session_id is not None:
            self.office.ask(
                self,
                "grow",
                lambda store, _: store.transcripts.page_end(session_id, known),
                self._grown,
                self.failed,
            )

    def _grown(self, page: Page) -> None:
        self.transcript.show_draft(None)
        if self.transcript.outline is None:
            self.transcript.show(*page, matches=_none(), spans=None, focus=None)
        else:
            self.transcript.grow(*page)
        if self._draft is not None:
            self.transcript.show_draft(self._draft)

    def _settle(self) -> None:
        if self._drawing is not None:
            self._drawing.pause()
        self._draw()
        self._draft = None
        self._grow()
        self.prompt.focus()

    def _answered(self, turn: Turn) -> None:
        self._settle()
        self.say_note("stopped; what came was kept" if turn.reply.stopped else "")
        self.after_turn(turn)

    def _not_answered(self, error: StoreError, text: str | None) -> None:
        self._settle()
        said = text is None or self._heard.kept
        if not said and text is not None and not self.prompt.text:
            # Nothing was saved yet; what was typed must not be lost.
            self.prompt.replace_text(text)
        if said:
            self.refresh_header()
        hint = " /retry asks again." if said else ""
        self.say_note(f"{error}{hint}", "$error")

    def stop_answer(self) -> bool:
        """Stop the answer under way; tell whether there was one."""
        if not self.is_answering:
            return False
        self._stop.set()
        return True

    def refresh_header(self) -> None:
        """Read the title anew."""
        raise NotImplementedError

    def after_turn(self, turn: Turn) -> None:
        """Do what follows an answer: a title, perhaps a compression."""
        raise NotImplementedError


def _none() -> array[int]:
    return array("q")
