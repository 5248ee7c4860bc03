"""The lineage tree of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_store.records.session import Lineage
from hermes_tui.actions import Scope, bindings
from hermes_tui.presentation import lineage_lines
from hermes_tui.presentation.lineage_lines import Branch
from hermes_tui.presentation.styled_line import Line
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.virtual_list import VirtualList


class LineageTree(VirtualList):
    """Sessions and what they continue or branch from; Enter goes to one."""

    BINDINGS = bindings(Scope.LINEAGE)

    class Read(Answer[Lineage]):
        """A lineage tree."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self._branches: Sequence[Branch] = ()

    def ask(self, access: Access, session_id: str, now: float) -> None:
        """Read the tree of a session, and show it."""
        self.now = now
        access.ask(self, self.Read, lambda store, _: store.lineage.tree(session_id))

    def on_lineage_tree_read(self, event: Read) -> None:
        event.stop()
        if not event.stale:
            self.show(lineage_lines.branches(event.value))

    def forget(self, access: Access) -> None:
        """Show nothing, and cancel what is being read."""
        access.cancel(self, self.Read.__qualname__)
        self.show(())

    def show(self, branches: Sequence[Branch]) -> None:
        """Show a tree with the cursor on the session it was opened for."""
        self._branches = branches
        self.set_count(len(branches))
        current = (place for place, branch in enumerate(branches) if branch.current)
        self.cursor = next(current, 0)

    def branch(self, index: int) -> Branch | None:
        """Return the branch at a place."""
        return self._branches[index] if index < len(self._branches) else None

    def item_line(self, index: int, line: int, width: int) -> Line:
        return lineage_lines.branch_line(self._branches[index], width, self.now)
