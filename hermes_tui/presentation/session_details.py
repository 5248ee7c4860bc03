"""Pages of styled text: the recap and the info of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from hermes_store.records.listing import ListRow
from hermes_store.records.message import SUMMARY_MARKS
from hermes_store.records.recap import Recap, RecapEntry
from hermes_store.records.safe_text import clean, local_day
from hermes_store.records.session import Session
from hermes_store.records.sources import describe
from hermes_store.records.trash import Weight
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.lineage_lines import EDGE_NAMES
from hermes_tui.presentation.numbers import byte_size, money, plural
from hermes_tui.presentation.times import UNKNOWN, is_known
from hermes_tui.presentation.without_markdown import without_markdown

Part = tuple[str, str] | str


def recap(found: Recap) -> Content:
    """Return the latest messages: gold for you, green for Hermes, the last answer in full."""
    if not found.entries:
        return Content.styled("No messages in this session yet.", "$foreground-muted")
    parts: list[Part] = []
    if found.earlier:
        noun = "message" if found.earlier == 1 else "messages"
        parts.append((f"… {found.earlier:,} earlier {noun} …\n\n", "$foreground-muted italic"))
    for entry in found.entries:
        said = without_markdown(clean(entry.text)).strip()
        parts += [_speaker(entry), (said, "" if entry.whole else "$foreground-muted"), "\n\n"]
    return Content.assemble(*parts).rstrip()


def _speaker(entry: RecapEntry) -> tuple[str, str]:
    if entry.text.startswith(SUMMARY_MARKS):
        return "◈ ", "$foreground-muted bold"
    return ("● You: ", "$primary bold") if entry.role == "user" else ("◆ Hermes: ", "$success bold")


def info(row: ListRow, sessions: Sequence[Session], weight: Weight, files: int) -> Content:
    """Return the facts about a conversation."""
    tip, root = sessions[-1], sessions[0]
    source = describe(row.source)
    lines: list[tuple[str, str]] = [
        ("Title", plain(row.title or "none")),
        ("Status", row.status.value + (f" ({plain(tip.end_reason)})" if tip.end_reason else "")),
        ("Id", plain(tip.id)),
        ("Source", plain(source.label) + (f", {plain(root.user_id)}" if root.user_id else "")),
        ("Model", plain(tip.model or "not recorded")),
        ("Started", _moment(row.started_at)),
        ("Last active", _moment(row.last_active)),
        ("Ended", _moment(tip.ended_at) if tip.ended_at else "not yet"),
        ("Messages", f"{row.message_count:,}"),
        ("Tool calls", f"{sum(each.tool_call_count for each in sessions):,}"),
        ("Tokens", _tokens(sessions)),
        ("Cost", _cost(sessions)),
        ("Text", byte_size(weight.bytes)),
        ("Files", plural(files, "file") + " beside the database"),
    ]
    if row.edge.value:
        lines.append(("Kind", f"{EDGE_NAMES[row.edge]} of {plain(root.parent_session_id)}"))
    if row.segments > 1:
        first = plain(root.id)
        lines.append(("Segments", f"{row.segments}, split by compression; the first is {first}"))
    if row.relatives:
        lines.append(("Children", plural(row.relatives, "child session")))
    if row.host:
        lines.append(("Host", plain(row.host)))
    if row.place.workspace:
        lines.append(("Workspace", plain(row.place.workspace)))
    if row.place.cwd and row.place.cwd != row.place.workspace:
        lines.append(("Folder", plain(row.place.cwd)))
    if row.place.git_branch:
        lines.append(("Branch", plain(row.place.git_branch)))
    marks = [*(["pinned"] if row.pinned else []), *(["archived"] if row.archived else [])]
    marks += ["unread"] if row.unread else []
    marks += [f"#{plain(tag)}" for tag in row.tags]
    if marks:
        lines.append(("Marks", ", ".join(marks)))
    lines.append(("Resume", f"hermes -r {plain(tip.id)}"))
    parts: list[Part] = []
    for name, value in lines:
        parts += [(f"{name:<13}", "$foreground-muted"), value, "\n"]
    return Content.assemble(*parts).rstrip()


def _moment(moment: float) -> str:
    return f"{local_day(moment):%a %d %b %Y %H:%M}" if is_known(moment) else UNKNOWN


def _tokens(sessions: Sequence[Session]) -> str:
    asked = sum(each.input_tokens for each in sessions)
    answered = sum(each.output_tokens for each in sessions)
    if not asked and not answered:
        return "not recorded"
    cached = sum(each.cache_read_tokens for each in sessions)
    return f"{asked:,} in, {answered:,} out" + (f", {cached:,} from cache" if cached else "")


def _cost(sessions: Sequence[Session]) -> str:
    costs = [
        cost
        for each in sessions
        if (cost := each.actual_cost_usd or each.estimated_cost_usd) is not None
    ]
    return money(sum(costs)) if costs else "not recorded"
