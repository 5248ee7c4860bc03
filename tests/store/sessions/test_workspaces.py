"""Workspaces: which folder a conversation belongs to, in lists, groups, search and exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import Filter, Grouping, Heading, View
from hermes_store.records.search import Request
from hermes_store.records.workspace import Place, long_name, short_name
from hermes_store.sessions.workspaces import place_of
from tests.store import old_files
from tests.store.search import layouts
from tests.support import LONG_AGO, add, raw

NOW = LONG_AGO + 9_000
PLACES = {
    "ci": Place("/src/shop-api/ci", "/src/shop-api", "main"),
    "pay": Place("/src/shop-api", "/src/shop-api", "retry-safety"),
    "web": Place("/src/web", "/src/web", "main"),
    "other web": Place("/work/web", None, None),
    "notes": Place("/home/me/notes", "", None),
    "nowhere": Place(),
}


@pytest.fixture
def placed(db: SessionDB) -> SessionDB:
    for number, (name, place) in enumerate(PLACES.items()):
        db.store.sessions.start(name, "cli", place=place, started_at=LONG_AGO + number)
        db.append_message(name, "user", "a word", timestamp=LONG_AGO + 100 + number)
    return db


def listed(db: SessionDB, view: View) -> list[str]:
    return [each for each in db.store.lists.entries(view, now=NOW) if isinstance(each, str)]


@pytest.mark.parametrize(
    ("needle", "expected"),
    [
        ("shop", ["pay", "ci"]),
        ("SHOP-api", ["pay", "ci"]),
        ("web", ["other web", "web"]),
        ("src/web/", ["web"]),
        ("notes", ["notes"]),
        ("s%", []),
        ("_", []),
        ("elsewhere", []),
    ],
)
def test_a_part_of_the_path_chooses_in_every_list(
    placed: SessionDB, needle: str, expected: list[str]
) -> None:
    assert listed(placed, View(workspace=needle)) == expected
    rows = placed.store.lists.as_dictionaries(Filter(workspace=needle))
    assert [row["id"] for row in rows] == expected
    assert placed.store.lists.recent_ids(workspace=needle) == expected
    found = placed.store.search.run(Request("word", workspace=needle, relax=False))
    assert [hit.session_id for hit in found.hits] == expected
    if expected:
        result = placed.store.search.run(f'word workspace:"{needle}"')
        assert [hit.session_id for hit in result.hits] == expected


def test_the_limit_counts_what_was_chosen(placed: SessionDB) -> None:
    rows = placed.store.lists.as_dictionaries(Filter(workspace="shop"), limit=1)
    assert [row["id"] for row in rows] == ["pay"]


def test_here_is_a_workspace_and_what_lies_below(placed: SessionDB) -> None:
    assert listed(placed, View(here="/src/shop-api")) == ["pay", "ci"]
    assert listed(placed, View(here="/src")) == []  # a repository is a workspace of its own
    assert listed(placed, View(here="/home/me")) == ["notes"]
    found = placed.store.search.run(Request("word", here="/src/web"))
    assert [hit.session_id for hit in found.hits] == ["web"]
    lists = placed.store.lists
    assert lists.workspace_here(Place("/src/shop-api/x", "/src/shop-api")) == "/src/shop-api"
    assert lists.workspace_here(Place("/home/me/notes")) == "/home/me/notes"
    assert lists.workspace_here(Place("/nowhere")) is None
    placed.store.sessions.start("job", "oneshot", place=Place("/only/hidden"))
    assert lists.workspace_here(Place("/only/hidden")) is None


def test_a_group_for_each_workspace_named_so_that_they_differ(placed: SessionDB) -> None:
    entries = list(placed.store.lists.entries(View(group=Grouping.WORKSPACE), now=NOW))
    assert [each for each in entries if isinstance(each, Heading)] == [
        Heading("no workspace", 1),
        Heading("notes", 1),
        Heading("work/web", 1),
        Heading("src/web", 1),
        Heading("shop-api", 2),
    ]


def test_the_branch_is_a_field(placed: SessionDB) -> None:
    found = placed.store.search.run("word branch:retry")
    assert [hit.session_id for hit in found.hits] == ["pay"]
    nothing = placed.store.search.run("word branch:release")
    assert "Known branches: main, retry-safety." in nothing.diagnostics[0].message
    nothing = placed.store.search.run("word workspace:zebra")
    assert "Known workspaces:" in nothing.diagnostics[0].message


def test_a_row_says_where_its_newest_part_took_place(db: SessionDB) -> None:
    db.store.sessions.start("a", "cli", place=Place("/old"), started_at=LONG_AGO)
    db.append_message("a", "user", "x", timestamp=LONG_AGO + 1)
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET ended_at = ?, end_reason = 'compression'", (LONG_AGO + 5,))
    db.store.sessions.start(
        "b", "cli", place=Place("/new"), parent_session_id="a", started_at=LONG_AGO + 10
    )
    (row,) = db.store.lists.rows(["a"], now=NOW)
    assert row.place == Place("/new")
    assert listed(db, View(workspace="old")) == listed(db, View(workspace="new")) == ["a"]


def test_files_that_we_make_have_the_columns_and_others_do_not_get_them(tmp_path: Path) -> None:
    own, real = tmp_path / "own.db", tmp_path / "real.db"
    layouts.make_inline(real)
    for path in (own, real):
        with SessionDB(path) as db:
            db.store.sessions.start("a", "cli", place=Place("/src", "/src", "main"))
            db.append_message("a", "user", "hello")
            (row,) = db.store.lists.rows(["a"], now=NOW)
            assert row.place == (Place("/src", "/src", "main") if path == own else Place())
            assert db.store.lists.workspaces() == ({"/src": 1} if path == own else {})
            assert listed(db, View(workspace="src")) == (["a"] if path == own else [])
    with raw(real) as con:
        columns = {row[1] for row in con.execute("PRAGMA table_info(sessions)")}
    assert not columns & {"cwd", "git_repo_root", "git_branch"}


def test_an_old_file_gets_no_columns_when_it_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 6)
    with SessionDB(path) as db:
        add(db, "new one", "x")
        assert not db.store.capabilities().has_session("cwd")


@pytest.mark.parametrize(
    ("path", "short", "long"),
    [
        ("/src/web", "web", "src/web"),
        ("/src/web/", "web", "src/web"),
        ("C:\\work\\shop", "shop", "work/shop"),
        ("/", "/", "/"),
        ("web", "web", "web"),
    ],
)
def test_names(path: str, short: str, long: str) -> None:
    assert (short_name(path), long_name(path)) == (short, long)


def test_the_repository_of_a_folder_is_found_without_git(tmp_path: Path) -> None:
    assert place_of(tmp_path / "bare") == Place(str(tmp_path / "bare"))
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/fix/oom\n")
    (root / "src").mkdir()
    assert place_of(root / "src") == Place(str(root / "src"), str(root), "fix/oom")
    (root / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert place_of(root).git_branch is None
    tree = tmp_path / "tree"
    tree.mkdir()
    (root / ".git" / "worktrees" / "tree").mkdir(parents=True)
    (root / ".git" / "worktrees" / "tree" / "HEAD").write_text("ref: refs/heads/other\n")
    (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/tree\n")
    assert place_of(tree) == Place(str(tree), str(tree), "other")
    (tree / ".git").write_bytes(b"gitdir: a\0b\n")
    assert place_of(tree).git_branch is None
    (tree / ".git").write_text("gitdir: nowhere\n")
    assert place_of(tree).git_branch is None
