"""What the slash commands of a chat do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message
from textual.widget import Widget

from hermes_store.errors import StoreError
from hermes_store.records.session import Session
from hermes_store.store import Store
from hermes_tui.chat.conversation_queue import ConversationQueue
from hermes_tui.chat.turn_loop import Conversation
from hermes_tui.opening.start_options import Opening
from hermes_tui.presentation.export_target import refuse_own_file, suggested_name, typed_path
from hermes_tui.presentation.numbers import plural
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Notice


class Commands(Widget):
    """Runs slash commands. Takes no room on screen."""

    DEFAULT_CSS = "Commands { display: none; }"

    @dataclass
    class Moved(Message):
        """The conversation continues in another session."""

        session_id: str
        text: str

    @dataclass
    class Resumed(Message):
        """Another session was chosen to continue."""

        session_id: str

    @dataclass
    class Done(Message):
        """A command finished that may have changed the title."""

        text: str

    @dataclass
    class Rewound(Message):
        """Messages were undone; the session must be redrawn."""

        text: str

    class Told(Answer[str]):
        """A command finished; the value says what it did."""

    class Continued(Answer[tuple[Session, str]]):
        """The session that the conversation continues in."""

    class Undone(Answer[int]):
        """The last exchange was undone; the value counts its messages."""

    class Found(Answer[Session]):
        """The session that the user named."""

    def __init__(self, access: Access, opening: Opening, queue: ConversationQueue) -> None:
        super().__init__()
        self.access = access
        self._find = opening.find_session
        self._queue = queue

    def on_failed(self, event: Failed) -> None:
        event.stop()
        self.post_message(Notice(str(event.error), error=True))

    def on_commands_told(self, event: Told) -> None:
        event.stop()
        self.post_message(self.Done(event.value))

    def title(self, session_id: str | None, name: str) -> None:
        """Set the title, or show it if there is no name."""
        if session_id is None:
            self._queue.run(self, self.Told, lambda talk, _: _queued(talk, name))
        elif name:
            # Not through the queue, because a title need not wait for the end of an answer.
            self.access.change(
                self, self.Told, lambda store, _: _named(store.sessions.rename(session_id, name))
            )
        else:
            self.access.ask(
                self, self.Told, lambda store, _: _named(store.sessions.get(session_id).title)
            )

    def compress(self) -> None:
        """Continue in a session that starts with a summary."""
        self._continue(lambda talk: talk.compress(), "Conversation compressed.")

    def branch(self, name: str) -> None:
        """Continue in a copy of the session."""
        self._continue(lambda talk: talk.branch(name or None), "Branched. You are now in the copy.")

    def _continue(self, job: Callable[[Conversation], Session], sentence: str) -> None:
        self._queue.run(self, self.Continued, lambda talk, _: (job(talk), sentence))

    def on_commands_continued(self, event: Continued) -> None:
        event.stop()
        session, sentence = event.value
        self.post_message(self.Moved(session.id, sentence))

    def undo(self) -> None:
        """Undo the last exchange."""
        self._queue.run(self, self.Undone, lambda talk, _: talk.undo())

    def on_commands_undone(self, event: Undone) -> None:
        event.stop()
        self.post_message(self.Rewound(f"{plural(event.value, 'message')} undone."))

    def resume(self, name: str) -> None:
        """Find the session that the user names, and continue it."""
        find = self._find
        self.access.ask(self, self.Found, lambda store, _: find(store, name))

    def on_commands_found(self, event: Found) -> None:
        event.stop()
        if not event.stale:
            self.post_message(self.Resumed(event.value.id))

    def export(self, session_id: str | None, name: str) -> None:
        """Export the session; the file extension sets the format."""
        if session_id is None:
            self.post_message(Notice("There is nothing to export yet."))
            return
        try:
            path = typed_path(name or suggested_name(session_id, ".md"))
            refuse_own_file(path, self.access.database)
        except StoreError as error:
            self.post_message(Notice(str(error), error=True))
            return
        fmt = {".md": "markdown", ".html": "html"}.get(path.suffix.lower(), "jsonl")

        def write(store: Store, stopped: Stopped) -> str:
            store.transfer.export_file(path, fmt, [session_id])
            return f"Exported to {path.absolute()}."

        self.access.ask(self, self.Told, write)


def _named(title: str | None) -> str:
    return f"The title is “{title}”." if title else "No title yet. Set one with /title NAME."


def _queued(talk: Conversation, name: str) -> str:
    """Set or show the title of a session that has not started."""
    if not name:
        return _named(talk.title())
    return f"The title will be “{talk.set_title(name)}” once the conversation starts."
