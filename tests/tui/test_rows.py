"""The rows of a list: which columns there are at which width, and what stands in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store.records.listing import Entry, Heading, ListRow, Status
from hermes_store.records.search import Snippet
from hermes_store.records.workspace import Place
from hermes_tui.browse.list_loading import begun_with
from hermes_tui.presentation import rows
from hermes_tui.presentation.rows import RowState
from hermes_tui.presentation.styled_line import Line, width_of

NOW = 1_790_000_000.0
ROW = ListRow(
    id="one",
    tip_id="one",
    title="Fix CI out-of-memory kill",
    preview="The docker deploy step fails",
    source="mattermost",
    model="anthropic/claude-sonnet-4.6",
    started_at=NOW - 7_200,
    last_active=NOW - 720,
    message_count=42,
    status=Status.DONE,
    place=Place("/src/shop-api", None, None),
    cost=1.5,
    tokens=12_345,
)
PLACED = RowState(NOW, placed=True)


def text(line: Line) -> str:
    return "".join(piece for piece, _ in line)


def shown(width: int, state: RowState = PLACED, **changes: object) -> str:
    return text(rows.session_line(replace(ROW, **changes), width, state))  # type: ignore[arg-type]


def test_full_names_where_there_is_room() -> None:
    for name in ("shop-api", "Mattermost", "12m", "42", "Fix CI out-of-memory kill"):
        assert name in shown(120)
    assert "Matterm" in shown(62) and "shop-api" in shown(62)
    assert "Matterm" in shown(50) and "shop-api" not in shown(50)
    assert "Matterm" not in shown(40) and shown(40).endswith("42")
    assert "42" not in shown(24) and shown(24).endswith("12m")


def test_a_table_has_model_tokens_and_cost() -> None:
    line = shown(62, PLACED._replace(table=True))
    for name in ("claude-sonnet", "12k", "$1.50"):
        assert name in line
    assert "anthropic" not in line


@pytest.mark.parametrize(
    ("status", "sign"),
    [(Status.DONE, " "), (Status.LIVE, "●"), (Status.INTERRUPTED, "◐"), (Status.ERROR, "✗")],
)
def test_what_is_done_has_no_sign(status: Status, sign: str) -> None:
    assert shown(80, status=status)[0] == sign
    assert shown(80, PLACED._replace(selected=True), status=status)[0] == "✓"


def test_tags_never_take_the_room_of_a_title() -> None:
    line = shown(62, tags=("continuous-integration", "work"))
    assert "Fix CI out-of-memory k" in line
    assert "#continuous-integration" in shown(120, tags=("continuous-integration",))


def test_a_longer_conversation_has_a_higher_bar() -> None:
    bars = [rows.size_bar(number) for number in (0, 1, 5, 20, 100, 1_000, 10**6)]
    assert bars[0] == " " and bars[1] == "▁" and bars[-1] == "█"
    assert bars[1:] == sorted(bars[1:])


def test_results_are_dated_by_their_match() -> None:
    assert "3d" in shown(80, PLACED._replace(matched=NOW - 3 * 86_400))


@given(
    st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4),
    st.integers(12, 220), st.integers(0, 10**7), st.booleans(), st.booleans(),
)  # fmt: skip
def test_rows_fill_their_width(
    title: str, preview: str, tags: list[str], width: int, count: int, table: bool, placed: bool
) -> None:
    row = replace(ROW, title=title, preview=preview, tags=tuple(tags), message_count=count)
    line = rows.session_line(row, width, RowState(NOW, placed=placed, table=table))
    assert width_of(line) == width


@given(st.text(min_size=1, max_size=200), st.data())
def test_snippets_have_one_ellipsis_at_each_end(said: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(said) - 1))
    end = data.draw(st.integers(begin + 1, len(said)))
    cut = f"...{said}..."
    line = text(rows.marked(Snippet(cut, ((begin + 3, end + 3),)), 60))
    assert "......" not in line or "......" in said
    assert not line.startswith("…...") or said.startswith(".")


# -- a newer beginning -----------------------------------------------------------------------------


def test_a_newer_beginning_keeps_the_headings_right() -> None:
    today, yesterday = Heading("Today", 0), Heading("Yesterday", 0)
    entries: list[Entry] = [today, "b", yesterday, "c", "d"]
    assert begun_with(entries, [today, "a", "b"]) == [today, "a", "b", yesterday, "c", "d"]
    assert begun_with(entries, [today, "c", "b"]) == [today, "c", "b", yesterday, "d"]
    assert begun_with(entries, [today, "d", "c", "b"]) == [today, "d", "c", "b"]
    assert begun_with([], [today, "a"]) == [today, "a"]
    assert begun_with(entries, []) == entries
    assert begun_with([], []) == []


@given(st.permutations("abcdef"), st.integers(1, 6))
def test_a_newer_beginning_of_a_plain_list(order: list[str], number: int) -> None:
    merged = begun_with(list("abcdef"), order[:number])
    assert merged[:number] == order[:number]
    last = "abcdef".index(order[number - 1])
    assert merged[number:] == [each for each in "abcdef"[last + 1 :] if each not in order[:number]]


@pytest.mark.parametrize("width", range(30, 160, 5))
def test_a_preview_has_one_ellipsis(width: int) -> None:
    cut = "a preview as the store cuts it after sixty letters and no mo..."
    for row in (replace(ROW, preview=cut), replace(ROW, preview=cut, title=None)):
        line = "".join(text for text, _ in rows.session_line(row, width, RowState(NOW)))
        assert ".." not in line and ".…" not in line
