"""The chat screen: sending, slash commands, drafts, compression and leaving.

Everything that touches the conversation goes through one queue, so that two turns never run at
once, and nothing is written on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.getters import query_one
from textual.message import Message
from textual.screen import Screen
from textual.widgets import TextArea

from hermes_store.errors import InvalidInput, StoreError
from hermes_tui.chat import slash_syntax
from hermes_tui.chat.answer_under_way import AnswerUnderWay, Job, how_it_ended
from hermes_tui.chat.conversation_pane import ConversationPane
from hermes_tui.chat.conversation_queue import ConversationQueue, Open
from hermes_tui.chat.draft_keeper import DraftKeeper
from hermes_tui.chat.header import ChatHeader
from hermes_tui.chat.input_field import Prompt
from hermes_tui.chat.key_hints import hints
from hermes_tui.chat.note_box import NoteBox
from hermes_tui.chat.slash_commands import Commands
from hermes_tui.chat.slash_menu import SlashMenu
from hermes_tui.chat.spinner import Spinner
from hermes_tui.chat.turn_loop import Turn
from hermes_tui.opening.start_options import Choice, Opening, State
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.store_access import Access, Answer, Failed
from hermes_tui.widgets.notice import Notice
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

    header = query_one(ChatHeader)
    talk = query_one(ConversationPane)
    commands = query_one(Commands)
    drafts = query_one(DraftKeeper)
    note = query_one(NoteBox)
    spinner = query_one(Spinner)
    menu = query_one(SlashMenu)
    prompt = query_one(Prompt)
    status = query_one(StatusBar)

    @dataclass
    class OpenBrowser(Message):
        """The user wants to choose a session in the browser."""

        query: str
        then: Callable[[Choice | None], None]
        """Called with the choice."""

    class Prepared(Answer[str]):
        """The model client is loaded; the value names the model."""

    class Answered(Answer[Turn]):
        """A turn is over."""

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
        self._answer = AnswerUnderWay.none()

    def compose(self) -> ComposeResult:
        menu = SlashMenu(id="chat-menu")
        yield ChatHeader(self.access, id="chat-header")
        yield ConversationPane(self.access, self.opening)
        yield Commands(self.access, self.opening, self._queue)
        yield DraftKeeper(self.access, self.opening.clock)
        yield NoteBox(id="chat-note-box")
        yield Spinner(self.opening.clock, id="chat-spinner")
        yield menu
        yield Prompt(menu, id="chat-prompt")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.prompt.focus()
        self._show_session(recap=True)
        self.drafts.open(self.session_id)
        # Loading the client takes a second, so it starts before the first message.
        self._queue.run(self, self.Prepared, lambda talk, _: talk.prepare())

    def on_chat_screen_prepared(self, event: Prepared) -> None:
        event.stop()
        self.header.show_model(event.value)

    def on_failed(self, event: Failed) -> None:
        """Show the error; a message that was not saved returns to the field."""
        event.stop()
        if event.question is self.Answered:
            self._not_answered(event.error)
        else:
            self.say(str(event.error), "$error")

    # -- what is on screen -----------------------------------------------------------------

    def _show_session(self, *, recap: bool) -> None:
        self._refresh_header()
        self.talk.show(self.session_id, recap=recap)
        new = "Type a message. /help shows the commands, Esc leaves."
        self.say(new if self.session_id is None else "")

    def on_conversation_pane_opened(self, event: ConversationPane.Opened) -> None:
        event.stop()
        self.prompt.remember(event.said)

    def _title_found(self) -> None:
        self.call_later(self._refresh_header)

    def _refresh_header(self) -> None:
        if self.session_id is None:
            self.header.show_new()
        else:
            self.header.show_session(self.session_id)

    def say(self, text: str, style: str = "$foreground-muted") -> None:
        """Show a note above the field; empty text removes it."""
        self.note.say(text, style)
        self._arrange()

    def _arrange(self) -> None:
        """Show the menu in place of the note, and the keys that work now."""
        self.note.cover(self.menu.is_open)
        on_escape = "close" if self.note.is_page else "stop" if self._answer.is_coming else "leave"
        self.status.show(hints(on_escape, choosing=self.menu.is_open))

    def on_conversation_pane_remark(self, event: ConversationPane.Remark) -> None:
        event.stop()
        self.spinner.say(event.text)

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
            self.prompt.recall(event.text)
            return
        if spoken is not None:
            self._do(spoken)
        elif self._answer.is_coming:
            self._wait_for_answer(event.text)
        else:
            text = event.text
            self._ask(lambda talk, heard, stop: talk.say(text, heard, stop), text)

    def _wait_for_answer(self, text: str) -> None:
        self.prompt.recall(text)
        self.say("The answer is still coming; press Esc to stop it.", "$warning")

    def _ask(self, job: Job, text: str | None) -> None:
        """Queue a turn and show the answer as it arrives."""
        self._answer = AnswerUnderWay(text, self.talk.listen())
        self.spinner.start(self._answer.heard.tokens)
        self.say("")
        self._keep_draft()
        self._queue.run(self, self.Answered, self._answer.turn(job))

    def on_conversation_pane_stored(self, event: ConversationPane.Stored) -> None:
        """Note where the message is kept; from here on it is no draft any more."""
        event.stop()
        if event.session_id != self.session_id:
            self.session_id = event.session_id
            self._refresh_header()
        self._keep_draft()

    def _settle(self) -> None:
        self.session_id = self._answer.session_id or self.session_id
        self.talk.settle()
        self.spinner.stop()
        self.prompt.focus()

    def on_chat_screen_answered(self, event: Answered) -> None:
        """Settle the answer; compress a conversation that has grown too long."""
        event.stop()
        self._settle()
        self.say(how_it_ended(event.value.reply))
        self._refresh_header()
        if event.value.full:
            self._compress("The conversation is getting long; compressing it …")

    def _not_answered(self, error: StoreError) -> None:
        self._settle()
        said, text = self._answer.over().is_said, self._answer.text
        if said:
            self._refresh_header()
        elif text is not None:
            # Nothing was saved, and neither the message nor what was typed since may be lost.
            self.prompt.put_before(text)
        self.say(f"{error} /retry sends it again." if said else str(error), "$error")

    def stop_answer(self) -> bool:
        """Stop the current answer; return whether there was one."""
        return self._answer.stop()

    # -- drafts ----------------------------------------------------------------------------

    def _keep_draft(self) -> None:
        """Keep what is not in the database: the field, and before it what is being sent."""
        texts = (self._answer.unsaid, slash_syntax.worth_keeping(self.prompt.text))
        self.drafts.note(self.session_id, "\n".join(filter(None, texts)))

    def on_draft_keeper_restored(self, event: DraftKeeper.Restored) -> None:
        event.stop()
        if event.cleared:
            self.prompt.remember_unsent(event.text)
            self.say("Up brings back the text you cleared last time.")
        else:
            self.prompt.put_before(event.text)
            self.say("Draft restored. Ctrl+C clears it.")

    # -- slash commands --------------------------------------------------------------------

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.prompt.menu()
        self._arrange()
        self._keep_draft()

    def on_slash_menu_clicked(self, event: SlashMenu.Clicked) -> None:
        event.stop()
        self.prompt.replace_text(event.text)
        self.prompt.focus()

    def _do(self, spoken: slash_syntax.Spoken) -> None:
        jobs: dict[str, Callable[[str], None]] = {
            "title": lambda name: self.commands.title(self.session_id, name),
            "compress": lambda _: self._compress("Compressing the conversation …"),
            "resume": self._resume,
            "sessions": lambda _: self._browse(""),
            "search": self._browse,
            "new": lambda _: self._move(None, "Your next message starts a new conversation."),
            "branch": self.commands.branch,
            "undo": lambda _: self.commands.undo(),
            "retry": lambda _: self._retry(),
            "export": lambda name: self.commands.export(self.session_id, name),
            "help": lambda _: self.action_help(),
            "quit": lambda _: self.action_quit(),
        }
        if self._answer.is_coming and spoken.name not in DURING_ANSWER:
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
        self._keep_draft()
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
            self._ask(lambda talk, heard, stop: talk.retry(heard, stop), None)

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
        self.drafts.open(session_id)
        self._show_session(recap=True)
        if sentence:
            self.say(sentence)

    def action_help(self) -> None:
        self.note.say(slash_syntax.help_text(), "$foreground-muted", page=True)
        self._arrange()

    def action_recap(self) -> None:
        self.talk.toggle_recap()

    def action_scroll(self, direction: int) -> None:
        if not self.note.scroll_page(direction):
            self.talk.scroll_page(direction)

    # -- leaving ---------------------------------------------------------------------------

    def action_back(self) -> None:
        """Close the menu or the help, stop the answer, or leave."""
        if self.prompt.menu().close() or self.note.close_page():
            self._arrange()
        elif not self.stop_answer():
            self._leave(0)

    def interrupt(self) -> None:
        """Clear the field; if it is empty, leave. What was typed can be brought back."""
        if self.prompt.selected_text:
            self.app.copy_to_clipboard(self.prompt.selected_text)
        elif self.prompt.text.strip():
            self.drafts.clear(slash_syntax.worth_keeping(self.prompt.clear_to_history()))
            self.say("Cleared. Ctrl+Z or Up brings it back.")
        else:
            self._leave(130)

    def _leave(self, code: int) -> None:
        """Go back to the browser, or quit if there is none below."""
        if self._above_browser:
            self._queue.end(self, self.Ended)
            self.drafts.flush()
            self.dismiss(self._choice())
        else:
            self.action_quit(code)

    def action_quit(self, code: int = 0) -> None:
        choice = self._choice()
        self.stop_answer()
        self._queue.end(self, self.Ended)
        self.app.exit(choice, return_code=code)

    def _choice(self) -> Choice | None:
        """Return the session that is left; a first answer under way has one already."""
        under_way = self._answer.session_id if self._answer.is_coming else None
        session_id = under_way or self.session_id
        state = State(session_id=self.talk.root_id)  # where the browser finds it in its list
        return Choice(session_id, state, left=True) if session_id is not None else None

    def _browse(self, query: str) -> None:
        """Go back to the browser below; for a search, open one that leads back here."""
        if self._above_browser and not query:
            self._leave(0)
        else:
            self.post_message(self.OpenBrowser(query, self._chosen))

    def _chosen(self, choice: Choice | None) -> None:
        if choice is not None and choice.session_id != self.session_id:
            self._move(choice.session_id, "")
        self.prompt.focus()

    @property
    def _above_browser(self) -> bool:
        return self.app.screen_stack[0] is not self

    def on_unmount(self) -> None:
        """Stop the answer, and close the conversation once everything is written."""
        self.stop_answer()
        self._queue.close()
