"""The list part of the main screen: loading it, keeping it current, sorting and folding it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from textual.content import Content

from hermes_store.errors import DatabaseMissing, StoreError
from hermes_store.records.listing import Entry, Grouping, Hidden, ListRow, Sort, View
from hermes_store.records.session import Lineage
from hermes_store.records.text import clean
from hermes_store.store import Store
from hermes_tui.access import Stopped, StoreChanged, Workers
from hermes_tui.browse.base import BrowseBase
from hermes_tui.browse.list_ids import Entries
from hermes_tui.browse.messages import RowsWanted
from hermes_tui.first_rows import FIRST_ROWS, Head, read_head
from hermes_tui.opening import Opening
from hermes_tui.presentation import rows as render

RETRY_SECONDS = 1.0
REST = 20
"""A reload of everything may take this part of the time between two."""

Loaded = tuple[Entries, list[ListRow]]


class ListPart(BrowseBase):
    """Shows the conversations of the store, the newest activity first."""

    def __init__(self, office: Workers, opening: Opening) -> None:
        super().__init__(office, opening)
        self.entries = Entries()
        self.hidden: dict[Hidden, int] = {}
        self.missing: StoreError | None = None
        self.not_searched: StoreError | None = None
        self._number = 0
        self._load_seconds = 0.0
        self._loaded_at: float | None = None
        self._reload_planned = False
        self._begun = False
        self.answered: str | None = None
        """The search text that the list answers; an empty one means everything."""
        self._waiting: tuple[str, Callable[[], None]] | None = None
        """What a person wants to do with the answer to a search text."""

    def on_mount(self) -> None:
        """Show the first rows, and go on once they are painted.

        Threads that read at the same time would make the first picture take twice as long.
        """
        if self.office.head is not None and self._by_activity:
            self.entries = Entries(self.office.head.entries)
            self._show_list(self.office.head.rows)
            self.call_after_refresh(self._begin, self._load_all)
        else:
            self._begin(self.load)

    def _begin(self, load: Callable[[], None]) -> None:
        """Show the marked conversation, read the list, and watch for changes."""
        self._begun = True
        self.follow_if_moved()
        load()
        self.office.watch(self)

    @property
    def is_searching(self) -> bool:
        """Whether the list shows what a search found."""
        return bool(self.search_bar.text.strip())

    # -- acting on what is listed ----------------------------------------------------------

    def too_early(self, act: Callable[[], None]) -> bool:
        """Tell whether the list does not show yet what was typed; if so, act when it does.

        Enter right behind the last letter means what that letter finds, not what still stands
        there.
        """
        text = self.search_bar.text
        if text == self.answered:
            return False
        self._waiting = text, act
        return True

    def answers(self, text: str) -> None:
        """Take note of what the list answers now, and do what waited for it.

        Who typed on, or opened something else, does not want it any more.
        """
        self.answered = text
        waiting, self._waiting = self._waiting, None
        if waiting is not None and waiting[0] == text and self.app.screen is self:
            waiting[1]()

    def forget_what_waits(self) -> None:
        """Do nothing with an answer to an earlier text."""
        if self._waiting is not None and self._waiting[0] != self.search_bar.text:
            self._waiting = None

    # -- loading ---------------------------------------------------------------------------

    @property
    def _by_activity(self) -> bool:
        return self.view.sort is Sort.ACTIVITY and self.view.group is Grouping.NONE

    def load(self) -> None:
        """Load the list: its head at once where that is possible, then all of it."""
        if self._by_activity:
            self.ask("list", self._read_head, self._head_read, self._not_loaded)
        else:
            self._load_all()

    def _load_all(self) -> None:
        self._reload_planned = False
        self.ask("list", self._read_all, self._all_read, self._not_loaded)

    def _read_head(self, store: Store, stopped: Stopped) -> Head:
        return read_head(store, self.view, self.clock())

    def _read_all(self, store: Store, stopped: Stopped) -> tuple[Loaded, dict[Hidden, int], float]:
        started, now = time.monotonic(), self.clock()
        entries = Entries(_until(stopped, store.lists.entries(self.view, now=now)))
        ids = [entry for entry in entries[:FIRST_ROWS] if isinstance(entry, str)]
        rows = store.lists.rows(ids, now=now)
        return (entries, rows), store.lists.hidden_counts(self.view), time.monotonic() - started

    def _head_read(self, head: Head) -> None:
        self.entries = self.entries.begun_with(
            [entry for entry in head.entries if isinstance(entry, str)]
        )
        self._show_list(head.rows)
        since = time.monotonic() - (self._loaded_at or 0.0)
        pause = REST * self._load_seconds - since
        if pause <= 0:
            self._load_all()
        elif not self._reload_planned:
            self._reload_planned = True
            self.set_timer(pause, self._load_all)

    def _all_read(self, answer: tuple[Loaded, dict[Hidden, int], float]) -> None:
        (self.entries, rows), self.hidden, self._load_seconds = answer
        first, self._loaded_at = self._loaded_at is None, time.monotonic()
        self._show_list(rows)
        if first:
            self.loaded_first()

    def _not_loaded(self, error: StoreError) -> None:
        self.missing = error
        if isinstance(error, DatabaseMissing):
            # Gone and back between two looks of the watch is no change to it.
            self.set_timer(RETRY_SECONDS, self.load)
        self.entries, self.hidden = Entries(), {}
        self._loaded_at = time.monotonic()
        self._show_list([])

    def _show_list(self, rows: list[ListRow], *, to_top: bool = False) -> None:
        if rows:
            self.missing = None
        self.sessions.now = self.lineage.now = self.clock()
        self._number = self.entries.ids
        if not self.is_searching:
            self.sessions.show_entries(self.entries, rows, to_top=to_top)
            self._go_to_wanted()
        self.show_header()
        self.show_emptiness()
        if self._begun:
            self.follow_if_moved()
        if not self.is_searching:
            self.answers(self.search_bar.text)

    def _go_to_wanted(self) -> None:
        """Mark the session that was marked before, once, if it has come into the list."""
        wanted = self.opening.state.session_id
        if wanted is not None and self.sessions.go_to(wanted):
            self.opening = replace(self.opening, state=replace(self.opening.state, session_id=None))

    def on_rows_wanted(self, event: RowsWanted) -> None:
        """Read rows that came into sight."""
        event.stop()
        ids = event.ids
        self.ask(
            "rows",
            lambda store, _: store.lists.rows(ids, now=self.clock()),
            self.sessions.provide,
            exclusive=False,
        )

    # -- staying current -------------------------------------------------------------------

    def on_store_changed(self, event: StoreChanged) -> None:
        """Show what others have written."""
        event.stop()
        if self.missing is not None:
            self.office.reopen()
        self.refresh_list()

    def refresh_list(self) -> None:
        """Read the list and the rows on screen anew; everything stays where it is."""
        self.sessions.now = self.clock()
        self.sessions.forget_rows()
        self.load()

    # -- header and empty states -----------------------------------------------------------

    def show_header(self) -> None:
        """Say which database this is, how much there is, and how much is hidden."""
        number = f"{self._number:,}" + ("" if self._loaded_at is not None else "+")
        noun = "conversation" if number == "1" else "conversations"
        path = _short(self.office.database)
        wide = self.size.width >= 72
        parts: list[tuple[str, str] | str] = []
        if wide or not self.is_searching:
            parts.append((" Hermes sessions " if wide else " Hermes ", "$primary bold"))
        if self.opening.demo:
            parts.append((" demo ", "$warning bold"))
        elif wide:
            parts.append((f" {clean(path)} ", "$foreground-muted"))
        parts.append(
            f" {self.figures()}" if not wide and self.is_searching else f"  {number} {noun}"
        )
        if self.sessions.selected:
            parts.append((f"  {len(self.sessions.selected):,} selected", "$accent bold"))
        if self.hidden:
            counts = " · ".join(f"{n:,} {kind.value}" for kind, n in self.hidden.items())
            total = sum(self.hidden.values())
            long = f"   +{total:,} hidden: {counts}"
            parts.append(
                (long if self.size.width >= 100 else f"  +{total:,} hidden", "$foreground-muted")
            )
        if self.office.read_only:
            parts.append(("   read-only", "$warning"))
        self.header.update(Content.assemble(*parts))
        order = "" if self.view.sort is Sort.ACTIVITY else f" by {self.view.sort.value}"
        source = f" · {self.view.source}" if self.view.source else ""
        title = "Results" if self.is_searching else f"Sessions{order}{source}"
        self.query_one("#list").border_title = clean(title)

    def loaded_first(self) -> None:
        """Do what can wait until the whole list is there."""
        raise NotImplementedError

    def figures(self) -> str:
        """Return how much a search found, for where the search pane has no room to say it."""
        raise NotImplementedError

    def show_emptiness(self) -> None:
        """Say why there are no rows, and what to do."""
        vacant = self.sessions.count == 0
        self.empty.display = vacant
        self.sessions.display = not vacant
        if vacant:
            self.empty.update(self._emptiness())

    def _emptiness(self) -> Content:
        if self.missing is not None and not isinstance(self.missing, DatabaseMissing):
            title, text = "This database cannot be read", clean(str(self.missing))
        elif self.is_searching and self.not_searched is not None:
            title, text = "This search did not work", clean(str(self.not_searched))
        elif self.is_searching:
            title = "No hits"
            text = "Try fewer or shorter words. Esc clears the search; F1 shows the language."
        elif self.hidden:
            title = "Nothing but hidden conversations"
            text = "Press h in the list to show them."
        elif self.view.source is not None:
            title = f"No conversations from {clean(self.view.source)}"
            text = "Leave --source out to see the others."
        else:
            title = "No conversations yet"
            text = (
                f"Hermes Agent keeps them in {clean(_short(self.office.database))}. Talk to it, "
                "and they appear here at once. To see the browser at work, run "
                "'hermes sessions browse --demo'."
            )
        return Content.assemble((f"{title}\n\n", "bold"), (text, "$foreground-muted"))

    def follow_if_moved(self) -> None:
        """Show the marked conversation on the right if that is another one now."""
        raise NotImplementedError

    # -- sorting, grouping, hiding ---------------------------------------------------------

    def set_view(self, view: View) -> None:
        """Show the list another way."""
        self.view = view
        self.entries = Entries()
        self._load_all()

    def action_sort(self) -> None:
        """Sort by the next criterion."""
        choices = list(Sort)
        chosen = choices[(choices.index(self.view.sort) + 1) % len(choices)]
        self.set_view(replace(self.view, sort=chosen))
        self.say(f"Sorted by {chosen.value}.")

    def action_group(self) -> None:
        """Group by the next criterion."""
        choices = list(Grouping)
        chosen = choices[(choices.index(self.view.group) + 1) % len(choices)]
        self.set_view(replace(self.view, group=chosen))
        self.say(f"Grouped by {chosen.value}." if chosen is not Grouping.NONE else "Not grouped.")

    def action_hidden(self) -> None:
        """Show everything, or hide again what is hidden by default."""
        if self.view.shown:
            self.set_view(replace(self.view, shown=frozenset()))
            self.say("Cron, sub-agents, archived and empty conversations are hidden.")
        else:
            self.set_view(replace(self.view, shown=frozenset(Hidden)))
            self.say("Everything is shown.")

    # -- selecting and folding -------------------------------------------------------------

    def action_select(self) -> None:
        """Select or unselect the marked conversation."""
        self.sessions.toggle_selected()
        self.show_header()

    def action_select_all(self) -> None:
        """Select all conversations in the list, or none."""
        self.sessions.select_all()
        self.show_header()

    def action_unfold(self) -> None:
        """Show what is below the marked conversation."""
        target = self.sessions.target()
        if target is None or target.part or target.row is None or not target.row.foldable:
            return
        root = target.root_id
        self.ask(
            "unfold",
            lambda store, _: store.lineage.tree(root),
            lambda family: self._unfold(root, family),
        )

    def _unfold(self, root_id: str, family: Lineage) -> None:
        below = [each for each in render.branches(family) if each.session.id != root_id]
        self.sessions.unfold(root_id, [each._replace(current=False) for each in below])

    def action_fold(self) -> None:
        """Hide what is below the marked conversation again."""
        target = self.sessions.target()
        if target is not None:
            self.sessions.fold(target.root_id)


def _until(stopped: Stopped, entries: Iterator[Entry]) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        if not number % 1_000 and stopped():
            return
        yield entry


def _short(path: Path) -> str:
    try:
        return f"~/{path.expanduser().relative_to(Path.home())}"
    except ValueError:
        return str(path)
