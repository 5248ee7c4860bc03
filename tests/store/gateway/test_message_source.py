"""The 22 sources of the documents, known by name, label and short form wherever they appear."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import View
from hermes_store.records.prune import PruneFilter
from hermes_store.records.sources import KNOWN, describe, known_name
from tests.cli.command import hermes
from tests.support import LONG_AGO, add

# The table of the documents, in its order.
NAMES = [
    "cli", "telegram", "discord", "slack", "whatsapp", "signal", "matrix", "mattermost", "email",
    "sms", "dingtalk", "feishu", "wecom", "weixin", "bluebubbles", "qqbot", "homeassistant",
    "webhook", "api-server", "acp", "cron", "batch",
]  # fmt: skip


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A home with an untitled session of each source, and one of a source that nobody knows."""
    with SessionDB(tmp_path / "state.db") as db:
        for name in (*NAMES, "carrier-pigeon"):
            add(db, f"s-{name}", f"said on {name}", source=name)
    return tmp_path


def test_all_are_known_by_three_names() -> None:
    assert list(KNOWN) == NAMES
    shorts = [source.short for source in KNOWN.values()]
    labels = [source.label for source in KNOWN.values()]
    assert len(set(shorts)) == len(set(labels)) == 22
    assert all(0 < len(short) <= 5 for short in shorts)
    for source in KNOWN.values():
        for typed in (source.name, source.short, source.label, source.label.upper()):
            assert known_name(f" {typed} ") == source.name


def test_an_unknown_source_passes_through() -> None:
    assert known_name("carrier-pigeon") == "carrier-pigeon"
    assert known_name(None) is None
    unknown = describe("carrier-pigeon")
    assert (unknown.name, unknown.label) == ("carrier-pigeon", "carrier-pigeon")


def test_the_list_has_a_column_for_them(full: Path) -> None:
    lines = hermes(full, "sessions", "list", "--limit", "0").out.splitlines()
    shown = {line.split()[-1]: line for line in lines[2:] if line.strip()}
    for name in (*NAMES, "carrier-pigeon"):
        cell = shown[f"s-{name}"].removeprefix(f"said on {name}").split("2020-")[0].strip()
        assert cell and describe(name).label.startswith(cell.removesuffix("…").rstrip())


def test_filters_take_any_of_their_names(full: Path) -> None:
    for source in (KNOWN["homeassistant"], KNOWN["api-server"], describe("carrier-pigeon")):
        for typed in (source.name, source.label):
            found = hermes(full, "sessions", "list", "--source", typed, "--json").json()
            assert [each["id"] for each in found["sessions"]] == [f"s-{source.name}"]


@pytest.mark.parametrize("name", [*NAMES, "carrier-pigeon"])
def test_a_search_can_ask_for_one(db: SessionDB, name: str) -> None:
    for each in (*NAMES, "carrier-pigeon"):
        add(db, f"s-{each}", "said", source=each)
    for typed in {name, describe(name).short if name in KNOWN else name}:
        hits = db.store.search.run(f"said source:{typed}").hits
        assert {hit.session_id for hit in hits} == {f"s-{name}"}


@pytest.mark.parametrize("typed", ["api-server", "api_server", "api", "API server"])
def test_both_spellings_of_one_are_found(tmp_path: Path, typed: str) -> None:
    """Hermes Agent writes api_server, its documents say api-server."""
    both = {"s-api-server", "s-api_server"}
    with SessionDB(tmp_path / "state.db") as db:
        for each in ("api-server", "api_server", "api"):
            add(db, f"s-{each}", "said", source=each, at=LONG_AGO, ended=LONG_AGO + 2)
        name = known_name(typed)
        assert name is not None
        assert {
            hit.session_id for hit in db.store.search.run(f'said source:"{typed}"').hits
        } == both
        assert {found["id"] for found in db.search_sessions(source=name)} == both
        assert {found["id"] for found in db.list_sessions_rich(source=name)} == both
        others = db.list_sessions_rich(exclude_sources=[name])
        assert [each["id"] for each in others] == ["s-api"]
        assert set(db.store.lists.entries(View(source=name), now=LONG_AGO)) == both
        assert db.session_count(source=name) == 2
        found = db.search_messages("said", source_filter=[name])
        assert {hit["session_id"] for hit in found} == both
        found = db.search_messages("said", exclude_sources=[name])
        assert [hit["session_id"] for hit in found] == ["s-api"]
        plan = db.store.upkeep.plan_prune(
            PruneFilter(older_than_days=1, source=name), now=LONG_AGO + 9 * 86_400
        )
        assert {row.root_id for row in plan.rows} == both
        assert db.store.upkeep.insights(days=1, source=name, now=LONG_AGO + 60).sessions == 2
    listed = hermes(tmp_path, "sessions", "list", "--source", typed, "--json").json()
    assert {each["id"] for each in listed["sessions"]} == both
    assert describe("api_server").short == "api"


def test_stats_count_each(full: Path) -> None:
    counted = hermes(full, "sessions", "stats", "--json").json()["by_source"]
    assert counted == dict.fromkeys([*NAMES, "carrier-pigeon"], 1)
    said = hermes(full, "sessions", "stats").out
    assert all(f"  {name}: 1 session\n" in said for name in NAMES)
