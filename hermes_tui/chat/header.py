"""The first line of the chat: what the conversation is about, and which model answers."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from hermes_store.records.message import SUMMARY_MARKS
from hermes_store.records.session import Session
from hermes_store.store import Store
from hermes_tui.presentation.fit_text import cell_width, fit, fit_title, plain
from hermes_tui.store_access import Access, Answer, Failed

NEW = "New conversation"
FIRST_MESSAGES = 8
"""Messages at the beginning among which is one of the user."""
LEAST_TITLE = 24
"""Columns for the title below which the model is left out."""


@dataclass(frozen=True, slots=True)
class Named:
    """A session, and the first words of its conversation if it has no title."""

    session: Session
    words: str


def named(store: Store, session_id: str) -> Named:
    """Read a session and, if it has no title, how its conversation begins."""
    session = store.sessions.get(session_id)
    if session.title:
        return Named(session, "")
    ids = store.transcripts.outline(session_id).message_ids[:FIRST_MESSAGES]
    said = (each.text for each in store.messages.by_id(ids) if each.role == "user")
    return Named(session, next((text for text in said if not text.startswith(SUMMARY_MARKS)), ""))


class ChatHeader(Widget):
    """Title, or first words, and model."""

    class Read(Answer[Named]):
        """The session that is open."""

    def __init__(self, access: Access, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.access = access
        self._title = self._model = self._answers = ""

    def show_new(self) -> None:
        """Show that the conversation has not started."""
        self.access.cancel(self, self.Read.__qualname__)
        self._show(NEW, "")

    def show_session(self, session_id: str) -> None:
        """Show a session once it is read."""
        self.access.ask(self, self.Read, lambda store, _: named(store, session_id))

    def show_model(self, model: str) -> None:
        """Show which model answers, as long as the session does not say."""
        self._answers = model
        self.refresh()

    def on_chat_header_read(self, event: Read) -> None:
        event.stop()
        if not event.stale:
            found = event.value
            self._show(
                plain(found.session.title or found.words) or "Untitled conversation",
                plain(found.session.model or ""),
            )

    def on_failed(self, event: Failed) -> None:
        event.stop()  # the conversation below was asked for too, and says why it is not there

    def _show(self, title: str, model: str) -> None:
        self._title, self._model = title, model
        self.refresh()

    def render(self) -> Content:
        """Draw what fits; the title comes before the model."""
        room = self.size.width - len(" Hermes chat  ") - 1
        model = self._model or plain(self._answers)
        beside = f"  {model}" if model else ""
        if room - cell_width(beside) < LEAST_TITLE:
            beside = ""
        title = fit_title(self._title, min(room - cell_width(beside), cell_width(self._title)))
        return Content.assemble(
            (" Hermes chat ", "$primary bold"),
            (f" {title}", "bold"),
            (fit(beside, room, pad=False), "$foreground-muted"),
        )
