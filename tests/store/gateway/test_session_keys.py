"""Session keys: the documented table, settings, and taking keys apart again."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_store.errors import InvalidInput
from hermes_store.gateway import ChatType, MessageSource, SessionKey, build, key_of, parse

# Any text at all, and often what could be taken for a separator or an escape.
IDS = st.text(min_size=1, max_size=20) | st.text("ab:%235A@+", min_size=1, max_size=12)
SOURCES = st.builds(
    MessageSource,
    platform=st.sampled_from(["telegram", "discord", "whatsapp", "matrix"]) | IDS,
    chat_type=st.sampled_from(list(ChatType)) | IDS,
    chat_id=st.none() | IDS,
    thread_id=st.none() | IDS,
    user_id=st.none() | IDS,
    user_id_alt=st.none() | IDS,
)


def group(**more: str) -> MessageSource:
    return MessageSource(platform="discord", **({"chat_type": "group", "chat_id": "C"} | more))


@pytest.mark.parametrize("platform", ["telegram", "discord", "whatsapp"])
def test_a_direct_chat_is_one_session(platform: str) -> None:
    for user in (None, "U"):
        source = MessageSource(platform=platform, chat_id="123", user_id=user)
        assert build(source) == f"agent:main:{platform}:dm:123"


@pytest.mark.parametrize("kind", ["group", "channel"])
def test_in_a_shared_chat_everybody_has_their_own(kind: str) -> None:
    assert build(group(chat_type=kind, user_id="U")) == f"agent:main:discord:{kind}:C:U"
    shared = build(group(chat_type=kind, user_id="U"), group_sessions_per_user=False)
    assert shared == f"agent:main:discord:{kind}:C"


def test_without_a_participant_the_room_is_shared() -> None:
    for kind in ("group", "channel"):
        assert build(group(chat_type=kind)) == f"agent:main:discord:{kind}:C"


def test_a_thread_is_shared_unless_asked_otherwise() -> None:
    source = group(thread_id="T", user_id="U")
    assert build(source) == "agent:main:discord:group:C:T"
    apart = build(source, thread_sessions_per_user=True)
    assert apart == "agent:main:discord:group:C:T:U"
    both = build(source, thread_sessions_per_user=True, group_sessions_per_user=False)
    assert both == "agent:main:discord:group:C:T"


@pytest.mark.parametrize(
    ("source", "key"),
    [
        (MessageSource(platform="telegram", chat_id="C", thread_id="T"), "telegram:dm:C:T"),
        (MessageSource(platform="telegram", user_id="U"), "telegram:dm:U"),
        (MessageSource(platform="telegram", user_id="U", thread_id="T"), "telegram:dm:U:T"),
        (MessageSource(platform="telegram"), "telegram:dm"),
        (group(user_id="U", user_id_alt="A"), "discord:group:C:A"),
        (MessageSource(platform="whatsapp", chat_id="49170:12@s.whatsapp.net"),
         "whatsapp:dm:49170"),
        (MessageSource(platform="whatsapp", chat_id="+49170"), "whatsapp:dm:49170"),
        (MessageSource(platform="whatsapp", chat_id="++12"), "whatsapp:dm:12"),
        (MessageSource(platform="whatsapp", chat_id="+ 12"), "whatsapp:dm:12"),
        (MessageSource(platform="whatsapp", chat_id=" 55 @lid"), "whatsapp:dm:55"),
        (MessageSource(platform="whatsapp", chat_type="group", chat_id="12@g.us", user_id="4@lid"),
         "whatsapp:group:12@g.us:4"),
        (MessageSource(platform="matrix", chat_type="group", chat_id="!a:b.c", user_id="@u:b.c"),
         "matrix:group:!a:b.c:@u:b.c"),
        (MessageSource(platform="matrix", chat_id="!a:b.c:8448", thread_id="$x:b.c"),
         "matrix:dm:!a:b.c:8448:$x:b.c"),
        (MessageSource(platform="whatsapp", chat_id="@lid", user_id="+4 9@lid"),
         "whatsapp:dm:4 9"),
        (MessageSource(platform="whatsapp", chat_type="group", chat_id="1@g.us", user_id="@lid"),
         "whatsapp:group:1@g.us:@lid"),
        (MessageSource(platform="sms", chat_id="100%"), "sms:dm:100%"),
    ],
)  # fmt: skip
def test_particular_keys(source: MessageSource, key: str) -> None:
    assert build(source) == f"agent:main:{key}"


PLAIN = st.text(st.characters(exclude_characters=":"), min_size=1, max_size=20)
SERVERS = st.sampled_from(["b.org", "b.org:8448", "[::1]:80", "localhost"])


def named(sign: str) -> st.SearchStrategy[str]:
    """Return ids of Matrix: a sign, a name, a server."""
    names = st.text("abcXYZ0189._=-/", min_size=1, max_size=9)
    return st.builds(lambda name, server: f"{sign}{name}:{server}", names, SERVERS)


@settings(deadline=None)
@given(st.lists(PLAIN, max_size=3), PLAIN, PLAIN, PLAIN)
def test_parse_is_the_inverse_without_colons(
    ids: list[str], platform: str, kind: str, agent: str
) -> None:
    key = SessionKey(platform, kind, tuple(ids), agent)
    assert platform == "matrix" or parse(str(key)) == key


@settings(deadline=None)
@given(named("!"), st.none() | named("$"), st.none() | named("@"))
def test_parse_puts_ids_of_matrix_together(room: str, thread: str | None, user: str | None) -> None:
    source = MessageSource(
        platform="matrix", chat_type="group", chat_id=room, thread_id=thread, user_id=user
    )
    key = key_of(source, thread_sessions_per_user=True)
    assert key.ids == tuple(each for each in (room, thread, user) if each)
    assert parse(str(key)) == key


@settings(deadline=None)
@given(st.lists(IDS, max_size=3), st.lists(IDS, max_size=3))
@example(["a:b"], ["a", "b"])
@example(["%3A"], [":"])
@example(["%253A"], ["%3A"])
def test_different_ids_had_different_keys_before(these: list[str], those: list[str]) -> None:
    """In earlier versions; sessions under such keys are found by exactly these ids."""
    one, other = (SessionKey("p", "group", tuple(ids)).with_escapes for ids in (these, those))
    assert (one == other) == (these == those)


@settings(deadline=None)
@given(st.lists(st.text(max_size=8), min_size=3, max_size=6))
def test_a_key_of_any_program_survives(parts: list[str]) -> None:
    text = ":".join(["agent", *parts])
    if all(text.split(":")[1:4]):
        assert str(parse(text)) == text
    else:
        with pytest.raises(InvalidInput):
            parse(text)


@settings(deadline=None)
@given(SOURCES)
def test_the_origin_tells_the_whole_source(source: MessageSource) -> None:
    assert MessageSource.from_origin(source.origin()) == source


@pytest.mark.parametrize("text", ["", "agent", "agent:main:telegram", "bot:main:a:b", "agent::a:b"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a session key"):
        parse(text)


def test_numbers_and_empty_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"chat_id .* must be text, not 5"):
        MessageSource(platform="telegram", chat_id=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="platform"):
        MessageSource(platform="")


def test_half_a_surrogate_pair_becomes_something_storable() -> None:
    key = build(MessageSource(platform="telegram", chat_id="a\ud800"))
    assert key.encode("utf-8").decode("utf-8") == key
