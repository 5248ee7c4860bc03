"""The chat screen: sending, slash commands, titles, compression and leaving.

Everything that touches the conversation goes through one queue, so that two turns never run at
once, and nothing is written on the event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.screen import Screen
from textual.widgets import TextArea

from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.safe_text import clean
from hermes_store.records.session import Session
from hermes_tui.chat import slash_syntax
from hermes_tui.chat.conversation_pane import ConversationPane, Heard
from hermes_tui.chat.conversation_queue import ConversationQueue, Open
from hermes_tui.chat.input_field import Prompt
from hermes_tui.chat.key_hints import hints
from hermes_tui.chat.slash_commands import Commands
from hermes_tui.chat.streamed_reply import Reply
from hermes_tui.chat.turn_loop import Conversation, Turn
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.start_options import Choice, Opening, State
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Notice
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.status_bar import StatusBar

DURING_ANSWER = ("title", "help", "quit", "export")
"""Commands that work while an answer is coming."""


class ChatScreen(Screen[Choice]):
    """A conversation with a model."""

    CSS_PATH = styles_folder() / "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", priority=True, show=False),
        Binding("f1", "help", "help", show=False),
        Binding("pageup", "scroll(-1)", "scroll", priority=True, show=False),
        Binding("pagedown", "scroll(1)", "scroll", priority=True, show=False),
        Binding("ctrl+t", "recap", "recap", priority=True, show=False),
        Binding("ctrl+q", "quit", "quit", priority=True, show=False),
    ]

    header = query_one("#chat-header", PlainText)
    talk = query_one(ConversationPane)
    commands = query_one(Commands)
    note = query_one("#chat-note", PlainText)
    offers = query_one("#chat-offers", PlainText)
    prompt = query_one(Prompt)
    status = query_one(StatusBar)

    @dataclass
    class OpenBrowser(Message):
        """The user wants to choose a session in the browser."""

        query: str
        then: Callable[[Choice | None], None]
        """Called with the choice."""

    class Prepared(Answer[None]):
        """The model client is loaded."""

    class Answered(Answer[Turn]):
        """A turn is over."""

    class HeaderRead(Answer[Session]):
        """The session, for its title."""

    class Ended(Answer[None]):
        """The session was ended."""

    def __init__(
        self, access: Access, opening: Opening, open_: Open, session_id: str | None = None
    ) -> None:
        super().__init__()
        self.access = access
        self.opening = opening
        self.session_id = session_id
        self._queue = ConversationQueue(access, open_, session_id, self._title_found)
        self._stop = threading.Event()
        self._heard = Heard()
        self._text: str | None = None
        """The message that is being answered."""
        self._done = threading.Event()
        """Set while no answer is coming."""
        self._done.set()

    def compose(self) -> ComposeResult:
        yield PlainText("", id="chat-header")
        yield ConversationPane(self.access, self.opening)
        yield Commands(self.access, self._queue)
        yield PlainText("", id="chat-note")
        yield PlainText("", id="chat-offers")
        yield Prompt(id="chat-prompt")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.prompt.focus()
        self.offers.display = False
        self.status.show(hints(answering=False))
        self._show_session(recap=True)
        # Loading the client takes a second, so it starts before the first message.
        self._queue.run(self, self.Prepared, lambda talk, _: talk.provider.prepare())

    def on_failed(self, event: Failed) -> None:
        """Show the error; a message that was not saved returns to the field."""
        event.stop()
        if event.question is self.Answered:
            self._not_answered(event.error)
        else:
            self.say(str(event.error), "$error")

    # -- what is on screen -----------------------------------------------------------------

    def _show_session(self, *, recap: bool) -> None:
        self._show_header(None)
        self.talk.show(self.session_id, recap=recap)
        if self.session_id is None:
            self.say("Type a message. /help shows the commands, Esc leaves.")
        else:
            self.say("")

    def on_conversation_pane_opened(self, event: ConversationPane.Opened) -> None:
        event.stop()
        self._show_header(event.session)
        self.prompt.remember(event.said)

    def _show_header(self, session: Session | None) -> None:
        title = plain(session.title or session.id) if session is not None else "new session"
        model = f"  {plain(session.model)}" if session is not None and session.model else ""
        self.header.update(
            Content.assemble(
                (" Hermes chat ", "$primary bold"), f" {title}", (model, "$foreground-muted")
            )
        )

    def _title_found(self) -> None:
        self.call_later(self._refresh_header)

    def _refresh_header(self) -> None:
        session_id = self.session_id
        if session_id is not None:
            self.access.ask(self, self.HeaderRead, lambda store, _: store.sessions.get(session_id))

    def on_chat_screen_header_read(self, event: HeaderRead) -> None:
        event.stop()
        if not event.stale:
            self._show_header(event.value)

    def say(self, text: str, style: str = "$foreground-muted") -> None:
        """Show a note above the field; empty text removes it."""
        self.note.update(Content.styled(clean(text), style))
        self.note.display = bool(text)

    def on_conversation_pane_remark(self, event: ConversationPane.Remark) -> None:
        event.stop()
        if self.is_answering:  # one that comes late must not replace how the answer ended
            self.say(event.text)

    def on_notice(self, event: Notice) -> None:
        event.stop()
        self.say(event.text, "$error" if event.error else "$foreground-muted")

    # -- talking ---------------------------------------------------------------------------

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        try:
            spoken = slash_syntax.parse(event.text)
        except InvalidInput as error:
            self.say(str(error), "$error")
            self.prompt.replace_text(event.text)
            return
        if spoken is not None:
            self._do(spoken)
        elif self.is_answering:
            self._wait_for_answer(event.text)
        else:
            text = event.text
            self._answer(lambda talk, heard, stop: talk.say(text, heard, stop), text)

    def _wait_for_answer(self, text: str) -> None:
        self.prompt.replace_text(text)
        self.say("The answer is still coming; press Esc to stop it.", "$warning")

    def _answer(
        self, job: Callable[[Conversation, Heard, Stopped], Turn], text: str | None
    ) -> None:
        """Queue a turn and show the answer as it arrives."""
        self.say("…")
        self._heard = heard = self.talk.listen()
        self._stop, self._done, self._text = threading.Event(), threading.Event(), text
        stop, done = self._stop, self._done

        def turn(talk: Conversation, stopped: Stopped) -> Turn:
            try:
                return job(talk, heard, lambda: stop.is_set() or stopped())
            finally:
                done.set()

        self.status.show(hints(answering=True))
        self._queue.run(self, self.Answered, turn)

    @property
    def is_answering(self) -> bool:
        """Whether an answer is coming."""
        return not self._done.is_set()

    def _settle(self) -> None:
        self.session_id = self._heard.session_id or self.session_id
        self.talk.settle()
        self.status.show(hints(answering=False))
        self.prompt.focus()

    def on_chat_screen_answered(self, event: Answered) -> None:
        """Settle the answer; compress a conversation that has grown too long."""
        event.stop()
        self._settle()
        self.say(_how_it_ended(event.value.reply))
        self._refresh_header()
        if event.value.full:
            self._compress("The conversation is getting long; compressing it …")

    def _not_answered(self, error: StoreError) -> None:
        self._settle()
        said = self._text is None or self._heard.session_id is not None
        if not said and self._text is not None:
            # Nothing was saved, and neither the message nor what was typed since may be lost.
            typed = self.prompt.text
            self.prompt.replace_text(f"{self._text}\n{typed}" if typed.strip() else self._text)
        if said:
            self._refresh_header()
        self.say(f"{error} /retry sends it again." if said else str(error), "$error")

    def stop_answer(self) -> bool:
        """Stop the current answer; return whether there was one."""
        answering = self.is_answering
        self._stop.set()
        return answering

    # -- slash commands --------------------------------------------------------------------

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        found = slash_syntax.matching(self.prompt.text)
        self.offers.display = bool(found)
        parts: list[tuple[str, str]] = []
        for command in found:
            parts += [
                (f"  {command.usage:<20}", "$accent"),
                (f"{command.about}\n", "$foreground-muted"),
            ]
        self.offers.update(Content.assemble(*parts).rstrip())

    def on_prompt_completed(self, event: Prompt.Completed) -> None:
        event.stop()
        found = slash_syntax.matching(event.text)
        if found:
            more = " " if found[0].takes else ""
            self.prompt.replace_text(f"/{found[0].name}{more}")

    def _do(self, spoken: slash_syntax.Spoken) -> None:
        jobs: dict[str, Callable[[str], None]] = {
            "title": lambda name: self.commands.title(self.session_id, name),
            "compress": lambda _: self._compress("summarizing …"),
            "resume": self._resume,
            "sessions": lambda _: self._browse(""),
            "search": self._browse,
            "new": lambda _: self._move(None, "Your next message starts a new session."),
            "branch": self.commands.branch,
            "undo": lambda _: self.commands.undo(),
            "retry": lambda _: self._retry(),
            "export": lambda name: self.commands.export(self.session_id, name),
            "help": lambda _: self.action_help(),
            "quit": lambda _: self.action_quit(),
        }
        if self.is_answering and spoken.name not in DURING_ANSWER:
            self._wait_for_answer(f"/{spoken.name} {spoken.rest}".rstrip())
        else:
            jobs[spoken.name](spoken.rest)

    def on_commands_done(self, event: Commands.Done) -> None:
        event.stop()
        self.say(event.text)
        self._refresh_header()

    def on_commands_moved(self, event: Commands.Moved) -> None:
        event.stop()
        self.session_id = event.session_id
        self._show_session(recap=False)
        self.say(event.text)

    def on_commands_rewound(self, event: Commands.Rewound) -> None:
        event.stop()
        self._show_session(recap=False)
        self.say(event.text)

    def on_commands_resumed(self, event: Commands.Resumed) -> None:
        event.stop()
        self._move(event.session_id, "")

    def _compress(self, sentence: str) -> None:
        self.say(sentence)
        self.commands.compress()

    def _retry(self) -> None:
        if self.session_id is None:
            self.say("There is nothing to retry.", "$warning")
        else:
            self._answer(lambda talk, heard, stop: talk.retry(heard, stop), None)

    def _resume(self, name: str) -> None:
        if name:
            self.commands.resume(name)
        else:
            self._browse("")

    def _move(self, session_id: str | None, sentence: str) -> None:
        """End the session and continue another one, or a new one."""
        self._queue.end(self, self.Ended)
        self._queue.move_to(session_id)
        self.session_id = session_id
        self._show_session(recap=True)
        if sentence:
            self.say(sentence)

    def action_help(self) -> None:
        self.say(slash_syntax.help_text())

    def action_recap(self) -> None:
        self.talk.toggle_recap()

    def action_scroll(self, direction: int) -> None:
        self.talk.scroll_page(direction)

    # -- leaving ---------------------------------------------------------------------------

    def action_back(self) -> None:
        """Stop the answer; if none is coming, leave."""
        if self.stop_answer():
            return
        if self.offers.display:
            self.prompt.text = ""
        elif self._above_browser:
            self._queue.end(self, self.Ended)
            self.dismiss(None)
        else:
            self.action_quit()

    def action_quit(self, code: int = 0) -> None:
        self.stop_answer()
        self._queue.end(self, self.Ended)
        session_id = self.session_id
        choice = Choice(session_id, State(), left=True) if session_id else None
        self.app.exit(choice, return_code=code)

    def _browse(self, query: str) -> None:
        if self._above_browser:
            self._queue.end(self, self.Ended)
            self.dismiss(Choice(self.session_id or "", State(query=query)) if query else None)
        else:
            self.post_message(self.OpenBrowser(query, self._chosen))

    def _chosen(self, choice: Choice | None) -> None:
        if choice is not None and choice.session_id != self.session_id:
            self._move(choice.session_id, "")
        self.prompt.focus()

    @property
    def _above_browser(self) -> bool:
        return len(self.app.screen_stack) > 1

    def on_unmount(self) -> None:
        """Stop the answer, and close the conversation once everything is written."""
        self._stop.set()
        self._queue.close()


def _how_it_ended(reply: Reply) -> str:
    if not reply.stopped:
        return ""
    if reply.text or reply.reasoning:
        return "Stopped. The partial answer is saved."
    return "Stopped before an answer came. /retry asks again."
