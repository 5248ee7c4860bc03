"""Files beside the database, and the folders they lie in."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.config import paths
from hermes_store.errors import InvalidInput, NotFound
from hermes_store.sessions.session_files import remove_session_files, session_files
from tests.support import add


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("{}")


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sessions"
    made.mkdir()
    return made


def test_all_files_of_a_session_go_and_no_other(db: SessionDB, folder: Path) -> None:
    add(db, "a")
    own = ("a.jsonl", "a.json", "session_a.json", "request_dump_a_1.json", "request_dump_a_2.json")
    others = ("ab.jsonl", "session_ab.json", "request_dump_ab_1.json", "sessions.json", "a.txt")
    _touch(folder, *own, *others)
    assert db.delete_session("a", sessions_dir=folder)
    assert _names(folder) == set(others)


def test_files_stay_without_a_folder_or_a_session(db: SessionDB, folder: Path) -> None:
    _touch(folder, "a.jsonl")
    assert not db.delete_session("a", sessions_dir=folder)
    add(db, "a")
    assert db.delete_session("a")
    remove_session_files(folder / "missing", ["a"])
    assert _names(folder) == {"a.jsonl"}


@pytest.mark.parametrize("name", ["../outside", "..\\outside", "/etc/passwd", "sub/file"])
def test_an_id_never_reaches_outside_the_folder(folder: Path, name: str) -> None:
    _touch(folder.parent, "outside.jsonl", "outside.json")
    (folder / "sub").mkdir()
    _touch(folder / "sub", "file.jsonl")
    remove_session_files(folder, [name])
    assert list(session_files(folder, name)) == []
    assert {"outside.jsonl", "outside.json"} <= _names(folder.parent)
    assert _names(folder / "sub") == {"file.jsonl"}


def test_wildcards_in_an_id_are_letters(folder: Path) -> None:
    _touch(folder, "request_dump_a_1.json", "request_dump_*_1.json")
    remove_session_files(folder, ["*", "[a]"])
    assert _names(folder) == {"request_dump_a_1.json"}


def test_strange_ids_are_harmless(folder: Path) -> None:
    _touch(folder, "a.jsonl")
    remove_session_files(folder, ["", ".", "..", "a\x00", "x" * 5000])
    assert _names(folder) == {"a.jsonl"}


def test_the_home_folder_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HERMES_HOME", f" {tmp_path} ")
    assert paths.database_path() == tmp_path / "state.db"
    assert paths.sessions_dir() == tmp_path / "sessions"
    monkeypatch.setenv("HERMES_HOME", "~/elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.hermes_home() == tmp_path / "elsewhere"
    monkeypatch.setenv("HERMES_HOME", "  ")
    assert paths.hermes_home() == tmp_path / ".hermes"


def test_profiles_are_folders(tmp_path: Path) -> None:
    assert paths.profiles(tmp_path) == ()
    for name in ("work", "home"):
        (tmp_path / "profiles" / name).mkdir(parents=True)
    (tmp_path / "profiles" / "file").write_text("")
    assert paths.profiles(tmp_path) == ("home", "work")
    assert paths.profile_home("work", tmp_path) == tmp_path / "profiles" / "work"
    assert paths.profile_home("default", tmp_path) == tmp_path
    with pytest.raises(NotFound, match=r"'play'.*home, work"):
        paths.profile_home("play", tmp_path)
    for name in ("..", "a/b", "/etc"):
        with pytest.raises(InvalidInput, match="profile"):
            paths.profile_home(name, tmp_path)
