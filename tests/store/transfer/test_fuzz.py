"""Anything in an import file is imported or reported; no stored text runs in a page."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import BadFile, InvalidInput, StoreError
from hermes_store.records.transfer import Outcome
from hermes_store.transfer import import_file
from tests.fuzzing import HOSTILE, NESTED, TEXTS, TREES, as_line, objects, thorough
from tests.support import is_whole

_COLUMNS = ("id", "source", "title", "started_at", "ended_at", "end_reason", "model", "user_id",
            "model_config", "parent_session_id", "message_count", "input_tokens", "messages",
            "estimated_cost_usd", "system_prompt")  # fmt: skip
_SAID = ("role", "content", "timestamp", "tool_calls", "tool_call_id", "tool_name", "name", "id",
         "token_count", "finish_reason", "reasoning", "reasoning_details")  # fmt: skip
_MESSAGES = st.lists(
    st.builds(
        lambda base, more: base | more,
        st.just({"role": "user", "content": "x", "timestamp": 1.0}) | st.just({}),
        objects(*_SAID),
    ),
    max_size=4,
)
_SESSIONS = st.builds(
    lambda base, more, said: base | more | {"messages": said},
    st.fixed_dictionaries({"id": st.sampled_from("abc"), "started_at": st.just(1.0)}),
    objects(*_COLUMNS),
    _MESSAGES | TREES,
)
_LINES = st.lists(_SESSIONS.map(as_line) | TREES.map(as_line) | TEXTS, max_size=4)


@thorough(100)
@given(_LINES, st.booleans())
@example([NESTED[0]], True)
@example(['{"id": "a", "started_at": 1, "messages": [], "x": ' + NESTED[2] + "}"], True)
@example(['{"id": "a", "started_at": 1, "model_config": ' + NESTED[3] + ', "messages": []}'], True)
def test_fuzz_imports(tmp_path: Path, lines: list[str], ended: bool) -> None:
    first = '{"id": "first", "started_at": 1, "messages": []}'
    file = tmp_path / "in.jsonl"
    content = "\n".join([first, *lines]) + "\n" * ended
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    path = tmp_path / "state.db"
    for each in tmp_path.glob("state.db*"):
        each.unlink()
    with SessionDB(path, synchronous="NORMAL") as db:
        report = db.store.transfer.import_file(file)
        assert db.store.sessions.get("first")
        for done in report.sessions:
            assert done.outcome is not Outcome.SKIPPED or (done.note or "").endswith(".")
        count = db.message_count()
        again = db.store.transfer.import_file(file)
        assert again.count(Outcome.ADDED) == 0
        assert db.message_count() == count
        for kind in ("jsonl", "markdown", "html"):
            db.store.transfer.export(io.StringIO(), kind)
    assert is_whole(path)


# -- no script in a page -----------------------------------------------------------------------


class _Page(HTMLParser):
    """Fails on anything that could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object", "embed", "svg", "img", "form", "base")
        for name, value in attrs:
            assert not name.startswith("on"), name
            if tag == "meta":
                continue
            assert "javascript:" not in (value or "").lower()
            if name == "href":
                assert (value or "").startswith("#s")


@thorough(60)
@given(st.lists(st.tuples(TEXTS, TREES, TREES), min_size=1, max_size=3), TEXTS, TREES)
def test_fuzz_pages(
    tmp_path: Path, said: list[tuple[str, Any, Any]], text: str, config: Any
) -> None:
    for each in tmp_path.glob("state.db*"):
        each.unlink()
    with SessionDB(tmp_path / "state.db", synchronous="NORMAL") as db:
        db.create_session(text or "a", text or "cli", model=text, system_prompt=text)
        session_id = db.list_sessions_rich(limit=1)[0]["id"] if text else "a"
        db.create_session("b", "cli", parent_session_id=session_id)
        for role, content, calls in said:
            try:
                db.append_message(
                    session_id, role or "user", content, tool_name=role, tool_calls=calls,
                    reasoning=text, reasoning_details=config,
                )  # fmt: skip
            except InvalidInput as error:
                assert str(error).endswith(".")
        with db._db.write() as tx:
            tx.run("UPDATE sessions SET title = id || ?, end_reason = ?, ended_at = ?", (text,) * 3)
        for ids in (None, [session_id]):
            for redact in (False, True):
                page = io.StringIO()
                db.store.transfer.export(page, "html", ids, redact=redact)
                _Page(page.getvalue())


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_is_parsed_as_a_browser_would(db: SessionDB, text: str) -> None:
    with pytest.raises(AssertionError):
        _Page(f"<script>{text}</script>")
    db.create_session("a", text)
    db.append_message("a", text, [{"type": "text", "text": text}, {"type": text}, text])
    page = io.StringIO()
    db.store.transfer.export(page, "html")
    _Page(page.getvalue())


# -- lines that are too long -------------------------------------------------------------------


def test_a_line_beyond_the_limit_refuses_the_file(
    db: SessionDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"id": "a", "started_at": 1, "messages": []}\n'
    monkeypatch.setattr(import_file, "MAX_LINE", len(line))
    (tmp_path / "in.jsonl").write_text(line + line.replace("a", "bb", 1))
    with pytest.raises(BadFile, match=r"Line 2 of .*in\.jsonl is longer than 0 MB.*\."):
        db.store.transfer.import_file(tmp_path / "in.jsonl")
    assert db.session_count() == 0
    (tmp_path / "in.jsonl").write_text(line + line.replace("a", "b", 1))
    assert db.store.transfer.import_file(tmp_path / "in.jsonl").count(Outcome.ADDED) == 2


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", ".companion", ".companion-wal"])
def test_an_export_never_replaces_the_store(db: SessionDB, path: Path, ending: str) -> None:
    db.create_session("a", "cli")
    db.store.trash.delete_conversation("a", force=True)
    own = path.with_name(path.name + ending)
    before = own.read_bytes()
    with pytest.raises(StoreError, match="part of the session database"):
        db.store.transfer.export_file(own)
    assert own.read_bytes() == before
