"""What is purged is gone: no file in the folder holds a word of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import erase, lock_waiting
from tests.store import newer
from tests.store.newer import Newer
from tests.support import LONG_AGO, add, raw

# Index pages share the beginning of a word with the word before it.
WORD, TRACE = "quokkazanzibar", b"kkazanzib"
SECRET = f"my {WORD} is 部署袋鼠密码 and more"


def _own(path: Path) -> None:
    with SessionDB(path) as db:
        for number in range(40):
            add(db, f"other{number}", f"ordinary words {number} 部署", ended=LONG_AGO + 9)
        add(db, "secret", SECRET, SECRET * 400, "more words", ended=LONG_AGO + 9, title=WORD)
        called = [{"function": {"name": "run", "arguments": WORD}}]
        db.append_message("secret", "assistant", tool_calls=called, timestamp=LONG_AGO + 8)


def _foreign(path: Path) -> None:
    newer.make(path)
    theirs = Newer(path)
    for number in range(40):
        theirs.session(f"other{number}", ended_at=LONG_AGO + 9, end_reason="user_exit")
        theirs.message(f"other{number}", f"ordinary words {number}")
    theirs.session("secret", ended_at=LONG_AGO + 9, end_reason="user_exit", title=WORD)
    for text in (SECRET, SECRET * 400):
        theirs.message("secret", text)
    theirs.close()


def _traces(folder: Path) -> list[str]:
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if TRACE in data or "袋鼠密".encode() in data:
                found.append(path.name)
    return found


def _empty(store: Store, sessions: Path) -> None:
    store.trash.delete(["secret"], sessions)
    assert store.trash.empty().left is None


def _for_good(store: Store, sessions: Path) -> None:
    gone = store.trash.delete(["secret"], sessions, permanently=True)
    assert (gone.session_ids, gone.left) == (("secret",), None)


@pytest.mark.parametrize("way", [_empty, _for_good])
@pytest.mark.parametrize("made", [_own, _foreign])
def test_no_byte_is_left(
    tmp_path: Path, made: Callable[[Path], None], way: Callable[[Store, Path], None]
) -> None:
    path, sessions = tmp_path / "state.db", tmp_path / "sessions"
    made(path)
    sessions.mkdir()
    (sessions / "secret.jsonl").write_text(SECRET)
    with Store(path) as store:
        store.search.prepare()
        assert store.search.run("ordinary").hits
        assert store.search.run("kazanzi").hits
        assert _traces(tmp_path)
        way(store, sessions)
        assert _traces(tmp_path) == []
        assert store.search.run("ordinary").hits
        assert not store.search.run("kazanzi").hits
    assert _traces(tmp_path) == []
    with raw(path) as con:
        assert con.execute("PRAGMA integrity_check").get == "ok"


def test_what_has_to_stay_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    _own(path)
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.05)
    with Store(path) as store, Store(path, read_only=True) as reader:
        store.trash.delete(["other0", "other1", "other2"])
        monkeypatch.setattr(erase, "REWRITE_BYTES", 0)
        batch = store.trash.list()[0].id
        said = store.trash.empty(batch_id=batch).left
        assert said is not None and "'hermes sessions optimize' removes them" in said
        with reader.database.read() as view:
            assert view.value("SELECT COUNT(*) FROM sessions") == 38
            said = store.trash.delete(["other3"], permanently=True).left
        assert said is not None and "Another program is using" in said
