"""What config.yaml tells the agent, and what follows for people who look at the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store.config import agent_settings
from hermes_store.config.agent_settings import AgentSettings
from tests.cli.command import hermes
from tests.store import versions

ELSEWHERE = {
    "sessiondb: {provider: postgresql, postgresql: {dsn: x}}": "sessiondb.provider",
    "sessiondb: {postgresql: {dsn: x}}": "sessiondb.postgresql.dsn",
    "sessions: {state: {backend: postgres, postgres: {dsn_env: X}}}": "sessions.state.backend",
    "sessions: {state_backend: PostgreSQL}": "sessions.state_backend",
    "sessions: {postgres_dsn: 'postgresql://host/x'}": "sessions.postgres_dsn",
}
HERE = [
    "",
    "# we do not use postgres\nsessions: {auto_prune: true}",
    "sessions: {state_backend: sqlite, postgres_dsn: unused}",
    "sessiondb: {provider: sqlite}",
    "sessiondb: [postgres]",
    "model: postgres",
    ": [ postgres",
    "- postgres",
]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_each_dialect_is_recognized(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert agent_settings.elsewhere(tmp_path, {}) == ELSEWHERE[text]
    assert agent_settings.read(tmp_path, {}).elsewhere == ELSEWHERE[text]


@pytest.mark.parametrize("text", HERE)
def test_anything_else_is_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert agent_settings.elsewhere(tmp_path, {}) is None
    assert agent_settings.read(tmp_path, {}).elsewhere is None


def test_the_environment_counts_too(tmp_path: Path) -> None:
    told = {"HERMES_STATE_DATABASE_URL": "postgresql://me@host/hermes"}
    assert agent_settings.elsewhere(tmp_path, told) == "HERMES_STATE_DATABASE_URL"
    assert agent_settings.read(tmp_path, {}) == AgentSettings()


def test_a_list_says_that_it_may_be_out_of_date(tmp_path: Path) -> None:
    versions.make(tmp_path / "state.db", 22)
    (tmp_path / "config.yaml").write_text("sessions:\n  state_backend: postgres\n")
    for verb in (("list",), ("search", "x"), ("stats",)):
        assert "may be out of date" in hermes(tmp_path, "sessions", *verb).err
    assert "may be out of date" in hermes(tmp_path, "sessions", "doctor").out
    told = hermes(tmp_path, "sessions", "list", "--json")
    assert told.json()["sessions"] == [] and "state_backend" in told.err
    (tmp_path / "config.yaml").unlink()
    assert hermes(tmp_path, "sessions", "list").err == ""


@pytest.mark.parametrize(
    ("version", "setting", "deletes"),
    [(30, "", True), (30, "false", False), (22, "", False), (22, "true", True)],
)
def test_people_are_told_that_the_agent_deletes(
    tmp_path: Path, version: int, setting: str, deletes: bool
) -> None:
    versions.make(tmp_path / "state.db", version)
    if setting:
        (tmp_path / "config.yaml").write_text(f"sessions: {{auto_prune: {setting}}}\n")
    for verb in ("doctor", "trash"):
        said = hermes(tmp_path, "sessions", verb).out
        assert ("Hermes Agent deletes conversations" in said) is deletes
