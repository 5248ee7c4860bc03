"""Which matches come first: the strongest, then by the time of the messages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.records.search import Order, Request, Strength
from hermes_store.search import walk_messages
from hermes_store.sessions import late_messages
from tests.store.search.layouts import LAYOUTS
from tests.support import LONG_AGO, Work, add

DAY = 86_400.0


def hits(store: Store, text: str, **more: object) -> list[tuple[int, Strength]]:
    request = Request(text, relax=False, **more)  # type: ignore[arg-type]
    return [(hit.message_id, hit.strength) for hit in store.search.run(request).hits]


# -- strengths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_contains_the_text_comes_before_the_same_words(name: str, tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": text}
        for text in ("to foo@bar.com", "foo_bar com", "xfoo@bar.comx", "foo, bar; com", "foo bar")
    ]
    with LAYOUTS[name](tmp_path / "state.db", said) as store:
        result = store.search.run(Request("foo@bar.com", relax=False))
        assert [hit.message_id for hit in result.hits][-2:] == [4, 2]
        assert {hit.message_id for hit in result.hits} == {1, 2, 3, 4}
        literal = {hit.message_id for hit in result.hits if hit.strength < Strength.ROW}
        if name not in ("no index", "rebuilding", "columns, rebuilding"):
            assert literal == {1, 3}
            assert (result.messages.number, result.weaker.number) == (2, 2)


def test_whole_words_come_before_parts_of_words(db: SessionDB) -> None:
    add(db, "s", "a docker", "redocker", "docker", "dockerfile")
    whole, part = Strength.WHOLE, Strength.PART
    assert hits(db.store, "docker") == [(3, whole), (1, whole), (4, part), (2, part)]
    assert hits(db.store, "docker", order=Order.OLDEST)[:2] == [(1, whole), (3, whole)]


@pytest.mark.parametrize("listed", [False, True], ids=["as it is", "prepared"])
def test_the_last_conversation_is_on_a_page(db: SessionDB, listed: bool) -> None:
    for name in "abcdef":
        add(db, name, f"xerrorx {name}")
    if listed:
        db.store.search.prepare()
    request = Request("error", grouped=True, limit=5)
    first = db.store.search.run(request)
    assert first.next is not None and first.conversations.number == 6
    rest = db.store.search.run(replace(request, after=first.next))
    found = [group.root_id for group in (*first.groups, *rest.groups)]
    assert sorted(found) == list("abcdef") and rest.next is None


# -- time --------------------------------------------------------------------------------------


@pytest.fixture
def imported(db: SessionDB, tmp_path: Path) -> SessionDB:
    """A store with conversations of this month, into which old ones were imported."""
    add(db, "new1", "docker one", at=LONG_AGO + 100 * DAY)
    add(db, "new2", "docker two", at=LONG_AGO + 101 * DAY)
    with SessionDB(tmp_path / "old.db") as old:
        add(old, "old1", "docker long ago", at=LONG_AGO)
        add(old, "old2", "docker less long ago", "and docker again", at=LONG_AGO + 50 * DAY)
        old.store.transfer.export_file(tmp_path / "old.jsonl")
    db.store.transfer.import_file(tmp_path / "old.jsonl")
    add(db, "new3", "docker three", at=LONG_AGO + 102 * DAY)
    return db


BY_TIME = ["docker three", "docker two", "docker one", "and docker again"]
BY_TIME += ["docker less long ago", "docker long ago"]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("text", ["docker", "ocke", "docker role:user"])
def test_an_import_of_old_conversations_is_not_on_top(
    imported: SessionDB, text: str, listed: bool
) -> None:
    assert not listed or imported.store.search.prepare()
    found = imported.store.search.run(text).hits
    assert [hit.snippet.text.strip() for hit in found] == BY_TIME
    oldest = imported.store.search.run(f"{text} sort:oldest").hits
    assert [hit.snippet.text.strip() for hit in oldest] == BY_TIME[::-1]


def test_pages_of_conversations_are_in_time_too(imported: SessionDB) -> None:
    after, seen = None, []
    while True:
        request = Request("docker", grouped=True, limit=2, after=after)
        result = imported.store.search.run(request)
        seen += [group.root_id for group in result.groups]
        if result.next is None:
            break
        after = result.next
    assert seen == ["new3", "new2", "new1", "old2", "old1"]


def test_a_branch_and_an_old_time_are_noted(db: SessionDB) -> None:
    add(db, "talk", "docker first", at=LONG_AGO)
    add(db, "other", "docker later", at=LONG_AGO + 10 * DAY)
    db.store.lineage.branch("talk", new_id="copy", now=LONG_AGO + 20 * DAY)
    db.append_message("other", "user", "docker pushed", timestamp=LONG_AGO + DAY)
    times = [hit.timestamp for hit in db.store.search.run("docker").hits]
    assert times == sorted(times, reverse=True) and len(times) == 4


def test_messages_that_are_pushed_one_by_one_are_one_range(db: SessionDB) -> None:
    add(db, "now", "docker", at=LONG_AGO + 10 * DAY)
    add(db, "pushed", *["docker"] * 50, at=LONG_AGO)
    add(db, "another", *["docker"] * 50, at=LONG_AGO + DAY)
    with db._db.read() as tx:
        assert len(late_messages.ranges(tx)) <= 2


def test_very_many_ranges_become_few(db: SessionDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_messages, "MOST", 5)
    add(db, "s", "docker now", at=LONG_AGO + 1_000 * DAY)
    for number in range(30):
        db.append_message("s", "user", "docker", timestamp=LONG_AGO + (30 - number) * DAY)
    with db._db.read() as tx:
        assert 0 < len(late_messages.ranges(tx)) <= 5
    assert len(db.store.search.run(Request("docker", limit=100)).hits) == 31


@pytest.mark.sqlite("counts the work of SQLite")
def test_a_file_without_late_messages_pays_nothing(db: SessionDB) -> None:
    add(db, "s", *["docker"] * 5)
    assert db.store.search.prepare()
    with db._db.read() as tx:
        assert late_messages.ranges(tx) == []
    queries = Work(db, lambda each: each.store.search.run("docker")).queries
    assert not any(sql.startswith("SELECT timestamp FROM messages WHERE id =") for sql in queries)


@pytest.mark.parametrize("stored", ["nonsense", "{}", "[[1]]", "[[1, 2, null, 4], 7]", '[["x"]]'])
def test_a_note_that_cannot_be_read_loses_nothing(imported: SessionDB, stored: str) -> None:
    with imported._db.write() as tx:
        tx.run("UPDATE state_meta SET value = ? WHERE key = ?", (stored, late_messages.KEY))
    assert len(imported.store.search.run("docker").hits) == 6


def test_what_was_noted_and_is_gone_loses_nothing(imported: SessionDB) -> None:
    with imported._db.write() as tx:
        wrong = [[1, 3, LONG_AGO, LONG_AGO], [5, 9_000, 0, 1], [2**60, 2**61, 5, 6]]
        tx.run(
            "UPDATE state_meta SET value = ? WHERE key = ?", (json.dumps(wrong), late_messages.KEY)
        )
    assert len(imported.store.search.run("docker").hits) == 6


# -- conversations -----------------------------------------------------------------------------


def test_a_conversation_with_very_many_matches_hides_no_other(db: SessionDB) -> None:
    for number in range(5):
        add(db, f"old{number}", "docker", at=LONG_AGO + number)
    add(db, "huge", *["docker"] * 6_000, at=LONG_AGO + DAY)
    result = db.store.search.run(Request("docker", grouped=True, limit=10))
    assert [group.root_id for group in result.groups] == [
        "huge",
        *(f"old{n}" for n in range(4, -1, -1)),
    ]
    assert result.groups[0].count == 6_000
    first = db.store.search.run(Request("docker", grouped=True, limit=1))
    assert first.next is not None
    second = db.store.search.run(Request("docker", grouped=True, limit=1, after=first.next))
    assert [group.root_id for group in second.groups] == ["old4"]


@pytest.mark.parametrize("order", [Order.NEWEST, Order.OLDEST])
@pytest.mark.parametrize("text", ["docker", "ocker", "docker OR →", "foo@bar.com"])
def test_pages_follow_each_other_by_their_ends(
    db: SessionDB, text: str, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk_messages, "FIRST_READ", 7)
    for number in range(40):
        said = ("docker", "redocker → x", "foo@bar.com docker", "foo_bar com dockerize")[number % 4]
        add(db, f"s{number:02}", said, "another docker", at=LONG_AGO + 10 * number,
            title=f"docker {number}" if number in (3, 30) else None)  # fmt: skip
    whole = db.store.search.run(Request(text, order, grouped=True, limit=100, relax=False))
    seen: list[str] = []
    after = None
    while True:
        page = db.store.search.run(
            Request(text, order, grouped=True, limit=7, after=after, relax=False)
        )
        seen += [group.root_id for group in page.groups]
        if page.next is None:
            break
        after = page.next
    assert len(seen) == len(set(seen))
    assert set(seen) == {group.root_id for group in whole.groups}


# -- streams -----------------------------------------------------------------------------------


@pytest.mark.sqlite("has no list of words, so that messages must be read")
def test_a_stream_begins_with_whole_words_and_ends_complete(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.search.result_page.TELL_EVERY", 0.0)
    monkeypatch.setattr(walk_messages, "FIRST_READ", 10)
    add(db, "whole", "docker", at=LONG_AGO)
    add(db, "parts", *["redocker"] * 30, at=LONG_AGO + DAY)
    *early, last = db.store.search.stream(Request("docker", grouped=True, limit=5))
    assert [group.root_id for group in early[0].groups] == ["whole"]
    assert early[0].partial and not early[0].conversations.exact
    shares = [each.looked.share for each in early if each.looked is not None]
    assert shares == sorted(shares) and shares[-1] <= 1
    assert not last.partial and last.looked is None
    assert [group.root_id for group in last.groups] == ["whole", "parts"]
    assert last == db.store.search.run(Request("docker", grouped=True, limit=5))


def test_a_stream_that_is_left_leaves_the_connection_free(db: SessionDB) -> None:
    add(db, "s", *["redocker"] * 30)
    stream = db.store.search.stream(Request("docker"))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert len(db.store.search.run("ocker").hits) == 20
