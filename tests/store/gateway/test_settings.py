"""The gateway's settings: policies inside policies, and the places where Hermes Agent has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store.config.settings import Config, GatewayConfig, ResetPolicy, parse
from hermes_store.errors import ConfigError
from tests.cli.command import hermes

FILE = Path("/somewhere/config.yaml")


def gateway(text: str) -> GatewayConfig:
    return parse(text, FILE).gateway


def test_policies_are_read_by_platform_and_kind() -> None:
    found = gateway(
        "gateway:\n"
        "  session_reset: {mode: idle, idle_minutes: 60}\n"
        "  reset_by_platform: {telegram: {mode: none}, discord: {idle_minutes: 5}}\n"
        "  reset_by_type:\n    group: {mode: daily, at_hour: 6}\n    dm:\n"
    )
    assert found.session_reset == ResetPolicy(mode="idle", idle_minutes=60)
    assert found.reset_by_platform == {
        "telegram": ResetPolicy(mode="none"),
        "discord": ResetPolicy(idle_minutes=5),
    }
    assert found.reset_by_type == {
        "group": ResetPolicy(mode="daily", at_hour=6),
        "dm": ResetPolicy(),
    }


def test_settings_of_the_agent_count_too() -> None:
    above = "group_sessions_per_user: false\nsession_reset: {mode: none, notify: true}\n"
    assert gateway(above) == GatewayConfig(
        group_sessions_per_user=False, session_reset=ResetPolicy(mode="none")
    )
    both = gateway(above + "gateway: {group_sessions_per_user: true}\n")
    assert both.group_sessions_per_user is True
    assert both.session_reset.mode == "none"


@pytest.mark.parametrize("text", ["timezone: ~", "session_reset:", "timezone: null", "gateway: ~"])
def test_nothing_said_is_the_default(text: str) -> None:
    assert parse(text, FILE) == Config()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("gateway: {session_reset: {mode: soon}}",
         "line 1: gateway.session_reset.mode must be 'both' or 'idle' or 'daily' or 'none'"),
        ("gateway:\n  reset_by_platform:\n    sms:\n      at_hour: 24",
         "line 4: gateway.reset_by_platform.sms.at_hour must be at most 23, not 24"),
        ("gateway: {reset_by_type: {dm: {idle_minutes: 0}}}",
         "line 1: gateway.reset_by_type.dm.idle_minutes must be at least 1, not 0"),
        ("gateway: {reset_by_type: [dm]}",
         "line 1: gateway.reset_by_type must map each name to its settings"),
        ("gateway: {reset_by_type: {dm: daily}}",
         "line 1: gateway.reset_by_type.dm must be a section of settings"),
        ("a: 1\nsession_reset: {at_hour: four}",
         "line 2: session_reset.at_hour must be a whole number, not 'four'"),
        ("thread_sessions_per_user: 1",
         "line 1: thread_sessions_per_user must be true or false, not 1"),
    ],
)  # fmt: skip
def test_a_wrong_value_names_its_key_and_line(text: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, FILE)
    assert str(caught.value).startswith(f"{FILE}, {wanted}")


def test_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("reset_by_platform: {sms: {mode: none}}\n")
    shown = hermes(tmp_path, "sessions", "config", "show", "--json").json()["settings"]["gateway"]
    assert shown["session_reset"] == {"mode": "both", "idle_minutes": 1440, "at_hour": 4}
    assert shown["reset_by_platform"]["sms"]["mode"] == "none"
    assert '"mode": "none"' in hermes(tmp_path, "sessions", "config", "show").out
