"""Moving between the three panes: which one is next, what the arrows do, what Esc leaves."""

from __future__ import annotations

from dataclasses import dataclass

from textual.widget import Widget

from hermes_store.records.search import Hit
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.browse.reading_pane import ReadingPane
from hermes_tui.browse.search_pane import SearchPane
from hermes_tui.browse.session_list_widget import Target
from hermes_tui.opening.kept_state import Kept
from hermes_tui.opening.start_options import State


@dataclass(frozen=True, slots=True)
class Panes:
    """The search, the list and the conversation that is read."""

    search: SearchPane
    list: ListPane
    reading: ReadingPane

    def begin(self) -> None:
        """Search where the list shows, and show what can be searched for."""
        self.search.here, self.search.workspace = self.list.view.here, self.list.view.workspace
        self.search.show_figures()
        self.list.empty.can_focus = True  # so that the keys of the list work in an empty one

    def keep_focus(self, focused: Widget | None) -> None:
        """Give the focus to the list, or to what stands in its place, if nothing has it."""
        if focused is None:
            (self.list.sessions if self.list.sessions.display else self.list.empty).focus()

    def go(self, step: int) -> None:
        """Give the focus to the next or previous pane."""
        if self.reading.zoomed:
            self.reading.action_zoom()
        stops: tuple[Widget, ...] = (self.search.field, self.list.sessions, self.reading.page)
        place = next((i for i, stop in enumerate(stops) if stop.has_focus), 0)
        stop = stops[(place + step) % len(stops)]
        if stop is self.list.sessions and not stop.display:
            stop = stops[(place + 2 * step) % len(stops)]
        stop.focus()

    def go_to(self, session_id: str) -> None:
        """Go to a session in the list; search for it if it is not there."""
        if not self.list.sessions.go_to(session_id):
            self.search.text = f"id:{session_id}"
        self.list.sessions.focus()

    def up(self) -> None:
        """Move up in the completions or the list; from the first row, to earlier searches."""
        if self.search.completions.display:
            self.search.completions.move(-1)
        elif self._moved_down():
            self.list.sessions.action_cursor_up()
        else:
            self.search.go_in_history(1)

    def down(self) -> None:
        """Move down in the completions or the list, or back from earlier searches."""
        if self.search.completions.display:
            self.search.completions.move(1)
        elif self.search.in_history and not self._moved_down():
            self.search.go_in_history(-1)
        else:
            self.list.sessions.action_cursor_down()

    def _moved_down(self) -> bool:
        return self.list.sessions.cursor > self.list.sessions.nearest(0)

    def leave_details(self) -> bool:
        """Close the completions, leave the reading pane or clear the selection, if any."""
        if self.search.completions.display:
            self.search.completions.offer((), 0)
        elif self.reading.leave():
            return True
        elif self.reading.has_focus_within:
            # Letters typed into an empty list would act; in the search field they are wanted.
            (self.list.sessions if self.list.sessions.display else self.search.field).focus()
        elif self.list.sessions.selected:
            self.list.action_select_all()
        else:
            return False
        return True

    def leave_search(self) -> bool:
        """Clear the search, or return to its field, if there is any need."""
        needed = bool(self.search.text) or self.list.sessions.has_focus
        if needed:
            self.search.text = ""
            self.search.field.focus()
        return needed

    def sort(self) -> None:
        """Sort the list by the next value, or results by date or relevance."""
        if self.search.is_searching:
            self.search.toggle_order()
        else:
            self.list.next_sort()

    def toggle_scope(self) -> None:
        """Show and search this workspace only, or all."""
        if self.list.toggle_scope():
            self.search.here = self.list.view.here
            self.search.search_again()

    def apply(self, kept: Kept) -> None:
        """Show what was chosen in the settings."""
        view = self.list.view
        if kept.density != self.list.density:
            self.list.action_density_of(kept.density)
        if kept.sort is not None and kept.sort != view.sort.value:
            self.list.action_sort_by(kept.sort)
        elif kept.group is not None and kept.group != view.group.value:
            self.list.action_group_by(kept.group)
        self.search.use_order(kept.search_order)

    def marked(self) -> tuple[Target | None, str, Hit | None]:
        """Return the current conversation, the search, and where it was found there."""
        target = self.list.sessions.target()
        found = self.search.found
        hit = found.hit_of(target.root_id) if found is not None and target is not None else None
        return target, self.search.text if self.search.is_searching else "", hit

    def state(self) -> State:
        """Return where the user is."""
        return State(self.search.text, self.list.sessions.current_id(), self.reading.tab)
