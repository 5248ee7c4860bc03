"""The front of the gateway: sessions begun, continued, taken up again and begun anew."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_store import Edge, SessionDB
from hermes_store.config.settings import Config, GatewayConfig, ResetPolicy, parse
from hermes_store.gateway import (
    MessageSource,
    Outcome,
    ResetReason,
    SessionRouter,
    build,
    key_of,
    open_sessions,
    previous_session_id,
)
from hermes_store.records.session import Session
from tests.store import newer
from tests.store.gateway.conftest import ALICE, BOB, NOON, Clock, forget_routes, live_sessions

DAY = 86_400.0


def test_a_key_has_one_session(router: SessionRouter, clock: Clock) -> None:
    first = router.incoming(ALICE, "hello")
    assert first.outcome is Outcome.CREATED
    for minutes in (0, 1, 30, 200):
        clock.now = NOON + minutes * 60
        again = router.incoming(ALICE, "hello")
        assert again.outcome in (Outcome.CONTINUED, Outcome.RESUMED)
    assert again.session_id == first.session_id
    assert router.incoming(BOB).session_id != first.session_id


@pytest.mark.parametrize("chat_id", ["9" * 60_000, "%_*?[" * 12_000, 'a"b\\c%'])
def test_any_chat_id_has_one_session(
    db: SessionDB, router: SessionRouter, folder: Path, chat_id: str
) -> None:
    router.incoming(BOB)
    source = MessageSource(platform="telegram", chat_id=chat_id, user_id="alice")
    first = router.incoming(source)
    # Without the routing file, only the database knows the session of a chat.
    forget_routes(db, folder)
    again = SessionRouter(db.store, clock=lambda: NOON).incoming(source)
    assert again.outcome in (Outcome.CONTINUED, Outcome.RESUMED)
    assert again.session_id == first.session_id


def test_a_session_knows_where_it_came_from(db: SessionDB, router: SessionRouter) -> None:
    session = router.incoming(ALICE).session
    assert session is not None
    assert (session.source, session.user_id, session.started_at) == ("telegram", "alice", NOON)
    assert session.parent_session_id is None
    assert [each.tip.id for each in db.store.lists.conversations()] == [session.id]


def test_idle_conversations_begin_anew_and_are_linked(
    db: SessionDB, router: SessionRouter, clock: Clock
) -> None:
    first = router.incoming(ALICE)
    clock.now += DAY + 1
    second = router.incoming(ALICE)
    assert (second.outcome, second.reset_reason) == (Outcome.RESET, ResetReason.IDLE)
    assert second.previous_id == first.session_id
    ended = db.store.sessions.get(first.session_id)
    assert (ended.end_reason, ended.ended_at) == ("session_reset", clock.now)
    assert second.session is not None
    assert previous_session_id(second.session) == first.session_id
    # Both stand in the list: the new one is no part of the old one.
    assert len(db.store.lists.conversations()) == 2
    assert live_sessions(db) == [second.session_id]
    assert router.incoming(ALICE).session_id == second.session_id


def test_the_daily_hour_in_the_zone_of_the_settings(db: SessionDB, clock: Clock) -> None:
    config = GatewayConfig(session_reset=ResetPolicy(mode="daily", at_hour=17), timezone="Etc/UTC")
    router = SessionRouter(db.store, config, clock=clock)
    first = router.incoming(ALICE)  # 14:13
    clock.now = NOON + 2 * 3600
    assert router.incoming(ALICE).session_id == first.session_id
    clock.now = NOON + 3 * 3600
    assert router.incoming(ALICE).reset_reason is ResetReason.DAILY


def test_policies_by_platform_and_kind(db: SessionDB, clock: Clock) -> None:
    text = (
        "group_sessions_per_user: true\nsession_reset: {mode: none}\n"
        "gateway:\n  reset_by_type: {group: {mode: idle, idle_minutes: 5}}\n"
        "  reset_by_platform: {sms: {mode: idle, idle_minutes: 1}}\n"
    )
    router = SessionRouter(db.store, parse(text, Path("config.yaml")), clock=clock)
    sms = MessageSource(platform="sms", chat_id="1")
    for source in (ALICE, BOB, sms):
        router.incoming(source)
    clock.now += 90
    found = [router.incoming(source).outcome for source in (ALICE, BOB, sms)]
    assert found == [Outcome.CONTINUED, Outcome.CONTINUED, Outcome.RESET]
    clock.now += 301
    assert router.incoming(BOB).outcome is Outcome.RESET
    clock.now += 400 * DAY
    assert router.incoming(ALICE).outcome is Outcome.CONTINUED


def test_settings_change_who_shares(db: SessionDB) -> None:
    shared = SessionRouter(db.store, Config(gateway=GatewayConfig(group_sessions_per_user=False)))
    carol = MessageSource(platform="discord", chat_type="group", chat_id="9:9", user_id="carol")
    assert shared.incoming(BOB).session_id == shared.incoming(carol).session_id
    apart = SessionRouter(db.store)
    assert apart.incoming(BOB).session_id != apart.incoming(carol).session_id


def test_what_was_said_counts_as_activity(
    db: SessionDB, router: SessionRouter, clock: Clock
) -> None:
    """sessions.json lags behind; another process may have saved messages meanwhile."""
    first = router.incoming(ALICE)
    db.append_message(first.session_id, "assistant", "a late answer", timestamp=NOON + 20 * 3600)
    # Over a day after the message, but within the idle time of the answer, and before 4 o'clock.
    clock.now = NOON + DAY + 60
    policy = GatewayConfig(session_reset=ResetPolicy(mode="idle", idle_minutes=1440))
    again = SessionRouter(db.store, policy, clock=clock).incoming(ALICE)
    assert again.outcome in (Outcome.CONTINUED, Outcome.RESUMED)
    assert again.session_id == first.session_id


def test_background_work_keeps_a_session(db: SessionDB, clock: Clock) -> None:
    busy = {"now": True}
    router = SessionRouter(db.store, has_background_work=lambda _: busy["now"], clock=clock)
    first = router.incoming(ALICE)
    clock.now += 30 * DAY
    assert router.incoming(ALICE).session_id == first.session_id
    busy["now"] = False
    clock.now += 30 * DAY
    assert router.incoming(ALICE).outcome is Outcome.RESET


def test_a_clock_that_was_set_back_resets_nothing(
    db: SessionDB, router: SessionRouter, clock: Clock
) -> None:
    first = router.incoming(ALICE)
    router.save(first, "user", "from the future")
    clock.now -= 400 * DAY
    assert router.incoming(ALICE).session_id == first.session_id
    # And the wrong moments do not keep it alive for years either.
    clock.now += 2 * DAY
    assert router.incoming(ALICE).outcome is Outcome.RESET


# -- before a reset ------------------------------------------------------------------------------


def test_the_owner_gets_one_call_before_a_reset(db: SessionDB, clock: Clock) -> None:
    calls: list[tuple[str, ResetReason, bool]] = []

    def remember(session: Session, reason: ResetReason) -> None:
        calls.append((session.id, reason, db.store.sessions.get(session.id).ended_at is None))
        db.append_message(session.id, "assistant", "I noted that.", timestamp=clock.now)

    router = SessionRouter(db.store, on_before_reset=remember, clock=clock)
    first = router.incoming(ALICE)
    for _ in range(3):
        router.incoming(ALICE)
    assert calls == []
    clock.now += 2 * DAY
    second = router.incoming(ALICE)
    router.incoming(ALICE)
    assert calls == [(first.session_id, ResetReason.IDLE, True)]
    assert second.outcome is Outcome.RESET
    clock.now += 2 * DAY
    router.incoming(ALICE)
    assert [call[0] for call in calls] == [first.session_id, second.session_id]


def test_a_call_that_fails_does_not_hold_up_the_reset(
    db: SessionDB, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(session: Session, reason: ResetReason) -> None:
        raise OSError("no room for memories")

    router = SessionRouter(db.store, on_before_reset=fail, clock=clock)
    router.incoming(ALICE)
    clock.now += 2 * DAY
    with caplog.at_level(logging.WARNING):
        assert router.incoming(ALICE).outcome is Outcome.RESET
    assert "no room for memories" in caplog.text


def test_a_call_that_hangs_is_left_behind(db: SessionDB, clock: Clock) -> None:
    let_go = threading.Event()
    config = GatewayConfig(before_reset_seconds=0)
    router = SessionRouter(
        db.store, config, on_before_reset=lambda _session, _reason: let_go.wait(), clock=clock
    )
    router.incoming(ALICE)
    clock.now += 2 * DAY
    try:
        assert router.incoming(ALICE).outcome is Outcome.RESET
    finally:
        let_go.set()


def test_messages_during_the_call_wait_for_the_new_session(db: SessionDB, clock: Clock) -> None:
    entered, let_go = threading.Event(), threading.Event()
    calls = []

    def remember(session: Session, reason: ResetReason) -> None:
        calls.append(session.id)
        entered.set()
        let_go.wait(30)

    router = SessionRouter(db.store, on_before_reset=remember, clock=clock)
    router.incoming(ALICE)
    clock.now += 2 * DAY
    found: list[str] = []
    askers = [
        threading.Thread(target=lambda: found.append(router.incoming(ALICE).session_id))
        for _ in range(3)
    ]
    for asker in askers:
        asker.start()
    assert entered.wait(30)
    # Other conversations go on meanwhile.
    assert router.incoming(BOB).outcome is Outcome.CREATED
    assert found == []
    let_go.set()
    for asker in askers:
        asker.join(30)
    assert len(found) == 3
    assert len(set(found)) == 1
    assert len(calls) == 1


# -- sessions that others ended, deleted or compressed ------------------------------------------


def test_a_deleted_session_is_replaced(db: SessionDB, router: SessionRouter, folder: Path) -> None:
    first = router.incoming(ALICE)
    assert db.delete_session(first.session_id, sessions_dir=folder)
    second = router.incoming(ALICE)
    assert (second.outcome, second.previous_id) == (Outcome.CREATED, None)
    assert second.session_id != first.session_id
    route = router._routes.get(build(ALICE))
    assert route is not None and route.session_id == second.session_id


@pytest.mark.parametrize("reason", ["cli_close", "user_exit", "resumed_other", "agent_close"])
def test_a_session_that_another_program_ended_is_taken_up(
    db: SessionDB, router: SessionRouter, reason: str
) -> None:
    first = router.incoming(ALICE)
    db.end_session(first.session_id, reason)
    again = router.incoming(ALICE)
    assert again.session_id == first.session_id
    assert db.store.sessions.get(first.session_id).ended_at is None


@pytest.mark.parametrize("reason", ["session_reset", "new_session"])
def test_a_session_that_was_left_on_purpose_is_not(
    db: SessionDB, router: SessionRouter, reason: str
) -> None:
    first = router.incoming(ALICE)
    db.end_session(first.session_id, reason)
    second = router.incoming(ALICE)
    assert (second.outcome, second.previous_id) == (Outcome.CREATED, first.session_id)
    assert db.store.sessions.get(first.session_id).end_reason == reason


def test_a_compressed_session_goes_on_in_its_continuation(
    db: SessionDB, router: SessionRouter, clock: Clock, folder: Path
) -> None:
    first = router.incoming(ALICE)
    with db.store.database.write() as tx:
        tx.run(
            "UPDATE sessions SET ended_at = ?, end_reason = 'compression' WHERE id = ?",
            (NOON + 1, first.session_id),
        )
    db.store.sessions.start("tip", "telegram", parent_session_id=first.session_id,
                     edge=Edge.COMPRESSION, started_at=NOON + 2)  # fmt: skip
    clock.now += 60
    assert router.incoming(ALICE).session_id == "tip"
    assert router.incoming(ALICE).session_id == "tip"
    forget_routes(db, folder)
    assert router.incoming(ALICE).session_id == "tip"


@pytest.mark.sqlite("on a server, routes are in a table")
def test_keys_of_hermes_with_colons_are_found(
    db: SessionDB, router: SessionRouter, folder: Path
) -> None:
    room = MessageSource(platform="matrix", chat_type="group", chat_id="!a:b.c", user_id="@u:b.c")
    db.store.sessions.start("theirs", "matrix", started_at=NOON - 5)
    key = "agent:main:matrix:group:!a:b.c:@u:b.c"
    entry = {"session_key": key, "session_id": "theirs", "updated_at": "2026-09-21T14:13:00"}
    folder.mkdir()
    (folder / "sessions.json").write_text(json.dumps({key: entry}))
    found = router.incoming(room)
    assert (found.session_id, found.key) == ("theirs", key)
    assert list(json.loads((folder / "sessions.json").read_text())) == [key]


@pytest.mark.sqlite("on a server, routes are in a table")
def test_keys_of_earlier_versions_are_found_and_renamed(
    db: SessionDB, router: SessionRouter, folder: Path
) -> None:
    room = MessageSource(platform="matrix", chat_type="group", chat_id="!a:b.c", user_id="@u:b.c")
    key, before = (
        "agent:main:matrix:group:!a:b.c:@u:b.c",
        "agent:main:matrix:group:!a%3Ab.c:@u%3Ab.c",
    )
    db.store.sessions.start("old", "matrix", started_at=NOON - 5)
    entry = {"session_key": before, "session_id": "old", "updated_at": "2026-09-21T14:13:00",
             "their_own": 7}  # fmt: skip
    folder.mkdir()
    (folder / "sessions.json").write_text(json.dumps({before: entry}))
    assert router.incoming(room, "/title mine").reply
    assert db.get_session_title("old") == "mine"
    found = router.incoming(room)
    assert (found.session_id, found.key) == ("old", key)
    (kept,) = json.loads((folder / "sessions.json").read_text()).items()
    assert kept[0] == kept[1]["session_key"] == key
    assert kept[1]["their_own"] == 7


def test_keys_of_earlier_versions_are_found_in_the_database(
    db: SessionDB, router: SessionRouter
) -> None:
    room = MessageSource(platform="matrix", chat_type="group", chat_id="!a:b.c", user_id="@u:b.c")
    before = key_of(room).with_escapes
    with db.store.database.write() as tx:
        old = open_sessions.begin(tx, before, room, NOON - 5)
    assert router.incoming(room).session_id == old.id


def test_all_names_of_a_person_on_whatsapp_are_one_key(
    db: SessionDB, router: SessionRouter, path: Path
) -> None:
    """As the files of Hermes Agent's bridge say."""
    phone = MessageSource(platform="whatsapp", chat_id="4917012345@s.whatsapp.net")
    other = MessageSource(platform="whatsapp", chat_id="99887766554433:3@lid")
    assert router.incoming(phone).session_id != router.incoming(other).session_id
    bridge = path.parent / "whatsapp" / "session"
    bridge.mkdir(parents=True)
    (bridge / "lid-mapping-99887766554433_reverse.json").write_text('"4917012345"')
    (bridge / "lid-mapping-4917012345.json").write_text("99887766554433")
    assert router.incoming(phone).session_id == router.incoming(other).session_id
    assert router.incoming(other).key == "agent:main:whatsapp:dm:4917012345"


def test_a_file_of_a_newer_hermes_gets_its_columns(tmp_path: Path) -> None:
    newer.make(tmp_path / "state.db")
    with SessionDB(tmp_path / "state.db") as db:
        with db.store.database.write() as tx:
            for name in ("session_key", "chat_id", "chat_type", "thread_id", "origin_json"):
                tx.run(f"ALTER TABLE sessions ADD COLUMN {name} TEXT")
        router = SessionRouter(db.store)
        found = router.incoming(BOB)
        with db.store.database.read() as tx:
            row = tx.one(
                "SELECT session_key, chat_id, chat_type, origin_json FROM sessions WHERE id = ?",
                (found.session_id,),
            )
        assert row is not None
        assert row[:3] == (build(BOB), "9:9", "group")
        assert json.loads(row[3]) == BOB.origin()
        (tmp_path / "sessions" / "sessions.json").unlink()
        assert router.incoming(BOB).session_id == found.session_id


# -- /title --------------------------------------------------------------------------------------


def titled(router: SessionRouter, text: str, source: MessageSource = ALICE) -> str:
    found = router.incoming(source, text)
    assert found.outcome is Outcome.COMMAND
    return str(found.reply)


def test_a_title_waits_until_its_session_exists(db: SessionDB, router: SessionRouter) -> None:
    assert "'My Research'" in titled(router, "/title  My\tResearch ")
    assert db.session_count() == 0
    assert "will be called 'My Research'" in titled(router, "/title")
    # Another process begins the session.
    session = SessionRouter(db.store).incoming(ALICE, "hello").session
    assert session is not None
    assert session.title == "My Research"
    assert "is called 'My Research'" in titled(router, "/title")


def test_a_title_is_given_at_once_to_a_session_that_exists(
    db: SessionDB, router: SessionRouter
) -> None:
    session_id = router.incoming(BOB).session_id
    assert "no title yet" in titled(router, "/title", BOB)
    assert "'部署 plan'" in titled(router, "/TITLE@my_bot 部署 plan", BOB)
    assert db.store.sessions.get(session_id).title == "部署 plan"


def test_titles_that_cannot_be_given_are_answered(db: SessionDB, router: SessionRouter) -> None:
    db.store.sessions.start("other", "cli")
    db.store.sessions.rename("other", "taken")
    assert "in use by session other" in titled(router, "/title taken")
    assert "at most 100" in titled(router, "/title " + "x" * 101)
    router.incoming(ALICE)
    assert "in use by session other" in titled(router, "/title taken")
    assert db.session_count() == 2


def test_a_waiting_title_that_was_taken_meanwhile_gets_a_number(
    db: SessionDB, router: SessionRouter
) -> None:
    titled(router, "/title plan")
    db.store.sessions.start("other", "cli")
    db.store.sessions.rename("other", "plan")
    session = router.incoming(ALICE).session
    assert session is not None
    assert session.title == "plan #2"


def test_a_title_after_a_long_pause_is_for_the_new_conversation(
    db: SessionDB, router: SessionRouter, clock: Clock
) -> None:
    first = router.incoming(ALICE)
    clock.now += 2 * DAY
    titled(router, "/title fresh start")
    second = router.incoming(ALICE)
    assert (second.outcome, second.session and second.session.title) == (
        Outcome.RESET,
        "fresh start",
    )
    assert db.store.sessions.get(first.session_id).title is None


@pytest.mark.parametrize("text", ["/titles x", "say /title x", "/title_x", "title x", ""])
def test_other_messages_are_no_title(router: SessionRouter, text: str) -> None:
    assert router.incoming(ALICE, text).outcome is not Outcome.COMMAND


# -- saving --------------------------------------------------------------------------------------


def test_messages_are_saved_twice(db: SessionDB, router: SessionRouter) -> None:
    found = router.incoming(ALICE)
    calls: list[dict[str, Any]] = [{"id": "c1", "function": {"name": "terminal"}}]
    router.save(found, "user", "List the files. 部署")
    router.save(found, "assistant", None, tool_calls=calls, reasoning="Look.")
    router.save(found, "tool", "a\nb", tool_name="terminal", tool_call_id="c1")
    said = db.store.messages.of(found.session_id)
    assert [each.role for each in said] == ["user", "assistant", "tool"]
    written = router.transcripts.read(found.session_id)
    assert written.meta is not None
    assert written.meta["platform"] == "telegram"
    assert [each["content"] for each in written.messages] == [each.content for each in said]
    assert written.messages[1]["tool_calls"] == calls
    assert (written.messages[2]["name"], written.messages[1]["reasoning"]) == ("terminal", "Look.")
