"""Every key of the browser in one table: its name, what it does, where it works.

Bindings, the help screen, the footer and the command palette are all built from `ACTIONS`. The
names are those that config.yaml uses under browse.keys.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
    READING = "In the reading pane"
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
_R = Scope.READING
_T, _F, _C = Scope.TRANSCRIPT, Scope.LINEAGE, Scope.LISTS

ACTIONS: tuple[Action, ...] = (
    # -- anywhere --
    Action("resume", "enter", "screen.resume", "resume", "Resume the conversation.", _A, 1,
           palette=True),
    Action("rename-now", "ctrl+r", "screen.change('rename')", "rename",
           "Rename, even while typing.", _A, 2, priority=True, palette=False),
    Action("delete-now", "ctrl+d", "screen.change('delete')", "delete",
           "Delete, even while typing.", _A, 3, priority=True, palette=False),
    Action("undo-now", "ctrl+z", "screen.undo", "undo",
           "Undo the last change, even while typing.", _A, 4, priority=True, palette=False),
    Action("next-pane", "tab", "screen.next_pane", "pane", "Go to the next pane.", _A, 6),
    Action("previous-pane", "shift+tab", "screen.previous_pane", "previous pane",
           "Go to the previous pane.", _A),
    Action("next-tab", "ctrl+t", "screen.next_tab", "tab",
           "Show the next tab of the reading pane.", _A, 7, priority=True),
    Action("order", "ctrl+o", "screen.toggle_order", "order",
           "Sort results by date or relevance.", _A, priority=True),
    Action("saved-searches", "ctrl+s,f6", "screen.saved_searches", "saved searches",
           "Save this search, or run a saved one.", _A, priority=True),
    Action("new-chat", "ctrl+n", "screen.new_chat", "new", "Start a new conversation.", _A, 5,
           priority=True),
    Action("help", "f1", "app.help", "help", "Show all keys.", _A),
    Action("prune", "f2", "screen.prune", "clean up", "Delete old conversations.", _A, 8),
    Action("stats", "f3", "app.stats", "figures", "Show activity, tokens and what was spent.", _A),
    Action("trash", "f4", "screen.trash", "trash", "Open the trash.", _A),
    Action("scope", "f5", "screen.scope", "workspace",
           "Show this workspace only, or all.", _A),
    Action("settings", "f9", "app.settings", "settings", "Change the theme, rebind keys.", _A),
    Action("back", "escape", "screen.back", "back", "Clear the search, leave the pane or quit.", _A,
           palette=False),
    Action("quit-now", "ctrl+q", "app.quit", "quit", "Quit; so does Ctrl+C.", _A,
           priority=True),
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
    Action("undo", "u", "screen.undo", "undo",
           "Undo the last change, as Ctrl+Z does; again for the one before.", _L, 4),
    Action("select", "space,x", "select", "select", "Select or deselect.", _L, 5,
           palette=False),
    Action("select-all", "A", "select_all", "select all",
           "Select all conversations, or none.", _L),
    Action("unfold", "right,l", "unfold", "unfold",
           "Show segments, branches and sub-agents.", _L, palette=False),
    Action("fold", "left", "fold", "fold", "Hide segments, branches and sub-agents.", _L,
           palette=False),
    Action("prune-list", "p", "screen.prune", "clean up", "Delete old conversations.", _L,
           palette=False),
    Action("copy-id", "y", "screen.change('copy_id')", "copy id", "Copy the session id.", _L),
    Action("copy-command", "Y", "screen.change('copy_command')", "copy command",
           "Copy the command that resumes the session.", _L),
    Action("export", "e", "screen.change('export')", "export",
           "Export as JSON lines, Markdown or HTML.", _L, 9),
    Action("sort", "o", "screen.sort", "sort",
           "Sort by the next value; results by date or relevance.", _L, 10),
    Action("group", "O", "group", "group",
           "Group by date, source, model, workspace or host, or not at all.", _L),
    Action("hidden", "h", "screen.hidden_kinds", "hidden",
           "Choose which hidden conversations to show.", _L, 12),
    Action("all-hidden", "H", "all_hidden", "all hidden",
           "Show everything that is hidden, or hide it again.", _L),
    Action("wider", "greater_than_sign", "screen.split(5)", "wider", "Make the list wider.", _L),
    Action("narrower", "less_than_sign", "screen.split(-5)", "narrower",
           "Make the list narrower.", _L),
    Action("density", "v", "density", "density",
           "Show one line each, two lines, or a table.", _L),
    Action("pin", "P", "screen.change('pin')", "pin", "Pin or unpin the conversation.", _L),
    Action("archive", "a", "screen.change('archive')", "archive", "Archive or unarchive.", _L),
    Action("tag", "t", "screen.change('tag')", "tag", "Add or remove tags.", _L),
    Action("all", "0", "screen.saved(0)", "all", "Show all conversations.", _L, palette=False),
    *(
        Action(f"saved-{number}", str(number), f"screen.saved({number})", "saved search",
               f"Run saved search {number}.", _L, palette=False)
        for number in range(1, 10)
    ),
    Action("next-match", "n", "screen.match(1)", "next match",
           "Jump to the next match.", _L),
    Action("previous-match", "N", "screen.match(-1)", "previous match",
           "Jump to the previous match.", _L),
    Action("help-list", "question_mark", "app.help", "help", "Show all keys.", _L, 13,
           palette=False),
    Action("quit", "q", "app.quit", "quit", "Quit.", _L, palette=False),
    Action("zoom", "z", "screen.zoom", "zoom", "Read on the whole screen.", _L, 7),
    # -- the reading pane --
    Action("reading-zoom", "z", "zoom", "zoom", "Read on the whole screen, or not.", _R,
           3, palette=False),
    Action("reading-find", "/", "screen.find", "find", "Find in this conversation.", _R,
           palette=False),
    Action("pager", "P", "open_in('PAGER')", "pager",
           "Open the conversation in $PAGER.", _R),
    Action("editor", "E", "open_in('EDITOR')", "editor",
           "Open a copy of the conversation in $EDITOR.", _R),
    Action("reading-transcript", "1", "screen.show_tab('transcript')", "transcript",
           "Show the transcript.", _R, 11, palette=False),
    Action("reading-recap", "2", "screen.show_tab('recap')", "recap", "Show the recap.", _R,
           12, palette=False),
    Action("reading-lineage", "3", "screen.show_tab('lineage')", "lineage",
           "Show the lineage tree.", _R, 13, palette=False),
    Action("reading-info", "4", "screen.show_tab('info')", "info",
           "Show id, model, tokens and cost.", _R, 14, palette=False),
    Action("reading-help", "question_mark", "app.help", "help", "Show all keys.", _R,
           palette=False),
    # -- the transcript --
    Action("open", "enter", "open", "open", "Open or fold tool calls, output and thoughts.", _T,
           1, palette=False),
    Action("open-all", "Z", "open_all", "open all", "Open or fold all messages.", _T,
           palette=False),
    Action("find", "/", "screen.find", "find", "Find in this conversation.", _T, 2,
           palette=False),
    Action("next-turn", "right_square_bracket", "turn(1)", "next turn", "Go to the next turn.",
           _T, 5, palette=False),
    Action("previous-turn", "left_square_bracket", "turn(-1)", "previous turn",
           "Go to the previous turn.", _T, palette=False),
    Action("next-tool", "t", "tool(1)", "next tool", "Go to the next tool call.", _T, 6,
           palette=False),
    Action("previous-tool", "T", "tool(-1)", "previous tool", "Go to the previous tool call.", _T,
           palette=False),
    Action("next-block", "b", "block(1)", "next block", "Go to the next code block or diff.", _T,
           7, palette=False),
    Action("previous-block", "B", "block(-1)", "previous block",
           "Go to the previous code block or diff.", _T, palette=False),
    Action("copy", "c,y", "copy", "copy", "Copy the current message, or the command of a call.",
           _T, 4, palette=False),
    Action("copy-block", "C", "copy_block", "copy block",
           "Copy the current code block, diff or output.", _T, palette=False),
    Action("link", "L", "link", "open link", "Open the next link of the current message.", _T,
           palette=False),
    Action("follow", "f", "follow", "follow", "Follow new messages.", _T,
           palette=False),
    Action("everything", "v", "screen.everything", "taken back",
           "Show or hide messages that were taken back or are hidden.", _T, palette=False),
    Action("transcript-next", "n", "screen.match(1)", "next match", "Go to the next match.", _T, 8,
           palette=False),
    Action("transcript-previous", "N", "screen.match(-1)", "previous match",
           "Go to the previous match.", _T, palette=False),
    Action("transcript-help", "question_mark", "app.help", "help", "Show all keys.", _T, 20,
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


def with_kept(wanted: Mapping[str, str], kept: Mapping[str, str]) -> dict[str, str]:
    """Return the keymap of config.yaml with keys chosen in the browser put over it.

    Those that do not go with it any more are left out; only config.yaml can be wrong.
    """
    keys = checked(wanted)
    try:
        return checked({**keys, **kept})
    except ConfigError:
        for name, key in kept.items():
            with suppress(ConfigError):
                keys = checked({**keys, name: key})
        return keys


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


def taken(name: str, key: str, overrides: Mapping[str, str]) -> Action | None:
    """Return the other action that a key already has in a place where both work."""
    wanted = BY_ID[name].scope
    for other, keys in in_force(overrides):
        together = other.scope is wanted or _OVERLAPS & {other.scope, wanted}
        if other.id != name and together and format_key(key) in map(format_key, _split(keys)):
            return other
    return None


_OVERLAPS = {Scope.ANYWHERE, Scope.MOVE, Scope.LISTS}
"""Scopes whose keys work together with those of others."""


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
