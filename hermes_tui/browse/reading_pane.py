"""The right side of the main screen: recap, transcript, lineage and info of the marked row."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from hermes_store.errors import NotFound, StoreError
from hermes_store.records.message import Message
from hermes_store.records.recap import Recap
from hermes_store.records.session import Lineage
from hermes_store.records.text import clean
from hermes_store.records.transcript import Outline
from hermes_store.sessions.files import session_files
from hermes_store.store import Store
from hermes_tui.access import Stopped, StoreChanged
from hermes_tui.browse.base import TABS
from hermes_tui.browse.search_pane import SearchPart
from hermes_tui.browse.session_list import SessionList, Target
from hermes_tui.presentation import details
from hermes_tui.presentation import rows as render
from hermes_tui.transcript.page import MessagesWanted
from hermes_tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

AROUND = 40
"""Messages that are read along with the outline of a transcript."""


class Page(NamedTuple):
    """A transcript with the messages around the place where it begins."""

    outline: Outline
    messages: list[Message]
    matches: array[int]
    spans: Spans | None
    focus: int | None


class PanePart(SearchPart):
    """Follows the marked conversation."""

    def on_mount(self) -> None:
        """Show which page is open."""
        self.find_text: str | None = None
        self._followed: tuple[str, str] | None = None
        # Only when a new text has been laid out is it known where its end is.
        self.watch(self.query_one("#recap"), "virtual_size", self._to_end_of_recap, init=False)
        self.show_tabs()

    def show_tabs(self) -> None:
        # Our own words only: a border title is the one place that is parsed as markup.
        space = " " if self.size.width >= 100 else ""
        names = [
            f"[b reverse]{space}{tab.capitalize()}{space}[/]"
            if tab == self.tab
            else f"[@click=screen.show_tab('{tab}')]{space}{tab.capitalize()}{space}[/]"
            for tab in TABS
        ]
        self.pane.border_title = "─".join(names)

    def action_show_tab(self, tab: str) -> None:
        """Open another page."""
        self.tab = tab
        for page in self.pane.children:
            page.display = page.id == tab
        self.show_tabs()
        self.follow()
        self.show_hints()

    def action_next_tab(self) -> None:
        """Open the next page."""
        focused = self.pane.has_focus_within
        self.action_show_tab(TABS[(TABS.index(self.tab) + 1) % len(TABS)])
        if focused:
            self.focus_pane()

    # -- following -------------------------------------------------------------------------

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Follow the marked row."""
        event.stop()
        if isinstance(event.view, SessionList):
            self.find_text = None
            self.follow()
            self.near_end()

    def follow(self) -> None:
        """Show the marked conversation on the page that is open."""
        target = self.sessions.target()
        if target is None:
            self._clear_pane()
            return
        self._followed = (target.session_id, self.search_bar.text)
        show = {
            "recap": self._ask_recap,
            "transcript": self._ask_transcript,
            "lineage": self._ask_lineage,
            "info": self._ask_info,
        }
        show[self.tab](target)

    def follow_if_moved(self) -> None:
        """Show the marked conversation if that is another one, or is looked for otherwise."""
        target = self.sessions.target()
        wanted = (target.session_id, self.search_bar.text) if target is not None else None
        if wanted is None or wanted != self._followed:
            self.follow()

    def _clear_pane(self) -> None:
        self._followed = None
        self.office.cancel(self, "pane")
        self.recap.update("")
        self.info.update("")
        self.transcript.clear()
        self.lineage.clear()

    def _pane_failed(self, error: StoreError) -> None:
        self._clear_pane()
        if not isinstance(error, NotFound):
            self.recap.update(Content.styled(clean(str(error)), "$error"))

    def _ask_recap(self, target: Target) -> None:
        def read(store: Store, stopped: Stopped) -> Recap:
            session_id = target.session_id if target.part else _tip(store, target)
            return store.transcripts.quick_recap(session_id, self.opening.limits)

        self.ask("pane", read, self._show_recap, self._pane_failed)

    def _show_recap(self, recap: Recap) -> None:
        self.recap.update(details.recap(recap))
        self._to_end_of_recap()

    def _to_end_of_recap(self) -> None:
        self.query_one("#recap").scroll_end(animate=False, immediate=True)

    def _ask_lineage(self, target: Target) -> None:
        self.ask(
            "pane",
            lambda store, _: store.lineage.tree(target.session_id),
            self._show_lineage,
            self._pane_failed,
        )

    def _show_lineage(self, family: Lineage) -> None:
        self.lineage.show(render.branches(family))

    def _ask_info(self, target: Target) -> None:
        def read(store: Store, stopped: Stopped) -> Content:
            now = self.clock()
            rows = store.lists.rows([target.root_id], now=now)
            members = store.lineage.members(target.root_id)
            chain = [each.session_id for each in store.transcripts.outline(target.root_id).segments]
            wanted = [target.session_id] if target.part else chain
            folder = self.opening.sessions_dir
            files = sum(1 for each in members for _ in session_files(folder, each)) if folder else 0
            if not rows:
                return Content("")
            sessions = [store.sessions.get(each) for each in wanted]
            return details.info(rows[0], sessions, store.trash.weigh(wanted, now=now), files)

        self.ask("pane", read, self.info.update, self._pane_failed)

    # -- transcript ------------------------------------------------------------------------

    def _ask_transcript(self, target: Target) -> None:
        text = self.find_text or (self.search_bar.text if self.is_searching else "")
        hit = self.hit_of(target.root_id) if self.find_text is None else None

        def read(store: Store, stopped: Stopped) -> Page:
            outline = store.transcripts.outline(target.session_id)
            matches: array[int] = array("q")
            spans: Spans | None = None
            if text.strip():
                matches, spans = store.transcripts.find(
                    outline, text, cancelled=stopped, typing=True
                )
            focus = hit.message_id if hit is not None else None
            if focus is None and self.find_text and matches:
                focus = matches[-1]
            if focus is None and target.part:
                focus = _first_of(outline, target.session_id)
            if hit is not None and not matches:
                matches = array("q", [hit.message_id])
            near = _around(outline, focus)
            return Page(outline, store.messages.by_id(near), matches, spans, focus)

        self.ask("pane", read, self._show_transcript, self._pane_failed)

    def _show_transcript(self, page: Page) -> None:
        self.transcript.show(
            page.outline,
            page.messages,
            matches=page.matches,
            spans=page.spans,
            focus=page.focus,
        )
        if self.find_text is not None:
            number = len(page.matches)
            self.say(f"{number:,} messages match." if number else "Nothing in this conversation.")

    def on_messages_wanted(self, event: MessagesWanted) -> None:
        """Read messages that came into sight."""
        event.stop()
        self.ask(
            "messages",
            lambda store, _: store.messages.by_id(event.ids),
            self.transcript.provide,
            exclusive=False,
        )

    def on_store_changed(self, event: StoreChanged) -> None:
        """Let an open page grow with its conversation."""
        target = self.sessions.target()
        outline = self.transcript.outline
        if target is None:
            return
        if self.tab == "recap":
            self._ask_recap(target)
        elif self.tab == "transcript" and outline is not None:
            self.ask(
                "grow",
                lambda store, _: store.transcripts.page_end(outline.root_id, outline),
                self._grow,
                lambda _: None,
            )

    def _grow(self, page: tuple[Outline, list[Message]]) -> None:
        now = self.transcript.outline
        if now is not None and now.root_id == page[0].root_id:
            self.transcript.grow(*page)

    def _go_to_match(self, direction: int) -> None:
        if self.tab != "transcript":
            self.action_show_tab("transcript")
            return
        place = self.transcript.next_match(direction)
        if place is None:
            self.say("No matches in this conversation.")
        else:
            self.pane.border_subtitle = f"match {place[0]:,} of {place[1]:,}"

    def action_next_match(self) -> None:
        """Go to the next match."""
        self._go_to_match(1)

    def action_previous_match(self) -> None:
        """Go to the match before."""
        self._go_to_match(-1)

    # -- left to the screen ----------------------------------------------------------------

    def focus_pane(self) -> None:
        """Give the keys to the page that is open."""
        raise NotImplementedError

    def show_hints(self) -> None:
        """Show the keys that work now."""
        raise NotImplementedError


def _tip(store: Store, target: Target) -> str:
    return (
        target.row.tip_id
        if target.row is not None
        else store.transcripts.outline(target.root_id).tip_id
    )


def _first_of(outline: Outline, session_id: str) -> int | None:
    for segment in outline.segments:
        if segment.session_id == session_id and segment.first < len(outline.message_ids):
            return outline.message_ids[segment.first]
    return None


def _around(outline: Outline, focus: int | None) -> array[int]:
    ids = outline.message_ids
    try:
        place = len(ids) if focus is None else ids.index(focus)
    except ValueError:
        place = len(ids)
    return ids[max(0, place - AROUND) : place + AROUND]
