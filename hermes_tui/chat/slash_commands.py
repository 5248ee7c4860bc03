"""What the slash commands of a chat do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual.message import Message
from textual.widget import Widget

from hermes_store.records.session import Session
from hermes_store.store import Store
from hermes_tui.chat.conversation_queue import ConversationQueue
from hermes_tui.chat.turn_loop import Conversation
from hermes_tui.presentation.numbers import plural
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Notice


class Commands(Widget):
    """Does what a slash command asks for. Takes no room on screen."""

    DEFAULT_CSS = "Commands { display: none; }"

    @dataclass
    class Moved(Message):
        """The conversation continues in another session."""

        session_id: str
        text: str

    @dataclass
    class Resumed(Message):
        """Another session is to be continued."""

        session_id: str

    @dataclass
    class Done(Message):
        """Something was done that may have changed the title."""

        text: str

    @dataclass
    class Rewound(Message):
        """Messages were taken back; the session is to be shown anew."""

        text: str

    class Told(Answer[str]):
        """A command was done, told in a sentence."""

    class Continued(Answer[tuple[Session, str]]):
        """The session that the conversation continues in."""

    class Undone(Answer[int]):
        """The last exchange was taken back."""

    class Found(Answer[Session]):
        """The session that a person named."""

    def __init__(self, access: Access, queue: ConversationQueue) -> None:
        super().__init__()
        self.access = access
        self._queue = queue

    def on_failed(self, event: Failed) -> None:
        """Say what went wrong."""
        event.stop()
        self.post_message(Notice(str(event.error), error=True))

    def on_commands_told(self, event: Told) -> None:
        """Tell what was done."""
        event.stop()
        self.post_message(self.Done(event.value))

    def title(self, session_id: str | None, name: str) -> None:
        """Set the title, or tell it."""
        if session_id is None:
            self._queue.run(self, self.Told, lambda talk, _: _queued(talk, name))
        elif name:
            # Not in the queue: a title need not wait for the end of an answer.
            self.access.change(
                self, self.Told, lambda store, _: _named(store.sessions.rename(session_id, name))
            )
        else:
            self.access.ask(
                self, self.Told, lambda store, _: _named(store.sessions.get(session_id).title)
            )

    def compress(self) -> None:
        """Continue in a session that begins with a summary."""
        self._continue(
            lambda talk: talk.compress(), "The conversation continues in a shorter form."
        )

    def branch(self, name: str) -> None:
        """Continue in a copy of the session."""
        self._continue(lambda talk: talk.branch(name or None), "You continue in a copy.")

    def _continue(self, job: Callable[[Conversation], Session], sentence: str) -> None:
        self._queue.run(self, self.Continued, lambda talk, _: (job(talk), sentence))

    def on_commands_continued(self, event: Continued) -> None:
        """Show the session that the conversation continues in."""
        event.stop()
        session, sentence = event.value
        self.post_message(self.Moved(session.id, sentence))

    def undo(self) -> None:
        """Take back the last exchange."""
        self._queue.run(self, self.Undone, lambda talk, _: talk.undo())

    def on_commands_undone(self, event: Undone) -> None:
        """Show what is left."""
        event.stop()
        self.post_message(self.Rewound(f"{plural(event.value, 'message')} taken back."))

    def resume(self, name: str) -> None:
        """Continue the session that a person names."""
        self.access.ask(self, self.Found, lambda store, _: store.sessions.find_to_resume(name))

    def on_commands_found(self, event: Found) -> None:
        """Continue the session that was found."""
        event.stop()
        if not event.stale:
            self.post_message(self.Resumed(event.value.id))

    def export(self, session_id: str | None, name: str) -> None:
        """Write the session to a file; its ending says in which format."""
        if session_id is None:
            self.post_message(Notice("There is nothing to export yet."))
            return
        path = Path(name or f"{session_id}.md").expanduser()
        fmt = {".md": "markdown", ".html": "html"}.get(path.suffix.lower(), "jsonl")

        def write(store: Store, stopped: Stopped) -> str:
            store.transfer.export_file(path, fmt, [session_id])
            return f"Written to {path.absolute()}."

        self.access.ask(self, self.Told, write)


def _named(title: str | None) -> str:
    return f"The title is “{title}”." if title else "There is no title. /title NAME sets one."


def _queued(talk: Conversation, name: str) -> str:
    """Set the title of a session that has not begun, or tell it."""
    if not name:
        return _named(talk.title())
    return f"The title is “{talk.set_title(name)}” as soon as the session exists."
