"""Every key of the browser in one table: its name, what it does, where it works.

Bindings, the help screen, the footer and the command palette are all built from `ACTIONS`. The
names are those that config.yaml uses under browse.keys.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from textual.binding import Binding, BindingType
from textual.keys import KEY_ALIASES, KEY_NAME_REPLACEMENTS, Keys, format_key

from hermes_store.errors import ConfigError


class Scope(Enum):
    """Where a key works; the value is its heading on the help screen."""

    ANYWHERE = "Anywhere"
    SEARCH = "While typing a search"
    MOVE = "Moving"
    LISTS = "In every list"
    LIST = "In the list"
    TRANSCRIPT = "In the transcript"
    LINEAGE = "In the lineage"


@dataclass(frozen=True, slots=True)
class Action:
    """One action with its keys and texts."""

    id: str
    keys: str
    """Keys as Textual names them, separated by commas."""
    action: str
    """The Textual action."""
    label: str
    """A word or two for the footer."""
    about: str
    """A sentence for the help screen and the palette."""
    scope: Scope
    hint: int = 0
    """Position in the footer; 0 is not shown."""
    priority: bool = False
    """Whether the key works before a text field sees it."""
    palette: bool = True
    """Whether the command palette offers it."""


_A, _M, _L = Scope.ANYWHERE, Scope.MOVE, Scope.LIST
_S = Scope.SEARCH
_T, _F, _C = Scope.TRANSCRIPT, Scope.LINEAGE, Scope.LISTS

ACTIONS: tuple[Action, ...] = (
    # -- anywhere --
    Action("resume", "enter", "screen.resume", "resume", "Resume the conversation.", _A, 1,
           palette=True),
    Action("rename-now", "ctrl+r", "screen.change('rename')", "rename",
           "Rename, even while typing.", _A, 2, priority=True, palette=False),
    Action("delete-now", "ctrl+d", "screen.change('delete')", "delete",
           "Delete, even while typing.", _A, 3, priority=True, palette=False),
    Action("undo-now", "ctrl+z", "screen.undo", "undo", "Restore the last deletion.", _A,
           4, priority=True, palette=False),
    Action("next-pane", "tab", "screen.next_pane", "pane", "Go to the next pane.", _A, 6),
    Action("previous-pane", "shift+tab", "screen.previous_pane", "previous pane",
           "Go to the previous pane.", _A),
    Action("next-tab", "ctrl+t", "screen.next_tab", "tab",
           "Show the next tab of the reading pane.", _A, 7, priority=True),
    Action("order", "ctrl+o", "screen.toggle_order", "order",
           "Sort results by date or relevance.", _A, priority=True),
    Action("saved-searches", "ctrl+s,f6", "screen.saved_searches", "saved searches",
           "Save this search, or run a saved one.", _A, priority=True),
    Action("help", "f1", "app.help", "help", "Show all keys.", _A),
    Action("prune", "f2", "screen.prune", "prune", "Prune old conversations.", _A, 8),
    Action("stats", "f3", "app.stats", "stats", "Show statistics and charts.", _A),
    Action("trash", "f4", "screen.trash", "trash", "Open the trash.", _A),
    Action("scope", "f5", "screen.scope", "workspace",
           "Show this workspace only, or all.", _A),
    Action("settings", "f9", "app.settings", "settings", "Choose a theme and keys.", _A),
    Action("back", "escape", "screen.back", "back", "Clear the search, leave the pane or quit.", _A,
           palette=False),
    Action("quit-now", "ctrl+q", "app.quit", "quit", "Quit.", _A, priority=True),
    # -- the search pane --
    Action("search-up", "up", "screen.list_up", "up",
           "Move up; past the top, go to search history.", _S, palette=False),
    Action("search-down", "down", "screen.list_down", "down", "Move down in the list.", _S,
           palette=False),
    Action("search-page-up", "pageup", "screen.list_page(-1)", "page up", "Move up one page.",
           _S, palette=False),
    Action("search-page-down", "pagedown", "screen.list_page(1)", "page down",
           "Move down one page.", _S, palette=False),
    Action("history", "ctrl+up", "screen.history(1)", "history", "Go to the previous search.",
           _S, palette=False),
    Action("history-back", "ctrl+down", "screen.history(-1)", "history",
           "Go to the next search.", _S, palette=False),
    # -- moving, in every list --
    Action("up", "up,k", "cursor_up", "up", "Move up.", _M, palette=False),
    Action("down", "down,j", "cursor_down", "down", "Move down.", _M, palette=False),
    Action("page-up", "pageup,ctrl+b", "page_up", "page up", "Move up one page.", _M,
           palette=False),
    Action("page-down", "pagedown,ctrl+f", "page_down", "page down", "Move down one page.", _M,
           palette=False),
    Action("first", "home,g", "first", "first", "Go to the beginning.", _M, palette=False),
    Action("last", "end,G", "last", "last", "Go to the end.", _M, palette=False),
    Action("choose", "enter", "choose", "choose", "Choose the current row.", _C, palette=False),
    # -- the list --
    Action("search", "/", "screen.search", "search", "Go to the search field.", _L, 11),
    Action("rename", "r", "screen.change('rename')", "rename", "Rename the conversation.", _L, 2),
    Action("delete", "d,delete", "screen.change('delete')", "delete",
           "Move the conversation or selection to trash.", _L, 3),
    Action("undo", "u", "screen.undo", "undo", "Restore the last deletion.", _L, 4),
    Action("select", "space,x", "select", "select", "Select or deselect.", _L, 5,
           palette=False),
    Action("select-all", "A", "select_all", "select all",
           "Select all conversations, or none.", _L),
    Action("unfold", "right,l", "unfold", "unfold",
           "Show segments, branches and sub-agents.", _L, palette=False),
    Action("fold", "left", "fold", "fold", "Hide segments, branches and sub-agents.", _L,
           palette=False),
    Action("prune-list", "p", "screen.prune", "prune", "Prune old conversations.", _L,
           palette=False),
    Action("copy-id", "y", "screen.change('copy_id')", "copy id", "Copy the session id.", _L),
    Action("copy-command", "Y", "screen.change('copy_command')", "copy command",
           "Copy the command that resumes the session.", _L),
    Action("export", "e", "screen.change('export')", "export",
           "Export as JSON lines, Markdown or HTML.", _L, 9),
    Action("sort", "o", "sort", "sort", "Sort by activity, start, messages or title.", _L,
           10),
    Action("group", "O", "group", "group",
           "Group by date, source, model or workspace, or not at all.", _L),
    Action("hidden", "h", "hidden", "hidden", "Show or hide hidden conversations.", _L,
           12),
    Action("pin", "P", "screen.change('pin')", "pin", "Pin or unpin the conversation.", _L),
    Action("archive", "a", "screen.change('archive')", "archive", "Archive or unarchive.", _L),
    Action("tag", "t", "screen.change('tag')", "tag", "Add or remove tags.", _L),
    Action("recap", "1", "screen.show_tab('recap')", "recap", "Show the recap.", _L),
    Action("transcript", "2", "screen.show_tab('transcript')", "transcript",
           "Show the transcript.", _L),
    Action("lineage", "3", "screen.show_tab('lineage')", "lineage", "Show the lineage tree.", _L),
    Action("info", "4", "screen.show_tab('info')", "info", "Show id, model, tokens and cost.",
           _L),
    Action("next-match", "n", "screen.match(1)", "next match",
           "Jump to the next match.", _L),
    Action("previous-match", "N", "screen.match(-1)", "previous match",
           "Jump to the previous match.", _L),
    Action("help-list", "question_mark", "app.help", "help", "Show all keys.", _L, 13,
           palette=False),
    Action("quit", "q", "app.quit", "quit", "Quit.", _L, palette=False),
    # -- the transcript --
    Action("open", "enter", "open", "open", "Open or fold tool calls, output and thoughts.", _T,
           1, palette=False),
    Action("open-all", "z", "open_all", "open all", "Open or fold all messages.", _T, 3,
           palette=False),
    Action("find", "/", "screen.find", "find", "Find in this conversation.", _T, 2,
           palette=False),
    Action("copy", "c,y", "copy", "copy", "Copy the current message.", _T, 4, palette=False),
    Action("follow", "f", "follow", "follow", "Follow new messages.", _T, 5,
           palette=False),
    Action("everything", "v", "screen.everything", "taken back",
           "Show or hide messages that were taken back or are hidden.", _T, palette=False),
    Action("transcript-next", "n", "screen.match(1)", "next match", "Go to the next match.", _T, 6,
           palette=False),
    Action("transcript-previous", "N", "screen.match(-1)", "previous match",
           "Go to the previous match.", _T, palette=False),
    Action("transcript-help", "question_mark", "app.help", "help", "Show all keys.", _T, 9,
           palette=False),
    # -- the lineage --
    Action("lineage-help", "question_mark", "app.help", "help", "Show all keys.", _F, 9,
           palette=False),
)  # fmt: skip

BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}

_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_NAMES = (
    {key.value for key in Keys}
    | set(KEY_ALIASES)
    | {alias for aliases in KEY_ALIASES.values() for alias in aliases}
    | set(KEY_NAME_REPLACEMENTS.values())
    | {"question_mark", "space"}
)


def bindings(*scopes: Scope) -> list[BindingType]:
    """Return the bindings of some scopes, with ids so that users can change them."""
    return [
        Binding(
            action.keys,
            action.action,
            action.label,
            id=action.id,
            priority=action.priority,
            show=False,
        )
        for action in ACTIONS
        if action.scope in scopes
    ]


def checked(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return a keymap for Textual; ConfigError for an unknown action or key.

    Textual itself silently ignores unknown names.
    """
    for name, keys in wanted.items():
        if name not in BY_ID:
            near = difflib.get_close_matches(name, BY_ID, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else "The help screen (?) lists them all."
            raise ConfigError(f"browse.keys has an unknown action '{name}'. {hint}")
        for key in keys.split(","):
            if not _is_key(key.strip()):
                raise ConfigError(
                    f"browse.keys.{name} has an unknown key '{key.strip()}'. Use names such as "
                    "x, f5, ctrl+x, shift+up or question_mark, separated by commas."
                )
    _refuse_clashes(wanted)
    return dict(wanted)


def _refuse_clashes(wanted: Mapping[str, str]) -> None:
    for name, keys in wanted.items():
        for other in ACTIONS:
            if other.id == name or other.scope is not BY_ID[name].scope:
                continue
            taken = set(_split(wanted.get(other.id, other.keys)))
            both = [key for key in _split(keys) if key in taken]
            if both:
                raise ConfigError(
                    f"browse.keys.{name} uses the key '{both[0]}', which '{other.id}' already has. "
                    f"Give '{other.id}' another key too."
                )


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",")]


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if len(key) > 1 else [key]
    return set(modifiers) <= _MODIFIERS and (len(name) == 1 or name in _NAMES)


def shown(keys: str) -> Iterator[str]:
    """Yield keys for display: ^r, F2, ?."""
    for key in _split(keys):
        if key.startswith("ctrl+"):
            yield "^" + format_key(key.removeprefix("ctrl+"))
        elif len(key) == 1:
            yield key
        else:
            name = format_key(key)
            yield _SHOWN.get(key) or (name.upper() if key[0] == "f" else name)


_SHOWN = {
    "enter": "⏎",
    "escape": "Esc",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "delete": "Del",
}


def first_key(keys: str) -> str:
    """Return the first of some keys for display."""
    return next(shown(keys))


def key_for(action_id: str, overrides: Mapping[str, str]) -> str:
    """Return the first key of an action for display."""
    return first_key(overrides.get(action_id, BY_ID[action_id].keys))


def in_force(overrides: Mapping[str, str]) -> Iterator[tuple[Action, str]]:
    """Yield every action with its current keys."""
    for action in ACTIONS:
        yield action, overrides.get(action.id, action.keys)
