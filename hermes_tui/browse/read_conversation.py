"""What the reading pane asks the store for: a transcript, the facts, a copy as Markdown."""

from __future__ import annotations

import io
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from textual.content import Content

from hermes_store.records.message import Message
from hermes_store.records.recap import Limits
from hermes_store.records.search import Hit, Spans
from hermes_store.records.transcript import Outline
from hermes_store.sessions.session_files import session_files
from hermes_store.store import Store
from hermes_tui.browse.session_list_widget import Target
from hermes_tui.presentation import session_details
from hermes_tui.store_access import Stopped

AROUND = 40
"""Messages read along with the outline of a transcript."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What the pane shows: a conversation and the search text."""

    target: Target
    query: str
    hit: Hit | None


@dataclass(frozen=True, slots=True)
class Page:
    """A transcript with the messages around its starting place."""

    outline: Outline
    messages: list[Message]
    matches: array[int]
    spans: Spans | None
    focus: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which transcript to read, and where to open it."""

    target: Target
    text: str
    """What to mark in it."""
    hit: int | None
    """The message that a search found."""
    start: int | None = None
    """The message to open it at; with `finding`, at the first match from there on."""
    finding: bool = False
    everything: bool = False
    """Whether to show messages that were taken back or are hidden, too."""


def page(store: Store, wanted: Wanted, stopped: Stopped) -> Page:
    """Return a transcript."""
    from hermes_tui.presentation import markdown

    markdown.prepare()  # here, because this is not the thread of the screen
    target = wanted.target
    outline = store.transcripts.outline(target.session_id, everything=wanted.everything)
    matches: array[int] = array("q")
    spans: Spans | None = None
    if wanted.text.strip():
        matches, spans = store.transcripts.find(
            outline, wanted.text, cancelled=stopped, typing=True
        )
    focus = wanted.start
    if wanted.finding and matches:
        focus = _from(outline, matches, wanted.start)
    if focus is None:
        focus = wanted.hit
    if focus is None and target.part:
        focus = _first_of(outline, target.session_id)
    if wanted.hit is not None and not matches:
        matches = array("q", [wanted.hit])
    near = store.messages.by_id(_around(outline, focus))
    return Page(outline, near, matches, spans, focus)


def _from(outline: Outline, matches: array[int], start: int | None) -> int:
    """Return the first match from a message on; from the last match on, begin again."""
    places = {message_id: place for place, message_id in enumerate(outline.message_ids)}
    found = sorted(places[each] for each in matches if each in places)
    if not found:
        return matches[0]
    index = bisect_left(found, places.get(-1 if start is None else start, 0))
    return outline.message_ids[found[index % len(found)]]


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


def recap(store: Store, target: Target, limits: Limits) -> Content:
    """Return the recap of a conversation's newest session, or of a single one."""
    session_id = target.session_id if target.part else _tip(store, target)
    return session_details.recap(store.transcripts.quick_recap(session_id, limits))


def _tip(store: Store, target: Target) -> str:
    if target.row is not None:
        return target.row.tip_id
    return store.transcripts.outline(target.root_id).tip_id


def _sessions(store: Store, target: Target) -> list[str]:
    if target.part:
        return [target.session_id]
    return [each.session_id for each in store.transcripts.outline(target.root_id).segments]


def info(store: Store, target: Target, folder: Path | None, now: float) -> Content:
    """Return the facts about a conversation."""
    rows = store.lists.rows([target.root_id], now=now)
    if not rows:
        return Content("")
    wanted = _sessions(store, target)
    members = store.lineage.members(target.root_id)
    files = sum(1 for each in members for _ in session_files(folder, each)) if folder else 0
    sessions = [store.sessions.get(each) for each in wanted]
    return session_details.info(rows[0], sessions, store.trash.weigh(wanted, now=now), files)


def as_markdown(store: Store, target: Target, *, everything: bool) -> str:
    """Return a conversation as Markdown."""
    sink = io.StringIO()
    store.transfer.export(sink, "markdown", _sessions(store, target), everything=everything)
    return sink.getvalue()
