"""sessions.json and transcripts with anything in them: never a crash, nothing thrown away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store import SessionDB, Store
from hermes_store.errors import StoreError
from hermes_store.gateway import MessageSource, Outcome, SessionRouter, Transcripts
from hermes_store.gateway.transcript_repair import compare, lost_routes
from tests.fuzzing import NESTED, TEXTS, TREES, as_line, objects, thorough
from tests.store.gateway.conftest import ALICE, NOON

_KEY = "agent:main:telegram:dm:1"
_FIELDS = ("session_key", "session_id", "created_at", "updated_at", "updated_epoch", "origin",
           "reset_claimed_until", "suspended", "platform", "chat_type", "display_name")  # fmt: skip
_GOOD = st.fixed_dictionaries(
    {"session_id": st.sampled_from(["a", "b", ""]), "updated_at": st.sampled_from(
        ["2026-09-21T14:13:00", "0001-01-01", "9999-12-31T23:59:59", "soon"])},
    optional={name: TREES for name in _FIELDS[4:]},
)  # fmt: skip
_ENTRIES = st.dictionaries(
    st.sampled_from([_KEY, "_README", "agent:main:slack:dm:2"]) | TEXTS,
    _GOOD | objects(*_FIELDS) | TREES,
    max_size=4,
)


def _entry(**more: object) -> str:
    """Return a file with an entry that is due for a reset."""
    return as_line({_KEY: {"session_id": "a", "updated_at": "2026-01-01T00:00:00", **more}})


@thorough(80)
@given(_ENTRIES.map(as_line) | TREES.map(as_line) | TEXTS, st.integers(0, 30))
@example(NESTED[0], 0)
@example('{"' + _KEY + '": ' + NESTED[1], 0)
@example('{"_x": ' + NESTED[2] + "}", 0)
@example('{"' + _KEY + '": {"session_id": "a", "updated_at": "9999-12-31T23:59:59"}}', 0)
@example(_entry(updated_epoch=10**400), 0)
@example(_entry(reset_claimed_until=10**400), 0)
@example(_entry(reset_claimed_until=1e308), 0)
@example(_entry(reset_claimed_until=NOON * 2), 0)
@example(_entry(reset_claimed_until=float("nan")), 0)
def test_fuzz_sessions_json(tmp_path: Path, text: str, cut: int) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir(exist_ok=True)
    for each in folder.iterdir():
        each.unlink()
    content = text.encode("utf-8", "surrogatepass")
    content = content[: len(content) - cut] if cut < 10 else content
    (folder / "sessions.json").write_bytes(content)
    with Store(tmp_path / "state.db", synchronous="NORMAL") as store:
        store.sessions.start("a", "telegram", started_at=1.0)
        store.sessions.reopen("a")
        with store.database.read() as tx:
            lost_routes(tx, folder)
        router = SessionRouter(
            store, clock=lambda: NOON, on_before_reset=lambda _session, _reason: None
        )
        routed = router.incoming(ALICE, "hi")
        assert routed.outcome is not Outcome.COMMAND
        assert router.incoming(ALICE, "hi").session_id == routed.session_id
    found = json.loads((folder / "sessions.json").read_bytes())
    assert found[_KEY]["session_id"] == routed.session_id
    kept = [path.read_bytes() for path in folder.glob("sessions.json.damaged-*")]
    assert kept in ([], [content])


_MESSAGES = objects("role", "content", "timestamp", "tool_calls", "name", "model", "platform")
_LINES = st.lists(
    st.one_of(
        _MESSAGES.map(as_line),
        st.just('{"role": "user", "content": "said", "timestamp": "2026-01-01T00:00:00"}'),
        st.just('{"role": "session_meta", "timestamp": "2026-01-01T00:00:00"}'),
        TREES.map(as_line),
        TEXTS,
    ),
    max_size=5,
)


@thorough(80)
@given(_LINES, st.sampled_from(["\n", "\r\n", "\n\n", "\r"]), st.booleans())
@example([NESTED[0]], "\n", True)
@example([NESTED[2]], "\n", False)
def test_fuzz_transcripts(tmp_path: Path, lines: list[str], between: str, ended: bool) -> None:
    content = (between.join(lines) + between * ended).encode("utf-8", "surrogatepass")
    with SessionDB(tmp_path / "state.db", synchronous="NORMAL") as db:
        db.create_session("a", "telegram")
        db.replace_messages("a", [{"role": "user", "content": "said"}])
        path = tmp_path / "sessions" / "a.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with db.store.database.read() as tx:
            compare(tx, path)
        transcripts = Transcripts(path.parent)
        before = transcripts.read("a")
        transcripts.catch_up(db.store.database, "a")
        after = transcripts.read("a")
        whole = content.rpartition(b"\n")[0]
        assert path.read_bytes().startswith(whole)
        assert after.torn is None
        assert after.messages[: len(before.messages)] == before.messages
        try:
            db.store.transfer.import_file(path)
        except StoreError as error:
            assert str(error).endswith(".")


@thorough(60)
@given(TEXTS)
def test_fuzz_title_command(db: SessionDB, router: SessionRouter, text: str) -> None:
    router.incoming(ALICE, "hi")
    routed = router.incoming(ALICE, f"/title {text}")
    if routed.outcome is Outcome.COMMAND:
        assert routed.reply


@thorough(60)
@given(
    objects("platform", "chat_type", "chat_id", "user_id", "thread_id", "chat_name", "user_name")
)
def test_fuzz_sources(db: SessionDB, router: SessionRouter, origin: dict[str, object]) -> None:
    try:
        source = MessageSource.from_origin(origin, platform="telegram")
        routed = router.incoming(source, "hi")
    except StoreError as error:
        assert str(error)
    else:
        assert router.incoming(source, "again").session_id == routed.session_id


@pytest.mark.parametrize("name", ["a" * 300, "\ud800"])
def test_names_that_no_file_can_have(db: SessionDB, folder: Path, name: str) -> None:
    db.create_session(name, "telegram")
    with pytest.raises(StoreError):
        Transcripts(folder).catch_up(db.store.database, name)
