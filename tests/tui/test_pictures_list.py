"""Pictures of the main screen: what there is, what is looked for, how the list stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import Grouping, Sort, View
from hermes_store.records.search import Looked, Request, SearchResult
from hermes_store.search.api import MessageSearch
from hermes_store.store import Store
from hermes_tui.browse import list_options
from hermes_tui.opening.start_options import State
from hermes_tui.presentation import themes
from tests.store import newer
from tests.support import add
from tests.tui import stock
from tests.tui.conftest import Snap
from tests.tui.running import NOW, WIDE, Typed, make_app

NARROW, TINY = (80, 24), (40, 12)


def at(session_id: str, **more: str) -> State:
    """Return the state of being at a session."""
    return replace(State(session_id=session_id), **more)


# -- how much there is -------------------------------------------------------------------------


def test_no_database(path: Path, snap: Snap) -> None:
    snap(make_app(path))


def test_empty_database(path: Path, snap: Snap) -> None:
    SessionDB(path).close()
    snap(make_app(path))


def test_one_session(path: Path, snap: Snap) -> None:
    stock.one(path)
    snap(make_app(path))


def test_many(sample: Path, snap: Snap) -> None:
    snap(make_app(sample))


def test_demo(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, demo=True))


def test_end_of_many(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "tab", "G")


def test_live_session(path: Path, snap: Snap) -> None:
    stock.with_live(path)
    snap(make_app(path))


def test_nothing_from_a_source(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, view=View(source="carrier-pigeon")))


def test_only_hidden(path: Path, snap: Snap) -> None:
    with SessionDB(path) as db:
        add(db, "job", "backup done", source="cron", at=NOW - 100, ended=NOW - 50)
    snap(make_app(path))


# -- files that are not as they should be ------------------------------------------------------


def test_read_only(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, read_only=True))


def test_newer_schema(path: Path, snap: Snap) -> None:
    newer.make(path)
    file = newer.Newer(path)
    file.session("20260921_120000_aaaaaa", at=NOW - 5_000, title="from the future", cwd="/srv")
    file.message("20260921_120000_aaaaaa", "written by a newer Hermes", at=NOW - 4_000)
    file.session("20260921_110000_bbbbbb", at=NOW - 9_000, ended_at=NOW - 8_000, archived=1)
    file.message("20260921_110000_bbbbbb", "archived there", at=NOW - 8_500)
    file.close()
    snap(make_app(path))


def test_corrupt_file(path: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    # A relative path, since the sentence names the file.
    monkeypatch.chdir(path.parent)
    path.write_bytes(b"this was never a database" * 400)
    snap(make_app(Path(path.name)))


def test_damaged_pages(sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sample.parent)
    with sample.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xa5" * 400_000)
    snap(make_app(Path(sample.name)))


# -- searching ---------------------------------------------------------------------------------


def leave_off_after(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Let every search leave off after its first conversations, as if it were still going on."""

    def partly(self: MessageSearch, request: Request) -> Iterator[SearchResult]:
        whole = self.run(request)
        looked = Looked(NOW - 40 * 86_400, 0.62)
        yield replace(whole, groups=whole.groups[:first], partial=True, looked=looked)

    monkeypatch.setattr(MessageSearch, "stream", partly)


def test_searching(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker deploy"))


def test_searching_ranked(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "ctrl+o", Typed("docker"))


@pytest.mark.parametrize("size", [WIDE, NARROW, TINY])
def test_still_looking(
    sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    leave_off_after(monkeypatch, 4)
    snap(make_app(sample, state=State(query="docker")), size=size)


def test_still_looking_for_the_first(
    sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_off_after(monkeypatch, 0)
    snap(make_app(sample, state=State(query="zzqqyxw")))


def test_the_same_words_are_counted_apart(path: Path, snap: Snap) -> None:
    with SessionDB(path) as db:
        add(db, "s1", "write to foo@bar.com", at=NOW - 4_000)
        add(db, "s2", "foo_bar com is no address", at=NOW - 3_000)
    snap(make_app(path), Typed("foo@bar.com"))


def test_no_hits(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("zzqqyxw"))


def test_relaxed_by_a_typo(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("contaner"))


def test_relaxed_to_fewer_words(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker xylophone"))


def test_syntax_note(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed('"docker deploy'))


def test_diagnostic(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker after:never"))


def test_completion_offered(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker sour"))


def test_chinese(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(query="部署")))


def test_opened_with_a_query_and_a_tab(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(query="billing", tab="info")))


# -- the list ----------------------------------------------------------------------------------


def test_unfolded(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=at(stock.FAMILY)), "tab", "right", "down")


def test_folded_again(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=at(stock.FAMILY)), "tab", "right", "down", "left")


@pytest.mark.parametrize("group", list_options.groupings(None)[1:])
def test_grouped(sample: Path, snap: Snap, group: Grouping) -> None:
    snap(make_app(sample, view=View(group=group)), "tab")


@pytest.mark.parametrize("sort", [each for each in Sort if each is not Sort.ACTIVITY])
def test_sorted(sample: Path, snap: Snap, sort: Sort) -> None:
    snap(make_app(sample, view=View(sort=sort)), "tab")


def test_hidden_shown(sample: Path, snap: Snap) -> None:
    with Store(sample) as store:
        store.marks.archive("20260921_113524_8c72dd0c")
    snap(make_app(sample), "tab", "H")


def test_selected(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "tab", "space", "down", "x")


def test_marks(sample: Path, snap: Snap) -> None:
    with Store(sample) as store:
        store.marks.pin("20260921_122746_1b186aa4")
        store.marks.tag("20260921_113524_8c72dd0c", "work", "urgent")
    snap(make_app(sample), "tab")


# -- sizes and colours -------------------------------------------------------------------------


def test_narrow(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), size=NARROW)


def test_narrow_searching(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker deploy"), size=NARROW)


def test_tiny_list(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), size=TINY)


def test_tiny_pane(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "tab", "tab", size=TINY)


def test_tiny_searching(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker"), size=TINY)


def test_very_wide(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker"), size=(220, 50))


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "hermes-light", "textual-dark"])
def test_theme(sample: Path, snap: Snap, theme: str) -> None:
    snap(make_app(sample, theme=theme), Typed("docker"))


def test_without_colour(sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(make_app(sample, theme=themes.chosen("auto", ())), Typed("docker"), "tab", "down")
