"""The chat screen: slash commands, titles, compression, and leaving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import TextArea

from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.text import clean
from hermes_tui.browse.messages import OpenBrowser
from hermes_tui.chat import slash_commands
from hermes_tui.chat.base import ChatBase
from hermes_tui.chat.prompt import Prompt
from hermes_tui.opening import Choice, State
from hermes_tui.presentation.text import plural

if TYPE_CHECKING:
    from hermes_store.records.session import Session
    from hermes_tui.access import Stopped
    from hermes_tui.chat.conversation import Turn

HINTS = (("⏎", "say"), ("⇧⏎", "new line"), ("/", "commands"), ("PgUp", "scroll"),
         ("Esc", "stop, leave"), ("F1", "help"))  # fmt: skip


class ChatScreen(ChatBase):
    """A conversation with a model, and what can be done with it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", priority=True, show=False),
        Binding("f1", "help", "help", show=False),
        Binding("pageup", "scroll(-1)", "scroll", priority=True, show=False),
        Binding("pagedown", "scroll(1)", "scroll", priority=True, show=False),
        Binding("ctrl+t", "recap", "recap", priority=True, show=False),
        Binding("ctrl+q", "quit", "quit", priority=True, show=False),
    ]

    def on_mount(self) -> None:
        """Show the keys."""
        self.status.show(HINTS)

    # -- what was typed --------------------------------------------------------------------

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        """Say it, or do what a command says."""
        event.stop()
        try:
            spoken = slash_commands.parse(event.text)
        except InvalidInput as error:
            self.failed(error)
            self.prompt.replace_text(event.text)
            return
        if spoken is not None:
            self._do(spoken)
        elif self.is_answering:
            self.prompt.replace_text(event.text)
            self.say_note("The answer is still coming; Esc stops it.", "$warning")
        else:
            self.talk(event.text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Offer the commands that the text begins to name."""
        event.stop()
        found = slash_commands.matching(self.prompt.text)
        self.offers.display = bool(found)
        parts: list[tuple[str, str]] = []
        for command in found:
            usage = f"/{command.name} {command.takes}".strip()
            parts += [(f"  {usage:<20}", "$accent"), (f"{command.about}\n", "$foreground-muted")]
        self.offers.update(Content.assemble(*parts).rstrip())

    def on_prompt_completed(self, event: Prompt.Completed) -> None:
        """Complete a command."""
        event.stop()
        found = slash_commands.matching(event.text)
        if found:
            more = " " if found[0].takes else ""
            self.prompt.replace_text(f"/{found[0].name}{more}")

    def _do(self, spoken: slash_commands.Spoken) -> None:
        jobs: dict[str, Callable[[str], None]] = {
            "title": self._title,
            "compress": lambda _: self.compress(),
            "resume": self._resume,
            "sessions": lambda _: self._browse(""),
            "search": self._browse,
            "new": lambda _: self._move(None, "A new session begins with what you say next."),
            "branch": self._branch,
            "undo": lambda _: self._undo(),
            "retry": lambda _: self._retry(),
            "export": self._export,
            "help": lambda _: self.action_help(),
            "quit": lambda _: self.action_quit(),
        }
        allowed = ("title", "help", "quit", "export")
        if self.is_answering and spoken.name not in allowed:
            self.prompt.replace_text(f"/{spoken.name} {spoken.rest}".rstrip())
            self.say_note("The answer is still coming; Esc stops it.", "$warning")
            return
        jobs[spoken.name](spoken.rest)

    def _work(self, job: Callable[[Stopped], object], then: Callable[[object], None]) -> None:
        self.office.run(self, "command", job, then, self.failed)

    # -- commands --------------------------------------------------------------------------

    def _title(self, name: str) -> None:
        if not name:
            self._work(lambda _: self.talk_partner().title(), self._tell_title)
        else:
            self._work(lambda _: self.talk_partner().set_title(name), self._titled)

    def _tell_title(self, title: object) -> None:
        text = f"The title is “{title}”." if title else "There is no title. /title NAME gives one."
        self.say_note(text)

    def _titled(self, title: object) -> None:
        waiting = self.session_id is None
        later = " as soon as the session exists" if waiting else ""
        self.say_note(f"The title is “{title}”{later}.")
        if not waiting:
            self.refresh_header()

    def refresh_header(self) -> None:
        """Read the title anew."""
        session_id = self.session_id
        if session_id is not None:
            self.office.ask(
                self, "header", lambda store, _: store.sessions.get(session_id), self.show_header,
                self.failed,
            )  # fmt: skip

    def compress(self) -> None:
        """Put a summary in the place of what was said long ago."""
        self.say_note("summarising …")
        self._work(lambda _: self.talk_partner().compress(), self._compressed)

    def _compressed(self, session: object) -> None:
        self._moved(session, "The conversation goes on in a shorter form.")

    def _moved(self, session: object, sentence: str) -> None:
        if TYPE_CHECKING:
            assert isinstance(session, Session)
        self.session_id = session.id
        self.show_session(recap=False)
        self.say_note(sentence)

    def _branch(self, name: str) -> None:
        self._work(
            lambda _: self.talk_partner().branch(name or None),
            lambda session: self._moved(session, "You go on in a copy of the session."),
        )

    def _undo(self) -> None:
        self._work(lambda _: self.talk_partner().undo(), self._undone)

    def _undone(self, removed: object) -> None:
        self.show_session(recap=False)
        self.say_note(f"{plural(int(str(removed)), 'message')} taken back.")

    def _retry(self) -> None:
        if self.session_id is None:
            self.say_note("There is nothing to ask again.", "$warning")
        else:
            self._begin(lambda talk, heard, stop: talk.retry(heard, stop), None)

    def _resume(self, name: str) -> None:
        if not name:
            self._browse("")
            return
        self.office.ask(
            self,
            "resume",
            lambda store, _: store.sessions.find_to_resume(name),
            lambda session: self._move(session.id, ""),
            self.failed,
        )

    def _move(self, session_id: str | None, sentence: str) -> None:
        self._end()
        self.session_id = session_id
        if self.conversation is not None:
            self.conversation.move_to(session_id)
        self.show_session(recap=True)
        if sentence:
            self.say_note(sentence)

    def _export(self, name: str) -> None:
        session_id = self.session_id
        if session_id is None:
            self.say_note("There is nothing to export yet.", "$warning")
            return
        path = Path(name or f"{session_id}.md").expanduser()
        formats = {".md": "markdown", ".html": "html"}
        fmt = formats.get(path.suffix.lower(), "jsonl")
        self.office.ask(
            self,
            "export",
            lambda store, _: store.transfer.export_file(path, fmt, [session_id]),
            lambda _: self.say_note(f"Written to {clean(str(path.absolute()))}."),
            self.failed,
        )

    def action_help(self) -> None:
        """Show the commands and keys."""
        lines = [
            f"/{command.name} {command.takes}".ljust(20) + command.about
            for command in slash_commands.COMMANDS
        ]
        lines += ["", "Enter says it, Shift+Enter or Ctrl+J begins a new line, Up brings back "
                  "what you said, Esc stops an answer or leaves, PgUp and PgDn scroll, "
                  "Ctrl+T shows the recap."]  # fmt: skip
        self.say_note("\n".join(lines))

    def action_recap(self) -> None:
        """Show the recap instead of the conversation, or the other way round."""
        self.recap_box.display = not self.recap_box.display and self.session_id is not None
        self.transcript.display = not self.recap_box.display

    def action_scroll(self, direction: int) -> None:
        """Scroll what was said."""
        if self.recap_box.display:
            self.recap_box.scroll_relative(y=direction * 10, animate=False)
        elif direction < 0:
            self.transcript.action_page_up()
        else:
            self.transcript.action_page_down()

    # -- after an answer -------------------------------------------------------------------

    def after_turn(self, turn: Turn) -> None:
        """Let a title be found after the first exchange; compress when it gets too long."""
        self.refresh_header()
        if turn.full:
            self.say_note("The conversation has grown long; it is being compressed …")
            self.compress()

    # -- leaving ---------------------------------------------------------------------------

    def action_back(self) -> None:
        """Stop the answer; without one, leave."""
        if self.stop_answer():
            return
        if self.offers.display:
            self.prompt.text = ""
        elif self._above_browser:
            self._end()
            self.dismiss(None)
        else:
            self.action_quit()

    def action_quit(self, code: int = 0) -> None:
        """Leave the program."""
        self.stop_answer()
        self._end()
        session_id = self.session_id
        choice = Choice(session_id, State(), left=True) if session_id else None
        self.app.exit(choice, return_code=code)

    def _browse(self, query: str) -> None:
        if self._above_browser:
            self._end()
            self.dismiss(Choice(self.session_id or "", State(query=query)) if query else None)
            return
        self.post_message(OpenBrowser(query, self._chosen))

    def _chosen(self, choice: Choice | None) -> None:
        if choice is not None and choice.session_id != self.session_id:
            self._move(choice.session_id, "")
        self.prompt.focus()

    @property
    def _above_browser(self) -> bool:
        return len(self.app.screen_stack) > 1

    def _end(self) -> None:
        """Close the session; it can be resumed at any time."""
        if self.conversation is not None:
            try:
                self.conversation.end("cli_close")
            except StoreError as error:
                self.failed(error)

    def on_unmount(self) -> None:
        """Give back what the conversation holds."""
        self._stop.set()
        if self.conversation is not None:
            self.conversation.close()
