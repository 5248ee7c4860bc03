"""The keys that work now, for the footer."""

from __future__ import annotations

from collections.abc import Mapping

from textual.widget import Widget

from hermes_tui import actions
from hermes_tui.actions import Scope
from hermes_tui.browse.find_bar import FindField
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.reading_pane import ReadingPane
from hermes_tui.browse.session_list_widget import SessionList
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.status_bar import Hint

_SCOPES = {
    SessionList: Scope.LIST,
    Transcript: Scope.TRANSCRIPT,
    LineageTree: Scope.LINEAGE,
}
_ENTER: dict[Scope, Hint] = {
    Scope.LIST: ("⏎", "resume", "screen.resume"),
    Scope.LINEAGE: ("⏎", "go to", "choose"),
}

_FINDING = (("⏎", "next match"), ("↑", "previous match"), ("Tab", "read"), ("Esc", "close"))


def scope_of(focused: Widget | None) -> Scope:
    """Return whose keys work while a widget has the focus."""
    for kind, scope in _SCOPES.items():
        if isinstance(focused, kind):
            return scope
    inside = focused is not None and any(
        isinstance(each, ReadingPane) for each in focused.ancestors
    )
    return Scope.READING if inside else Scope.ANYWHERE


def hints(
    focused: Widget | None, overrides: Mapping[str, str], *, chooser: bool = False
) -> list[Hint]:
    """Return the key hints while a widget has the focus; a `chooser` was opened by the chat."""
    if isinstance(focused, FindField):
        return list(_FINDING)
    scope = scope_of(focused)
    found = sorted(
        (action.hint, actions.first_key(keys), action.label, action.action)
        for action, keys in actions.in_force(overrides)
        if action.hint and (action.scope is scope or _both(scope, action.scope))
    )
    shown: list[Hint] = [(key, label, action) for _, key, label, action in found]
    if scope in _ENTER:
        shown.insert(0, _ENTER[scope])
    if chooser:
        shown.insert(1, ("Esc", "back to chat"))
    if scope in (Scope.ANYWHERE, Scope.READING):
        shown.append(("F1", "help", "app.help"))
    return shown


def _both(scope: Scope, other: Scope) -> bool:
    """Tell whether the keys of another scope work in one, too."""
    return scope is Scope.TRANSCRIPT and other is Scope.READING
