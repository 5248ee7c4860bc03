"""The reading pane: transcript, recap, lineage and info of the current conversation."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.widget import Widget

from hermes_store.errors import NotFound
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit
from hermes_store.store import Store
from hermes_tui.actions import Scope, bindings
from hermes_tui.browse import read_conversation, reading_place
from hermes_tui.browse.find_bar import FindBar
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.open_outside import OpenOutside
from hermes_tui.browse.read_conversation import Followed, Wanted
from hermes_tui.browse.session_list_widget import Target
from hermes_tui.browse.transcript_page import TranscriptPage
from hermes_tui.opening.kept_state import PAGES
from hermes_tui.opening.start_options import Opening
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Notice
from hermes_tui.widgets.plain_text import PlainText

PAGE = "transcript"
"""The page that matches are shown on."""


class ReadingPane(Vertical):
    """Shows the current conversation."""

    BINDINGS = bindings(Scope.READING)

    recap = query_one("#recap-text", PlainText)
    transcript = query_one(TranscriptPage)
    lineage = query_one(LineageTree)
    info = query_one("#info-text", PlainText)
    trouble = query_one("#reading-trouble", PlainText)

    class TabChanged(TextualMessage):
        """Another tab is open."""

    class TextRead(Answer[tuple[str, Content]]):
        """The recap of a session, or the facts about it, with the name of its page."""

    def __init__(self, access: Access, opening: Opening) -> None:
        super().__init__(id="pane")
        self.access = access
        self.tab = opening.state.tab
        """The page that was chosen."""
        self._by_itself = False
        """Whether the transcript is open instead, because of a match."""
        self._declined = False
        """Whether another page was chosen during this search."""
        self.find_text: str | None = None
        """The text searched for within this conversation."""
        self._find_bar: FindBar | None = None
        self._found_from: int | None = None
        """The message that was current when finding began."""
        self.zoomed = False
        self._zoomed_from: Widget | None = None
        self.everything = False
        """Whether to show messages that were taken back or are hidden, too."""
        self._opening = opening
        self._followed: Followed | None = None

    def compose(self) -> ComposeResult:
        yield PlainText("", id="reading-trouble")
        for page in self._pages():
            page.display = page.id == self.open_tab
            yield page
        yield OpenOutside(self.access)

    def _pages(self) -> Iterator[Widget]:
        yield TranscriptPage(self.access, id="transcript")
        yield VerticalScroll(PlainText("", id="recap-text"), id="recap")
        yield LineageTree(self._opening.clock(), id="lineage")
        yield VerticalScroll(PlainText("", id="info-text"), id="info")

    def on_mount(self) -> None:
        # The end of a new text is known only once it has been laid out.
        self.watch(self.query_one("#recap"), "virtual_size", self._to_end_of_recap, init=False)
        self.show_tabs()

    def on_resize(self) -> None:
        self.show_tabs()
        self._say_place()

    # -- pages -----------------------------------------------------------------------------

    @property
    def open_tab(self) -> str:
        """The name of the open page."""
        return PAGE if self._by_itself else self.tab

    @property
    def page(self) -> Widget:
        """The open page."""
        return self.query_one(f"#{self.open_tab}")

    def show_tabs(self) -> None:
        """Show the names of the tabs, the open one highlighted."""
        wide = self.screen.size.width >= 100
        self.border_title = reading_place.tabs(PAGES, self.open_tab, wide=wide)

    def show_tab(self, tab: str) -> None:
        """Open a page, as somebody wishes."""
        self.tab, self._by_itself = tab, False
        self._declined = tab != PAGE
        if tab != PAGE:
            self._drop_find()
        self._turn_to()
        if self._followed is not None:
            self._ask(self._followed)

    def next_tab(self) -> None:
        """Open the next page."""
        self.show_tab(PAGES[(PAGES.index(self.open_tab) + 1) % len(PAGES)])

    def _turn_to(self) -> None:
        """Show the open page, and keep the focus in the pane."""
        focused = self.has_focus_within
        for page in self.query(", ".join(f"#{tab}" for tab in PAGES)):
            page.display = page.id == self.open_tab
        self.show_tabs()
        self._say_place()
        if focused and not self.finding:
            self.page.focus()
        self.post_message(self.TabChanged())

    def _open_by_itself(self) -> None:
        """Open the transcript at a match, and the chosen page again after."""
        hit = self._followed is not None and self._followed.hit is not None
        by_itself = hit and not self._declined
        if by_itself != self._by_itself:
            self._by_itself = by_itself
            self._turn_to()

    def action_zoom(self) -> None:
        """Read on the whole screen, or return to where one was."""
        self.zoomed = not self.zoomed
        if self.zoomed:
            self._zoomed_from = self.screen.focused
            self.mount(PlainText("", id="zoom-title"), before=0)
        else:
            self.query("#zoom-title").remove()
        self.screen.set_class(self.zoomed, "-zoom")
        came_from = self._zoomed_from if not self.zoomed else None
        (came_from if came_from is not None and came_from.is_attached else self.page).focus()
        self.call_after_refresh(self._say_place)

    def _say_place(self) -> None:
        """Say which turn and which match is shown, and what is left out."""
        shown = self.open_tab == PAGE
        place = reading_place.place(self.transcript) if shown else reading_place.NOWHERE
        if self._find_bar is not None:
            self._find_bar.say(place.match, place.matches)
        for title in self.query("#zoom-title").results(PlainText):
            row = self._followed.target.row if self._followed is not None else None
            title.update(reading_place.title(self.transcript, row, place, self.size.width - 2))
        self.border_subtitle = place.at_edge(zoomed=self.zoomed)

    @on(Transcript.Moved)
    def _moved(self, event: Transcript.Moved) -> None:
        event.stop()
        self._say_place()

    # -- following -------------------------------------------------------------------------

    def follow(self, target: Target | None, query: str, hit: Hit | None) -> None:
        """Show a conversation in the open tab."""
        if target is None:
            self.clear()
            return
        shown = self._followed
        if shown is None or shown.target.session_id != target.session_id or shown.query != query:
            self._drop_find()
        if shown is None or shown.query != query:
            self._declined = False
        self._followed = Followed(target, query, hit)
        self._open_by_itself()
        if shown is not None and self._is_read(shown, self._followed):
            self.transcript.ask_for_more(everything=self.everything)
        else:
            self._ask(self._followed)

    def _is_read(self, shown: Followed, now: Followed) -> bool:
        """Tell whether the transcript is there already, so that the reader is not moved."""
        same = (shown.target.session_id, shown.query) == (now.target.session_id, now.query)
        if not same or self.open_tab != PAGE or self.transcript.outline is None:
            return False
        return self.has_focus_within or shown.hit == now.hit

    def follow_if_moved(self, target: Target | None, query: str, hit: Hit | None) -> None:
        """Show a conversation if it, or the search text, has changed."""
        shown = self._followed
        if (
            target is None
            or shown is None
            or (target.session_id, query) != (shown.target.session_id, shown.query)
        ):
            self.follow(target, query, hit)

    def clear(self) -> None:
        """Show nothing, and cancel what is being read."""
        self._followed = None
        self._drop_find()
        self._open_by_itself()
        self.access.cancel(self, "pane")
        self.trouble.display = False
        self.recap.update("")
        self.info.update("")
        self.transcript.forget()
        self.lineage.forget(self.access)
        self._say_place()

    # -- finding ---------------------------------------------------------------------------

    @property
    def finding(self) -> bool:
        """Whether the line that finds text is open."""
        return self._find_bar is not None and self._find_bar.display

    def open_find(self) -> None:
        """Open the line that finds text in this conversation."""
        if self._followed is None:
            return
        if self.open_tab != PAGE:
            self.show_tab(PAGE)
        if not self.finding:
            self._found_from = self.transcript.laid_out.message_id(self.transcript.cursor)
        if self._find_bar is None:
            self._find_bar = FindBar()
            self.mount(self._find_bar)
        else:
            self._find_bar.open()

    def leave(self) -> bool:
        """Leave what can be left inside the pane: finding, then the zoom; tell whether any was."""
        if self.finding:
            self._close_find()
        elif self.zoomed:
            self.action_zoom()
        else:
            return False
        return True

    def _close_find(self) -> None:
        """End finding, and stay at the match, or where one was."""
        view, start = self.transcript, self._found_from
        if view.laid_out.match_number(view.cursor)[0]:
            start = view.laid_out.message_id(view.cursor)
        marked = bool(self.find_text)
        self._drop_find()
        if self._followed is not None and marked:
            self._ask_transcript(self._followed, start)

    def _drop_find(self) -> None:
        self.find_text = None
        if self._find_bar is not None and self._find_bar.display:
            if self._find_bar.has_focus_within:
                self.page.focus()
            self._find_bar.display = False

    def on_find_bar_typed(self, event: FindBar.Typed) -> None:
        event.stop()
        if self.finding and self._followed is not None:
            self.find_text = event.text.strip() or None
            self._ask_transcript(self._followed, self._found_from)

    def on_find_bar_step(self, event: FindBar.Step) -> None:
        event.stop()
        self.transcript.next_match(event.direction)

    def on_find_bar_done(self, event: FindBar.Done) -> None:
        event.stop()
        self.transcript.focus()

    def _ask(self, shown: Followed) -> None:
        ask = {
            "recap": self._ask_text,
            PAGE: self._ask_transcript,
            "lineage": self._ask_lineage,
            "info": self._ask_text,
        }
        self.trouble.display = False
        ask[self.open_tab](shown)

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if event.stale or event.question is TranscriptPage.Grown:
            return
        self.clear()
        if not isinstance(event.error, NotFound):
            self.trouble.update(Content.styled(clean(str(event.error)), "$error"))
            self.trouble.display = True

    def _ask_text(self, shown: Followed) -> None:
        """Ask for the recap or the info."""
        tab, target, opening = self.open_tab, shown.target, self._opening

        def read(store: Store, stopped: Stopped) -> tuple[str, Content]:
            if tab == "recap":
                return tab, read_conversation.recap(store, target, opening.limits)
            folder = opening.sessions_dir
            return tab, read_conversation.info(store, target, folder, opening.clock())

        self.access.ask(self, self.TextRead, read, group="pane")

    def on_reading_pane_text_read(self, event: TextRead) -> None:
        event.stop()
        if not event.stale:
            tab, text = event.value
            self.query_one(f"#{tab}-text", PlainText).update(text)
            self._to_end_of_recap()

    def _to_end_of_recap(self) -> None:
        self.query_one("#recap").scroll_end(animate=False, immediate=True)

    def _ask_lineage(self, shown: Followed) -> None:
        self.lineage.ask(self.access, shown.target.session_id, self._opening.clock())

    # -- transcript ------------------------------------------------------------------------

    def _ask_transcript(self, shown: Followed, start: int | None = None) -> None:
        finding = self.find_text is not None
        wanted = Wanted(
            shown.target,
            self.find_text or shown.query,
            shown.hit.message_id if shown.hit is not None and not finding else None,
            start,
            finding,
            self.everything,
        )
        self.transcript.ask(wanted)

    def toggle_everything(self) -> None:
        """Show or hide messages that were taken back or are hidden."""
        self.everything = not self.everything
        said = "Showing" if self.everything else "Hiding"
        self.post_message(Notice(f"{said} messages that were taken back or are hidden."))
        if self._followed is not None:
            self._ask(self._followed)

    def refresh_page(self) -> None:
        """Add new messages to the open tab."""
        if self._followed is not None and self.open_tab == "recap":
            self._ask_text(self._followed)
        elif self._followed is not None and self.open_tab == PAGE:
            self.transcript.ask_for_more(everything=self.everything)

    def go_to_match(self, direction: int) -> None:
        """Go to the next or previous match; first open the transcript if it is not."""
        if self.open_tab != PAGE:
            self.show_tab(PAGE)
        elif not self.transcript.next_match(direction):
            self.post_message(Notice("No matches in this conversation."))

    def action_open_in(self, variable: str) -> None:
        """Show the conversation in the program that an environment variable names."""
        if self._followed is not None:
            outside = self.query_one(OpenOutside)
            outside.open_in(variable, self._followed.target, everything=self.everything)
