"""The keys that work now, for the footer."""

from __future__ import annotations

from collections.abc import Mapping

from textual.widget import Widget

from hermes_tui import actions
from hermes_tui.actions import Scope
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.session_list_widget import SessionList
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.status_bar import Hint

_SCOPES = {
    SessionList: Scope.LIST,
    Transcript: Scope.TRANSCRIPT,
    LineageTree: Scope.LINEAGE,
}
_ENTER = {Scope.LIST: ("⏎", "resume"), Scope.LINEAGE: ("⏎", "go to")}


def hints(focused: Widget | None, overrides: Mapping[str, str]) -> list[Hint]:
    """Return the key hints while a widget has the focus."""
    scope = next(
        (scope for kind, scope in _SCOPES.items() if isinstance(focused, kind)), Scope.ANYWHERE
    )
    found = sorted(
        (action.hint, actions.first_key(keys), action.label)
        for action, keys in actions.in_force(overrides)
        if action.hint and action.scope is scope
    )
    shown = [(key, label) for _, key, label in found]
    if scope in _ENTER:
        shown.insert(0, _ENTER[scope])
    if scope is Scope.ANYWHERE:
        shown.append(("F1", "help"))
    return shown
