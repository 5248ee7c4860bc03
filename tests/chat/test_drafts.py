"""Drafts in their file: kept, found again, limited, and shared by several programs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_store.config import paths
from hermes_store.errors import BadFile
from hermes_tui.chat import drafts
from hermes_tui.chat.drafts import Draft
from tests.rights import respected

SESSION = "20260921_100000_0dd0ff"


def kept(path: Path) -> list[str]:
    """Return the texts in the file, in its order."""
    file = paths.drafts_file(path)
    return [each["text"] for each in json.loads(file.read_text())] if file.exists() else []


def keep(path: Path, chat: str, text: str, session_id: str = SESSION, at: float = 1.0) -> None:
    drafts.keep(path, Draft(chat, session_id, text, at))


def test_a_draft_belongs_to_its_session(path: Path) -> None:
    keep(path, "one", "about quokkas")
    keep(path, "two", "something new", session_id="")
    assert drafts.take(path, "another", "three") is None
    found = drafts.take(path, SESSION, "three")
    assert found is not None and (found.text, found.chat) == ("about quokkas", "three")
    new = drafts.take(path, "", "four")
    assert new is not None and new.text == "something new"


def test_typing_on_replaces_and_an_empty_text_removes(path: Path) -> None:
    for text in ("a", "ab", "abc"):
        keep(path, "one", text)
    assert kept(path) == ["abc"]
    keep(path, "one", "")
    assert kept(path) == []


def test_nothing_is_made_where_there_is_nothing_to_keep(path: Path) -> None:
    keep(path, "one", "")
    assert drafts.take(path, SESSION, "one") is None
    assert list(path.parent.iterdir()) == []


def test_only_the_owner_can_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        keep(path, "one", "secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(paths.drafts_file(path).stat().st_mode) == 0o600


def test_two_chats_on_one_session_do_not_lose_a_word(path: Path) -> None:
    keep(path, "one", "from the first window", at=1.0)
    keep(path, "two", "from the second window", at=2.0)
    newest = drafts.take(path, SESSION, "three")
    assert newest is not None and newest.text == "from the second window"
    keep(path, "three", "")  # sent
    older = drafts.take(path, SESSION, "four")
    assert older is not None and older.text == "from the first window"


def test_a_chat_that_is_still_open_keeps_its_own(path: Path) -> None:
    keep(path, "one", "half a")
    assert drafts.take(path, SESSION, "two") is not None
    keep(path, "two", "")
    keep(path, "one", "half a sentence", at=2.0)
    assert kept(path) == ["half a sentence"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{broken",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"7",
        b'{"text": "x"}',
        b'[7, {}, {"chat": 1, "session_id": "", "text": "x", "at": 1}, {"chat": "a", "text": ""}]',
    ],
)
def test_a_file_that_makes_no_sense_is_written_anew(path: Path, content: bytes) -> None:
    file = paths.drafts_file(path)
    file.write_bytes(content)
    assert drafts.take(path, "", "one") is None
    keep(path, "one", "a fresh start")
    assert kept(path) == ["a fresh start"]


def test_what_any_text_holds_comes_back(path: Path) -> None:
    text = "naïve 漢字 \U0001f680 \ud800 \x00 \x1b[31m\nsecond line"
    keep(path, "one", text)
    found = drafts.take(path, SESSION, "two")
    assert found is not None and found.text == text


def test_the_oldest_make_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 3)
    for place in range(5):
        keep(path, f"chat {place}", f"text {place}", at=float(place))
    assert kept(path) == ["text 2", "text 3", "text 4"]
    monkeypatch.setattr(drafts, "MOST_CHARACTERS_IN_ALL", 15)
    keep(path, "chat 9", "much", at=9.0)
    assert kept(path) == ["text 4", "much"]


def test_a_folder_that_cannot_be_written(path: Path) -> None:
    keep(path, "one", "from before")
    paths.drafts_file(path).with_suffix(".drafts.lock").chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with respected(), pytest.raises(BadFile, match="Drafts cannot be saved in"):
            keep(path, "one", "and more")
        found = drafts.peek(path, SESSION)
        assert found is not None and found.text == "from before"
    finally:
        path.parent.chmod(0o700)


WRITER = """
import sys
from pathlib import Path
from hermes_tui.chat import drafts
path, name = Path(sys.argv[1]), sys.argv[2]
for place in range(30):
    drafts.keep(path, drafts.Draft(name, name, f"{name} {place}", float(place)))
"""


def test_many_programs_at_once_lose_nothing(path: Path) -> None:
    names = [f"program-{place}" for place in range(4)]
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in names]
    assert [each.wait(120) for each in running] == [0] * len(names)
    assert sorted(kept(path)) == [f"{name} 29" for name in names]
    left = {each.name for each in path.parent.iterdir()}
    assert left == {"state.db.drafts", "state.db.drafts.lock"}
