"""`export` asks or refuses where a session may be meant, or a file would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Outcome, hermes, on_terminal

TIP, CHAT = "20250305_091523_bbbb", "20250303_101500_f00d"


def _in(home: Path, *arguments: str) -> Outcome:
    """Export into the folder `home`, without anybody to ask."""
    return hermes(home, "sessions", "export", *arguments)


@pytest.mark.parametrize("name", [CHAT, "20250303", "2025", "my project"])
def test_the_name_of_a_session_is_no_file(
    full_home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(full_home)
    before = sorted(full_home.iterdir())
    done = _in(full_home, name)
    assert done.code == 1 and f"'{name}' names a session." in done.err
    assert "export --session " in done.err and "./" in done.err
    assert sorted(full_home.iterdir()) == before
    # Both ways that it shows work.
    assert "Exported 4 sessions" in _in(full_home, f"./{name}").out
    if name != "2025":
        assert "Exported 1 session " in _in(full_home, "--session", name, "out.jsonl").out


def test_other_names_are_files(full_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(full_home)
    for name in ("backup", f"{CHAT}.jsonl", "my project.md"):
        assert "Exported 4 sessions" in _in(full_home, name).out
        assert (full_home / name).is_file()


def test_on_a_terminal_it_asks_which_is_meant(full_home: Path) -> None:
    cancelled = on_terminal(full_home, "sessions", "export", "20250303", typed="c\n")
    assert cancelled.code == 1 and "Cancelled." in cancelled.out
    assert not (full_home / "20250303").exists()
    one = on_terminal(full_home, "sessions", "export", "20250303", typed="s\n")
    assert one.code == 0 and "Exported 1 session " in one.out
    assert CHAT in (full_home / f"{CHAT}.jsonl").read_text()
    every = on_terminal(full_home, "sessions", "export", "20250303", typed="a\n")
    assert every.code == 0 and len((full_home / "20250303").read_text().splitlines()) == 4


def test_an_existing_file_is_only_replaced_when_asked_to(full_home: Path) -> None:
    target = full_home / "backup.jsonl"
    target.write_text("precious")
    refused = _in(full_home, str(target))
    assert refused.code == 1 and "already exists. Use --force" in refused.err
    kept = on_terminal(full_home, "sessions", "export", "backup.jsonl", typed="n\n")
    assert kept.code == 1 and target.read_text() == "precious"
    assert on_terminal(full_home, "sessions", "export", "backup.jsonl", typed="y\n").code == 0
    assert len(target.read_text().splitlines()) == 4
    assert _in(full_home, str(target), "--force", "--session", TIP).code == 0
    assert len(target.read_text().splitlines()) == 1


def test_one_file_is_enough(full_home: Path, tmp_path: Path) -> None:
    names = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    done = _in(full_home, *names)
    assert done.code == 2 and "one file, not 2" in done.err
    assert not any(Path(name).exists() for name in names)
    twice = _in(full_home, names[0], "--session", CHAT, "--session-id", CHAT[:8])
    assert "Exported 1 session " in twice.out
    assert _in(full_home, "/dev/null").code == 0
