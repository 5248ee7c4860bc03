"""config.yaml: typed settings, or a sentence with key path and line; never a traceback."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store.config.settings import Config, DisplayConfig, SessionsConfig, load_config, parse
from hermes_store.errors import ConfigError
from tests.fuzzing import thorough

FILE = Path("/somewhere/config.yaml")
KEYS = [f"sessions.{each.name}" for each in fields(SessionsConfig)] + ["display.resume_display"]

_PIECES = st.sampled_from(
    ["sessions:", "  retention_days:", "  auto_prune:", "display:", "\n", " ", "- ", "[", "{", "}",
     "&a", "*a", "<<:", "!!int", "!!timestamp", "!!python/name:os.system", "2024-13-99", "0x_",
     "~", "true", "yes", "12", '"\\UFFFFFFFF"', "'", "|", ">", "%", "---", "...", "\t", "#", "? ",
     "${HOME}", "${NO_SUCH_VARIABLE}", "1_0:99", "=", ".inf", "9" * 5000]
)  # fmt: skip
TEXTS = st.lists(_PIECES | st.text(max_size=6), max_size=14).map("".join)
VALUES = _PIECES | st.text(max_size=12)


def _outcome(text: str) -> Config | ConfigError:
    """Return what reading a text gives; anything but these two is a failure of its own."""
    try:
        return parse(text, FILE)
    except ConfigError as error:
        assert str(FILE) in str(error)
        return error


@thorough(80)
@given(TEXTS)
@example("a: &a [*a]\nsessions: *a")
@example('a: "\\UFFFFFFFF"')
@example("sessions: {? [a]: 1}")
@example("\ud800")
def test_any_text_gives_settings_or_one_sentence(text: str) -> None:
    assert isinstance(_outcome(text), Config | ConfigError)


@thorough(100)
@given(st.sampled_from(KEYS), VALUES)
@example("sessions.retention_days", "2024-13-99")
@example("sessions.retention_days", "!!int abc")
@example("sessions.retention_days", "!!python/object:os.system x")
@example("sessions.retention_days", "&a [*a]")
@example("sessions.retention_days", "9" * 5000)
@example("sessions.synchronous", "!!binary '***'")
def test_any_value_is_taken_or_refused_by_name(key: str, value: str) -> None:
    section, name = key.split(".")
    outcome = _outcome(f"{section}:\n  {name}: {value}")
    if isinstance(outcome, Config):
        found = getattr(getattr(outcome, section), name)
        kind = SessionsConfig if section == "sessions" else DisplayConfig
        assert type(found) is type(getattr(kind(), name))


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_endless_nesting_is_refused(opening: str) -> None:
    assert isinstance(_outcome("sessions:\n  retention_days:\n   " + opening * 500), ConfigError)
    assert isinstance(_outcome("other: " + opening * 500), ConfigError)


def test_without_a_file_everything_has_its_default(tmp_path: Path, home: Path) -> None:
    found = load_config(tmp_path)
    assert found == load_config() == Config()
    wanted = found.sessions
    assert (wanted.auto_prune, wanted.retention_days) == (False, 90)
    assert (wanted.vacuum_after_prune, wanted.min_interval_hours) == (True, 24)
    assert wanted.synchronous == "full"


def test_settings_are_read_from_the_home_folder(home: Path) -> None:
    home.mkdir()
    (home / "config.yaml").write_text(
        "model: {default: opus}\nsessions:\n  auto_prune: true\n  retention_days: 7\n"
        "  unknown: [1]\ndisplay:\n  resume_display: minimal\n",
        encoding="utf-8",
    )
    config = load_config()
    assert (config.sessions.auto_prune, config.sessions.retention_days) == (True, 7)
    assert config.display.resume_display == "minimal"


@pytest.mark.parametrize(
    "text", ["", "# only words", "sessions:", "sessions: ~", "other: 1", "~: 1"]
)
def test_nothing_said_is_the_default(text: str) -> None:
    assert parse(text, FILE) == Config()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("retention_days: soon", "line 3: sessions.retention_days must be a whole number"),
        ("retention_days: yes", "line 3: sessions.retention_days must be a whole number"),
        ("retention_days: 1.5", "line 3: sessions.retention_days must be a whole number"),
        ("retention_days: '9'", "line 3: sessions.retention_days must be a whole number"),
        ("retention_days: 0", "line 3: sessions.retention_days must be at least 1"),
        ("retention_days: -3", "line 3: sessions.retention_days must be at least 1"),
        ("min_interval_hours: -1", "line 3: sessions.min_interval_hours must be at least 0"),
        ("auto_prune: 1", "line 3: sessions.auto_prune must be true or false"),
        ("auto_prune: 'on'", "line 3: sessions.auto_prune must be true or false"),
        ("auto_prune:", "line 3: sessions.auto_prune must be true or false"),
        ("synchronous: off", "line 3: sessions.synchronous must be text"),
        ("synchronous: never", "line 3: sessions.synchronous must be 'full' or 'normal'"),
        ("retention_days: 2024-13-99", "line 3: sessions.retention_days has an invalid value"),
    ],
)
def test_a_wrong_value_names_its_key_and_line(value: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"# settings\nsessions:\n  {value}\n", FILE)
    assert str(caught.value).startswith(f"{FILE}, {wanted}")
    assert isinstance(caught.value, ValueError)


def test_a_section_must_hold_settings() -> None:
    with pytest.raises(ConfigError, match="line 2: sessions must be a section of settings"):
        parse("a: 1\nsessions: 5\n", FILE)
    with pytest.raises(ConfigError, match="'sessions:'"):
        parse("just words", FILE)
    with pytest.raises(ConfigError, match="'sessions:'"):
        parse("- a\n- b\n", FILE)


def test_bad_yaml_names_the_line() -> None:
    with pytest.raises(ConfigError, match="line 3 is not valid YAML"):
        parse("sessions:\n  auto_prune: true\n bad\n  worse: [\n", FILE)
    with pytest.raises(ConfigError, match="line 2 is not valid YAML"):
        parse("a: 1\n\tb: 2\n", FILE)


def test_a_key_written_twice_counts_as_the_agent_counts_it() -> None:
    config = parse("sessions: {retention_days: 5, retention_days: 6}", FILE)
    assert config.sessions.retention_days == 6


def test_variables_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODE", "normal")
    monkeypatch.delenv("NOT_THERE", raising=False)
    assert parse("sessions: {synchronous: '${MODE}'}", FILE).sessions.synchronous == "normal"
    with pytest.raises(ConfigError, match=r"sessions.synchronous refers to \$\{NOT_THERE\}"):
        parse("sessions: {synchronous: '${NOT_THERE}'}", FILE)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder" / "config.yaml").mkdir(parents=True)
    (tmp_path / "config.yaml").write_bytes(b"sessions:\n  \xff\xfe")
    for home in (tmp_path / "folder", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(home)


def test_every_setting_explains_itself() -> None:
    for section in (SessionsConfig, DisplayConfig):
        for setting in fields(section):
            assert setting.metadata["explanation"].endswith(".")
