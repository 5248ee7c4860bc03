"""A deletion that was broken off in the middle of a long session: no message of it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import Store
from tests.support import LONG_AGO

MESSAGES = 2_500
"""More than two of the transactions in which a long session is deleted."""


@pytest.fixture
def broken_off(path: Path) -> Path:
    """A store in which the deletion of `long` was interrupted after its first transaction."""

    def interrupt(what: str, _done: int, _total: int) -> None:
        if what == "Deleting":
            raise KeyboardInterrupt

    with Store(path, synchronous="NORMAL") as store:
        store.sessions.start("long", "cli", started_at=LONG_AGO)
        with store.database.write():
            for number in range(MESSAGES):
                said = {"role": "user", "content": f"m{number}"}
                store.messages.append("long", said, LONG_AGO + number)
        store.sessions.end("long", "user_exit")
        with pytest.raises(KeyboardInterrupt):
            store.trash.delete(["long"], progress=interrupt)
    return path


def _said(store: Store) -> list[str]:
    return [str(each.content) for each in store.messages.of("long")]


ALL = [f"m{number}" for number in range(MESSAGES)]


def test_restoring_it_brings_everything_back(broken_off: Path) -> None:
    with Store(broken_off) as store:
        if store.trash.list():
            store.trash.restore("long")
        assert _said(store) == ALL


def test_deleting_it_again_loses_nothing(broken_off: Path) -> None:
    with Store(broken_off) as store:
        store.trash.delete(["long"])
        assert [batch.messages for batch in store.trash.list()] == [MESSAGES]
        store.trash.restore()
        assert _said(store) == ALL
        assert store.trash.list() == ()


def test_emptying_the_trash_does_not_shorten_a_listed_session(broken_off: Path) -> None:
    with Store(broken_off) as store:
        store.trash.empty()
        if store.sessions.count():
            assert _said(store) == ALL
