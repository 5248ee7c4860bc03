"""The reading pane: recap, transcript, lineage and info of the current conversation."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.widget import Widget

from hermes_store.errors import NotFound
from hermes_store.records.message import Message, State
from hermes_store.records.recap import Recap
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit, Spans
from hermes_store.records.session import Lineage
from hermes_store.records.transcript import Outline
from hermes_store.sessions.session_files import session_files
from hermes_store.store import Store
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.session_list_widget import Target
from hermes_tui.presentation import lineage_lines, session_details
from hermes_tui.start_options import Opening
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Notice
from hermes_tui.widgets.plain_text import PlainText

TABS = ("recap", "transcript", "lineage", "info")
AROUND = 40
"""Messages read along with the outline of a transcript."""


@dataclass(frozen=True, slots=True)
class Page:
    """A transcript with the messages around its starting place."""

    outline: Outline
    messages: list[Message]
    matches: array[int]
    spans: Spans | None
    focus: int | None
    finding: bool
    """Whether the user is searching within this conversation."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What the pane shows: a conversation and the search text."""

    target: Target
    query: str
    hit: Hit | None


class ReadingPane(Vertical):
    """Shows the current conversation."""

    recap = query_one("#recap-text", PlainText)
    transcript = query_one(Transcript)
    lineage = query_one(LineageTree)
    info = query_one("#info-text", PlainText)

    class TabChanged(TextualMessage):
        """Another tab is open."""

    class RecapRead(Answer[Recap]):
        """The recap of a session."""

    class PageRead(Answer[Page]):
        """A transcript."""

    class LineageRead(Answer[Lineage]):
        """A lineage tree."""

    class InfoRead(Answer[Content]):
        """The facts about a conversation."""

    class MessagesRead(Answer[list[Message]]):
        """Messages that scrolled into view."""

    class Grown(Answer[tuple[Outline, list[Message]]]):
        """New messages of a live conversation."""

    def __init__(self, access: Access, opening: Opening) -> None:
        super().__init__(id="pane")
        self.access = access
        self.tab = opening.state.tab
        self.find_text: str | None = None
        """The text searched for within this conversation."""
        self.everything = False
        """Whether to show messages that were taken back or are hidden, too."""
        self._opening = opening
        self._followed: Followed | None = None

    def compose(self) -> ComposeResult:
        for page in self._pages():
            page.display = page.id == self.tab
            yield page

    def _pages(self) -> Iterator[Widget]:
        yield VerticalScroll(PlainText("", id="recap-text"), id="recap")
        yield Transcript(id="transcript")
        yield LineageTree(self._opening.clock(), id="lineage")
        yield VerticalScroll(PlainText("", id="info-text"), id="info")

    def on_mount(self) -> None:
        # The end of a new text is known only once it has been laid out.
        self.watch(self.query_one("#recap"), "virtual_size", self._to_end_of_recap, init=False)
        self.show_tabs()

    def on_resize(self) -> None:
        self.show_tabs()

    # -- pages -----------------------------------------------------------------------------

    @property
    def page(self) -> Widget:
        """The open page."""
        return self.query_one(f"#{self.tab}")

    def show_tabs(self) -> None:
        """Show the names of the tabs, the open one highlighted."""
        # No stored text here: a border title is the one place that is parsed as markup.
        space = " " if self.screen.size.width >= 100 else ""
        names = [
            f"[b reverse]{space}{tab.capitalize()}{space}[/]"
            if tab == self.tab
            else f"[@click=screen.show_tab('{tab}')]{space}{tab.capitalize()}{space}[/]"
            for tab in TABS
        ]
        self.border_title = "─".join(names)

    def show_tab(self, tab: str) -> None:
        """Open a tab."""
        self.tab = tab
        for page in self.children:
            page.display = page.id == tab
        self.show_tabs()
        if self._followed is not None:
            self._ask(self._followed)
        self.post_message(self.TabChanged())

    def next_tab(self) -> None:
        """Open the next tab, keeping the focus in the pane."""
        focused = self.has_focus_within
        self.show_tab(TABS[(TABS.index(self.tab) + 1) % len(TABS)])
        if focused:
            self.page.focus()

    # -- following -------------------------------------------------------------------------

    def follow(self, target: Target | None, query: str, hit: Hit | None) -> None:
        """Show a conversation in the open tab."""
        if target is None:
            self.clear()
            return
        if self._followed is None or self._followed.target.session_id != target.session_id:
            self.find_text = None
        self._followed = Followed(target, query, hit)
        self._ask(self._followed)

    def follow_if_moved(self, target: Target | None, query: str, hit: Hit | None) -> None:
        """Show a conversation if it, or the search text, has changed."""
        shown = self._followed
        if (
            target is None
            or shown is None
            or (target.session_id, query) != (shown.target.session_id, shown.query)
        ):
            self.follow(target, query, hit)

    def find(self, text: str | None) -> None:
        """Search within this conversation; None ends that."""
        self.find_text = text
        if self._followed is not None:
            self._ask(self._followed)

    def clear(self) -> None:
        """Show nothing, and cancel what is being read."""
        self._followed = None
        self.access.cancel(self, "pane")
        self.recap.update("")
        self.info.update("")
        self.transcript.clear()
        self.lineage.clear()

    def _ask(self, shown: Followed) -> None:
        ask = {
            "recap": self._ask_recap,
            "transcript": self._ask_transcript,
            "lineage": self._ask_lineage,
            "info": self._ask_info,
        }
        ask[self.tab](shown)

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if event.stale or event.question is self.Grown:
            return
        self.clear()
        if not isinstance(event.error, NotFound):
            self.recap.update(Content.styled(clean(str(event.error)), "$error"))

    def _ask_recap(self, shown: Followed) -> None:
        target, limits = shown.target, self._opening.limits

        def read(store: Store, stopped: Stopped) -> Recap:
            session_id = target.session_id if target.part else _tip(store, target)
            return store.transcripts.quick_recap(session_id, limits)

        self.access.ask(self, self.RecapRead, read, group="pane")

    def on_reading_pane_recap_read(self, event: RecapRead) -> None:
        event.stop()
        if not event.stale:
            self.recap.update(session_details.recap(event.value))
            self._to_end_of_recap()

    def _to_end_of_recap(self) -> None:
        self.query_one("#recap").scroll_end(animate=False, immediate=True)

    def _ask_lineage(self, shown: Followed) -> None:
        session_id = shown.target.session_id
        self.access.ask(
            self, self.LineageRead, lambda store, _: store.lineage.tree(session_id), group="pane"
        )

    def on_reading_pane_lineage_read(self, event: LineageRead) -> None:
        event.stop()
        if not event.stale:
            self.lineage.now = self._opening.clock()
            self.lineage.show(lineage_lines.branches(event.value))

    def _ask_info(self, shown: Followed) -> None:
        target, folder, now = shown.target, self._opening.sessions_dir, self._opening.clock()

        def read(store: Store, stopped: Stopped) -> Content:
            rows = store.lists.rows([target.root_id], now=now)
            if not rows:
                return Content("")
            chain = [each.session_id for each in store.transcripts.outline(target.root_id).segments]
            wanted = [target.session_id] if target.part else chain
            members = store.lineage.members(target.root_id)
            files = sum(1 for each in members for _ in session_files(folder, each)) if folder else 0
            sessions = [store.sessions.get(each) for each in wanted]
            return session_details.info(
                rows[0], sessions, store.trash.weigh(wanted, now=now), files
            )

        self.access.ask(self, self.InfoRead, read, group="pane")

    def on_reading_pane_info_read(self, event: InfoRead) -> None:
        event.stop()
        if not event.stale:
            self.info.update(event.value)

    # -- transcript ------------------------------------------------------------------------

    def _ask_transcript(self, shown: Followed) -> None:
        target, find_text = shown.target, self.find_text
        text, everything = find_text or shown.query, self.everything
        hit = shown.hit if find_text is None else None

        def read(store: Store, stopped: Stopped) -> Page:
            outline = store.transcripts.outline(target.session_id, everything=everything)
            matches: array[int] = array("q")
            spans: Spans | None = None
            if text.strip():
                matches, spans = store.transcripts.find(
                    outline, text, cancelled=stopped, typing=True
                )
            focus = hit.message_id if hit is not None else None
            if focus is None and find_text and matches:
                focus = matches[-1]
            if focus is None and target.part:
                focus = _first_of(outline, target.session_id)
            if hit is not None and not matches:
                matches = array("q", [hit.message_id])
            near = store.messages.by_id(_around(outline, focus))
            return Page(outline, near, matches, spans, focus, find_text is not None)

        self.access.ask(self, self.PageRead, read, group="pane")

    def on_reading_pane_page_read(self, event: PageRead) -> None:
        event.stop()
        page = event.value
        if event.stale:
            return
        self.transcript.show(
            page.outline,
            page.messages,
            matches=page.matches,
            spans=page.spans,
            focus=page.focus,
        )
        self._say_left_out(page.outline)
        if page.finding:
            number = len(page.matches)
            said = (
                f"Matching messages: {number:,}." if number else "No matches in this conversation."
            )
            self.post_message(Notice(said))

    def _say_left_out(self, outline: Outline) -> None:
        words = {State.REWOUND: "taken back", State.HIDDEN: "hidden"}
        counts = [f"{outline.left_out[each]:,} {word}" for each, word in words.items()
                  if outline.left_out.get(each)]  # fmt: skip
        self.border_subtitle = f"v: {' · '.join(counts)}" if counts else ""

    def toggle_everything(self) -> None:
        """Show or hide messages that were taken back or are hidden."""
        self.everything = not self.everything
        said = "Showing" if self.everything else "Hiding"
        self.post_message(Notice(f"{said} messages that were taken back or are hidden."))
        if self._followed is not None:
            self._ask(self._followed)

    def on_transcript_messages_wanted(self, event: Transcript.MessagesWanted) -> None:
        event.stop()
        ids: Sequence[int] = event.ids
        self.access.ask(
            self, self.MessagesRead, lambda store, _: store.messages.by_id(ids), exclusive=False
        )

    def on_reading_pane_messages_read(self, event: MessagesRead) -> None:
        event.stop()
        self.transcript.provide(event.value)

    def refresh_page(self) -> None:
        """Add new messages to the open tab."""
        outline = self.transcript.outline
        if self._followed is None:
            return
        if self.tab == "recap":
            self._ask_recap(self._followed)
        elif self.tab == "transcript" and outline is not None:
            everything = self.everything
            self.access.ask(
                self,
                self.Grown,
                lambda store, _: store.transcripts.page_end(
                    outline.root_id, outline, everything=everything
                ),
            )

    def on_reading_pane_grown(self, event: Grown) -> None:
        event.stop()
        outline, messages = event.value
        now = self.transcript.outline
        if not event.stale and now is not None and now.root_id == outline.root_id:
            self.transcript.grow(outline, messages)

    def go_to_match(self, direction: int) -> None:
        """Go to the next or previous match; first open the transcript if it is not."""
        if self.tab != "transcript":
            self.show_tab("transcript")
            return
        place = self.transcript.next_match(direction)
        if place is None:
            self.post_message(Notice("No matches in this conversation."))
        else:
            self.border_subtitle = f"match {place[0]:,} of {place[1]:,}"


def _tip(store: Store, target: Target) -> str:
    if target.row is not None:
        return target.row.tip_id
    return store.transcripts.outline(target.root_id).tip_id


def _first_of(outline: Outline, session_id: str) -> int | None:
    for segment in outline.segments:
        if segment.session_id == session_id and segment.first < len(outline.message_ids):
            return outline.message_ids[segment.first]
    return None


def _around(outline: Outline, focus: int | None) -> array[int]:
    ids = outline.message_ids
    try:
        place = len(ids) if focus is None else ids.index(outline.copies.get(focus, focus))
    except ValueError:
        place = len(ids)
    return ids[max(0, place - AROUND) : place + AROUND]
