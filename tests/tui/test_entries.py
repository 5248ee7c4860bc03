"""The packed list of ids behaves as the plain list it stands for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_store.records.listing import Entry, Heading
from hermes_tui.browse.list_ids import Entries

ids = st.one_of(
    st.from_regex(r"2026\d{4}_\d{6}_[0-9a-f]{8}", fullmatch=True),
    st.text(st.characters(), max_size=6),
    st.sampled_from(["a", "ab", "b", "", "\n", "\xff", "ÿ", "\ud800"]),
)
lists = st.lists(ids, unique=True, max_size=30)


@st.composite
def with_headings(draw: st.DrawFn) -> list[Entry]:
    entries: list[Entry] = []
    for each in draw(lists):
        entries += [Heading("day", 1)] * draw(st.integers(0, 2))
        entries.append(each)
    return entries


def check(found: Entries, plain: list[Entry]) -> None:
    assert list(found) == plain
    assert len(found) == len(plain)
    assert [found[place] for place in range(len(plain))] == plain
    assert found[2:7] == plain[2:7]
    assert not plain or found[-1] == plain[-1]
    assert found.ids == sum(isinstance(each, str) for each in plain)
    for each in plain:
        if isinstance(each, str):
            assert found.place_of(each) == plain.index(each)
            assert each in found
    assert "nowhere at all" not in found and found.place_of("nowhere at all") is None


@given(with_headings())
def test_it_is_what_it_was_made_of(plain: list[Entry]) -> None:
    check(Entries(plain), plain)


@given(lists, st.data())
def test_a_new_beginning(old: list[str], data: st.DataObject) -> None:
    """Some have moved up, some are new, some have gone."""
    moved = data.draw(st.lists(st.sampled_from(old), unique=True, max_size=4)) if old else []
    new = data.draw(st.lists(ids.filter(lambda each: each not in old), unique=True, max_size=3))
    stayed = [each for each in old if each not in moved]
    gone = data.draw(st.sets(st.integers(0, 6), max_size=2))
    kept = data.draw(st.integers(0, len(stayed)))
    head = [*new, *moved, *(each for n, each in enumerate(stayed[:kept]) if n not in gone)]
    places = [old.index(each) for each in head if each in old]
    after = old[places[-1] + 1 :] if places else old
    expected: list[Entry] = [*head, *(each for each in after if each not in head)]
    found = Entries(old).begun_with(head)
    check(found, expected)
    check(found.begun_with(head), expected)


def test_an_old_conversation_that_goes_on_leaves_the_others_where_they_are() -> None:
    old = [f"s{number:04}" for number in range(2_500)]
    found = Entries(old).begun_with([old[1_400], *old[:99]])
    check(found, [old[1_400], *old[:1_400], *old[1_401:]])
