"""Slash commands: how they are read, and what those that change the conversation do to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.config.settings import Config
from hermes_store.errors import InvalidInput, SessionInUse
from hermes_store.records.message import SUMMARY_MARK
from hermes_tui.chat import slash_syntax, summaries
from hermes_tui.chat.provider import NotAuthorised, Provider
from hermes_tui.chat.slash_syntax import Spoken
from hermes_tui.chat.summaries import compression_summary
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import TroubleServer, refuses
from tests.chat.talking import START, asked_by_chat, is_valid, talk
from tests.support import add

# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("/title", Spoken("title", "")),
        ("  /title  my own  ", Spoken("title", "my own")),
        ("/TITLE My Own", Spoken("title", "My Own")),
        ("/exit", Spoken("quit", "")),
        ("/compact", Spoken("compress", "")),
        ("/search \"out of memory\" OR 'x'", Spoken("search", "\"out of memory\" OR 'x'")),
        ("hello", None),
        ("what does /title do?", None),
        ("/etc/hosts is empty", None),
        ("/", None),
        ("/ title", None),
        ("/title\nof several lines", None),
    ],
)
def test_what_is_a_command(text: str, spoken: Spoken | None) -> None:
    assert slash_syntax.parse(text) == spoken


@pytest.mark.parametrize(
    ("text", "hint"), [("/titel x", "Did you mean /title?"), ("/zzz", "/help shows all commands.")]
)
def test_one_that_does_not_exist(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint.replace("?", r"\?")):
        slash_syntax.parse(text)


@given(st.text(max_size=20))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        spoken = slash_syntax.parse(text)
    except InvalidInput as error:
        assert text.strip().startswith("/")
        assert "Unknown command" in str(error)
    else:
        assert spoken is None or spoken.name in slash_syntax.BY_NAME


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/", [command.name for command in slash_syntax.COMMANDS]),
        ("/re", ["resume", "retry"]),
        ("/TI", ["title"]),
        ("/title", ["title"]),
        ("/title ", []),
        ("re", []),
        ("/re\n", []),
        ("", []),
    ],
)
def test_what_a_beginning_may_become(text: str, names: list[str]) -> None:
    assert [command.name for command in slash_syntax.matching(text)] == names


def test_every_other_name_leads_to_a_command() -> None:
    assert set(slash_syntax.ALIASES.values()) <= set(slash_syntax.BY_NAME)
    assert not set(slash_syntax.ALIASES) & set(slash_syntax.BY_NAME)


# -- compressing -------------------------------------------------------------------------------


def short(keep: int) -> Config:
    """Return settings that keep only some last messages."""
    config = Config()
    return replace(config, compression=replace(config.compression, protect_last_n=keep))


def test_compressing_goes_on_in_a_continuation(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server, config=short(2)) as chat:
        chat.set_title("my project")
        for text in ("how do I search?", "how do I export?", "how do I prune?"):
            chat.tell(text)
        before, all_said = chat.here, chat.said()
        continued = chat.compress()
        assert chat.here == continued.id != before
        assert continued.title == chat.title() == "my project #2"
        assert continued.parent_session_id == before
        old = chat.store.sessions.get(before)
        assert (old.title, old.end_reason) == ("my project", "compression")
        (role, summary), *kept = chat.said()
        assert role == "user" and summary.startswith(SUMMARY_MARK)
        assert kept == all_said[-2:]
        assert len(chat.store.messages.as_dictionaries(before)) == 6

        chat.tell("and then?")
        request = asked_by_chat(server)[-1]["messages"]
        assert [message["content"] for message in request[1:]] == [
            summary, *(content.strip() for _, content in kept), "and then?"
        ]  # fmt: skip
        assert is_valid(request)
        chat.end("cli_close")
        assert chat.store.sessions.get(continued.id).end_reason == "cli_close"
        assert chat.store.sessions.get(before).end_reason == "compression"
        assert chat.store.sessions.find_to_resume("my project").id == continued.id


def test_a_continuation_is_ended_on_leaving(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.tell("how do I search?")
        continued = chat.compress()
        chat.end("cli_close")
        assert chat.store.sessions.get(continued.id).ended_at is not None


def test_twice_gives_the_third_number(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("my project")
        for title in ("my project #2", "my project #3"):
            chat.tell("how do I search?")
            assert chat.compress().title == title


def test_what_others_say_meanwhile_goes_along(
    path: Path, db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands before is in the summary, what comes while it is made in the last turns."""
    summarised: list[list[Any]] = []

    def summarise(provider: Provider, history: Sequence[Mapping[str, Any]]) -> str:
        summarised.append([message["content"] for message in history])
        for number in range(4):
            db.append_message(chat.here, "user", f"meanwhile {number}")
        return compression_summary(provider, history)

    monkeypatch.setattr(summaries, "compression_summary", summarise)
    with DemoServer(delay=0) as server, talk(path, server, config=short(2)) as chat:
        chat.tell("how do I search?")
        chat.tell("how do I export?")
        db.append_message(chat.here, "user", "from another window")
        chat.compress()
        assert "from another window" in summarised[0]
        _, *kept = [content for _, content in chat.said()]
    assert kept == [f"meanwhile {number}" for number in range(4)]


def test_there_is_nothing_to_compress(db: SessionDB, path: Path) -> None:
    add(db, "empty")
    with DemoServer(delay=0) as server:
        for session_id in (None, "empty"):
            with talk(path, server, session_id) as chat, pytest.raises(InvalidInput):
                chat.compress()
        assert server.requests == []


def test_no_summary_leaves_all_as_it_was(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("my project")
        chat.tell("hello")
        before = chat.here
    with TroubleServer(refuses(401)) as server, talk(path, server, before) as chat:
        with pytest.raises(NotAuthorised):
            chat.compress()
        assert chat.here == before
        assert chat.store.sessions.count() == 1
        assert chat.store.sessions.get(before).end_reason is None


def test_of_two_that_compress_one_is_refused(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as one:
        one.tell("hello")
        one.tell("how do I search?")
        with talk(path, server, one.here) as two:
            assert two.history()
            continued = one.compress()
            with pytest.raises(SessionInUse, match=continued.id):
                two.compress()
            assert two.store.sessions.count() == 2


# -- branching ---------------------------------------------------------------------------------


def test_a_branch_goes_its_own_way(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("main")
        chat.tell("hello")
        before, said = chat.here, chat.said()
        copied = chat.branch("try it otherwise")
        assert chat.here == copied.id != before
        assert chat.said() == said
        chat.tell("how do I search?")
        assert chat.store.sessions.get(before).end_reason == "branched"
        assert len(chat.store.messages.as_dictionaries(before)) == 2
        assert [content for _, content in chat.said()][:3] == [said[0][1], said[1][1],
                                                               "how do I search?"]  # fmt: skip
        chat.end("cli_close")
        assert chat.store.sessions.get(copied.id).end_reason == "cli_close"
        assert copied.title == "try it otherwise"


def test_a_branch_without_a_name_takes_the_next_number(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("main")
        chat.tell("hello")
        assert chat.branch(None).title == "main #2"


def test_a_branch_with_a_taken_name_is_none(db: SessionDB, path: Path) -> None:
    add(db, "other", "hello", title="taken")
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        with pytest.raises(InvalidInput, match="nothing to branch"):
            chat.branch(None)
        chat.set_title("main")
        chat.tell("hello")
        before = chat.here
        with pytest.raises(InvalidInput, match="taken"):
            chat.branch("taken")
        assert chat.here == before
        assert db.store.sessions.get(before).ended_at is None


# -- taking back -------------------------------------------------------------------------------


def test_taking_back(db: SessionDB, path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        with pytest.raises(InvalidInput):
            chat.undo()
        chat.set_title("mine")
        chat.tell("hello")
        kept = chat.said()
        chat.tell("Do you remember anything about penguins?")
        assert len(chat.said()) == 6
        assert chat.undo() == 4
        assert chat.said() == kept
        chat.tell("how do I search?")
        sent = asked_by_chat(server)[-1]["messages"]
        assert [message["content"] for message in sent[1:]] == [
            kept[0][1], kept[1][1].strip(), "how do I search?"
        ]  # fmt: skip
        assert (chat.undo(), chat.undo()) == (2, 2)
        with pytest.raises(InvalidInput):
            chat.undo()
    assert db.store.sessions.get(chat.here).message_count == 0


def test_the_summary_cannot_be_taken_back(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server, config=short(0)) as chat:
        chat.tell("hello")
        chat.compress()
        said = chat.said()
        with pytest.raises(InvalidInput):
            chat.undo()
        assert chat.said() == said


# -- elsewhere ---------------------------------------------------------------------------------


def test_a_new_session(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.tell("how do I search?")
        before = chat.here
        chat.end("new_session")
        chat.move_to(None)
        assert chat.title() is None and chat.history() == []
        chat.tell("how do I export?")
        assert chat.here != before
        assert len(chat.said()) == 2
        sent = asked_by_chat(server)[-1]["messages"]
        assert [message["role"] for message in sent] == ["system", "user"]
        assert chat.store.sessions.get(before).end_reason == "new_session"
        assert chat.store.sessions.get(chat.here).ended_at is None


def test_going_on_elsewhere(db: SessionDB, path: Path) -> None:
    add(db, "old", "the old question", ended=START)
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.tell("hello")
        chat.move_to("old")
        assert [message["content"] for message in chat.history()] == ["the old question"]
        assert db.store.sessions.get("old").ended_at == START
        chat.tell("go on")
        assert db.store.sessions.get("old").ended_at is None


def test_a_queued_title_does_not_follow_into_another_session(db: SessionDB, path: Path) -> None:
    add(db, "old", "the old question", title="old title")
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("for the new one")
        chat.move_to("old")
        chat.tell("go on")
        assert chat.title() == "old title"
        chat.move_to(None)
        assert chat.title() is None
