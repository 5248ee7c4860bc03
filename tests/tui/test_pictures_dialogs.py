"""Pictures of everything that opens above the main screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.store import Store
from hermes_tui.dialogs import trash
from hermes_tui.opening.kept_state import Kept
from hermes_tui.opening.start_options import State
from tests.support import raw
from tests.tui import stock
from tests.tui.conftest import Snap
from tests.tui.running import NOW, Typed, make_app

TITLED = State(session_id="20260921_122746_1b186aa4")
SIZES = {"wide": (120, 36), "narrow": (80, 24), "tiny": (40, 12)}
sizes = pytest.mark.parametrize("size", SIZES)


@pytest.fixture
def rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of files depend on the versions of SQLite and zlib; say something else instead."""
    monkeypatch.setattr(trash, "byte_size", lambda _: "12.3 KB")


# -- rename ------------------------------------------------------------------------------------


@sizes
def test_rename(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample, state=TITLED), "ctrl+r", size=SIZES[size])


def test_rename_clash(sample: Path, snap: Snap) -> None:
    title = "Review PR4584 for search-api (28)"
    snap(make_app(sample, state=TITLED), "ctrl+r", Typed(title))


def test_rename_too_long(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=TITLED), "ctrl+r", Typed("long " * 25))


def test_rename_to_nothing(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=TITLED), "ctrl+r", "backspace")


# -- delete ------------------------------------------------------------------------------------


@sizes
def test_delete(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample, state=TITLED), "tab", "x", "x", "d", size=SIZES[size])


def test_delete_several(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=stock.CHAIN)), "tab", "A", "d")


def test_delete_part_of_a_chain(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=stock.CHAIN))
    snap(app, "tab", "right", "down", "down", "d")


def test_delete_protected(path: Path, snap: Snap) -> None:
    stock.with_live(path)
    snap(make_app(path), "tab", "A", "d")


@sizes
def test_deleted(sample: Path, snap: Snap, size: str) -> None:
    """What was done is said in the last line."""
    snap(make_app(sample, state=TITLED), "tab", "d", size=SIZES[size])


def test_undone(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=TITLED), "tab", "P", "d", "u")


# -- prune, export -----------------------------------------------------------------------------


@sizes
def test_prune(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample), "f2", size=SIZES[size])


def test_prune_spares_some(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f2", *["tab"] * 6, "space", "down", "space")


def test_prune_wrong_filter(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f2", "tab", "tab", "tab", "x")


@sizes
def test_export(sample: Path, snap: Snap, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The one folder that has the same name everywhere.
    monkeypatch.chdir("/")
    snap(make_app(sample, state=TITLED), "tab", "e", size=SIZES[size])


def test_export_selected(sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    snap(make_app(sample, state=TITLED), "tab", "x", "x", "e")


def test_export_arrows(sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    snap(make_app(sample, state=TITLED), "tab", "e", "tab", "down")


# -- trash, saved searches ---------------------------------------------------------------------


@pytest.mark.usefixtures("rounded")
def test_trash_empty(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f4")


@pytest.mark.usefixtures("rounded")
@sizes
def test_trash(sample: Path, snap: Snap, size: str) -> None:
    stock.fill_trash(sample, stock.CHAIN, TITLED.session_id or "", stock.FAMILY)
    snap(make_app(sample), "f4", size=SIZES[size])


@pytest.mark.usefixtures("rounded")
@sizes
def test_trash_of_one_deletion(sample: Path, snap: Snap, size: str) -> None:
    with Store(sample) as store:
        roots = (stock.CHAIN, TITLED.session_id or "", stock.FAMILY)
        store.trash.delete([each for root in roots for each in store.lineage.members(root)])
    with raw(path_for(sample)) as con:
        con.execute("UPDATE trash_batches SET deleted_at = ?", (NOW - 600,))
    snap(make_app(sample), "f4", "down", size=SIZES[size])


@pytest.mark.usefixtures("rounded")
@sizes
def test_trash_purge(sample: Path, snap: Snap, size: str) -> None:
    stock.fill_trash(sample, stock.CHAIN)
    snap(make_app(sample), "f4", "d", size=SIZES[size])


def test_saved_searches_empty(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f6")


def test_saved_searches_keep(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), Typed("docker"), "f6")


@sizes
def test_saved_searches(sample: Path, snap: Snap, size: str) -> None:
    with Store(sample) as store:
        store.saved_searches.save("deployments", "docker deploy after:30d")
        store.saved_searches.save("[/b] odd", "source:telegram [bold]x")
    snap(make_app(sample), Typed("docker"), "ctrl+s", size=SIZES[size])


# -- the rest ----------------------------------------------------------------------------------


@sizes
def test_settings(sample: Path, snap: Snap, size: str) -> None:
    kept = Kept(theme="hermes-dark", keys={"rename-now": "f7"})
    snap(make_app(sample, kept=kept), "f9", size=SIZES[size])


def test_settings_press_a_key(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f9", *["down"] * 6, "enter")


def test_settings_key_taken(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f9", *["down"] * 6, "enter", "d")


@sizes
def test_settings_themes(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample), "f9", "enter", "down", size=SIZES[size])


@sizes
def test_help(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample), "f1", size=SIZES[size])


def test_help_language(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f1", "end")


def test_tags(sample: Path, snap: Snap) -> None:
    with Store(sample) as store:
        store.marks.tag(TITLED.session_id or "", "work", "urgent")
    snap(make_app(sample, state=TITLED), "tab", "t")


@sizes
def test_tags_of_several(sample: Path, snap: Snap, size: str) -> None:
    with Store(sample) as store:
        store.marks.tag(TITLED.session_id or "", "work", "next week")
    snap(make_app(sample, state=TITLED), "tab", "x", "x", "t", size=SIZES[size])


# Without a text the order is Textual's, which differs from one start to the next.
def test_palette(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "ctrl+p", Typed("dele"))
