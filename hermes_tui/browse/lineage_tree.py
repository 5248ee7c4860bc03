"""The lineage tree of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.actions import Scope, bindings
from hermes_tui.presentation import lineage_lines
from hermes_tui.presentation.lineage_lines import Branch
from hermes_tui.presentation.styled_line import Line
from hermes_tui.widgets.virtual_list import VirtualList


class LineageTree(VirtualList):
    """Sessions and what they continue or branch from; Enter goes to one."""

    BINDINGS = bindings(Scope.LINEAGE)

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self._branches: Sequence[Branch] = ()

    def show(self, branches: Sequence[Branch]) -> None:
        """Show a tree with the cursor on the session it was opened for."""
        self._branches = branches
        self.set_count(len(branches))
        current = (place for place, branch in enumerate(branches) if branch.current)
        self.cursor = next(current, 0)

    def clear(self) -> None:
        self.show(())

    def branch(self, index: int) -> Branch | None:
        """Return the branch at a place."""
        return self._branches[index] if index < len(self._branches) else None

    def item_line(self, index: int, line: int, width: int) -> Line:
        return lineage_lines.branch_line(self._branches[index], width, self.now)
