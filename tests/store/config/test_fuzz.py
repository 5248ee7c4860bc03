"""config.yaml that means harm: a sentence of ordinary length, at once, in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store.config.paths import MOST_CONFIG_BYTES
from hermes_store.config.settings import Config, known_keys, load_config, parse
from hermes_store.errors import ConfigError
from tests.fuzzing import HOSTILE, TEXTS, thorough

FILE = Path("/somewhere/config.yaml")
KEYS = (*known_keys(), "model", "session_reset", "group_sessions_per_user", "reset_by_type")


def _aliases(depth: int, shape: str) -> str:
    """Return a document in which each list or section stands for nine of the one before it."""
    lines = ["a0: &a0 " + ("[x]" if shape == "[]" else "{x: 1}")]
    for number in range(1, depth):
        nine = ", ".join([f"*a{number - 1}"] * 9)
        inside = f"[{nine}]" if shape == "[]" else f"{{<<: [{nine}]}}"
        lines.append(f"a{number}: &a{number} {inside}")
    return "\n".join(lines) + "\n"


def _outcome(text: str) -> Config | str:
    try:
        return parse(text, FILE)
    except ConfigError as error:
        said = str(error)
        assert said.startswith(str(FILE))
        assert said.endswith(".")
        assert len(said) < 400
        return said


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shape", ["[]", "{}"])
def test_aliases_of_aliases_are_refused(key: str, shape: str) -> None:
    section, _, name = key.rpartition(".")
    setting = f"{section}:\n  {name}: *a29" if section else f"{name}: *a29"
    outcome = _outcome(_aliases(30, shape) + setting)
    # A section with nothing of ours in it is not looked into.
    assert isinstance(outcome, str) or (key, shape) == ("model", "{}")


def test_aliases_elsewhere_do_no_harm() -> None:
    assert _outcome(_aliases(60, "[]") + "sessions: {retention_days: 7}") != Config()


@pytest.mark.parametrize("opening", ["[", "{", "{a: ", "- ", "? ", "!!set {? ", "&a [*a, ", "'"])
def test_a_hundred_thousand_brackets(opening: str) -> None:
    assert isinstance(_outcome("sessions: " + opening * 100_000), str)


_SCALARS = st.sampled_from(
    (*HOSTILE, "1:" * 3_000 + "1", "9" * 5_000, "-" + "9" * 5_000, "x" * 100_000,
     "0x" + "f" * 9_000, "!!float 1" + "0" * 400, ".nan", "-.inf", "!!null x", "!!bool maybe",
     "!!binary x", "!!omap [a]", "!!pairs [a]", "!!set {a}", "!!str", "!!timestamp 1",
     "{<<: x}", "{<<: [x]}", "{<<: {}}", "{=: x}")
)  # fmt: skip
_LISTS = st.lists(_SCALARS | TEXTS, max_size=4).map(", ".join).map("[{}]".format)
_VALUES = _SCALARS | TEXTS | _LISTS


@thorough(150)
@given(st.sampled_from(KEYS), _VALUES)
@example("sessions.retention_days", "1:" * 3_000 + "1")
@example("sessions.retention_days", "x" * 100_000)
@example("gateway.reset_by_type", "{? {}: {mode: idle}}")
@example("gateway.reset_by_type", "{? [a]: {mode: x}}")
def test_fuzz_values(key: str, value: str) -> None:
    section, _, name = key.rpartition(".")
    _outcome(f"{section}:\n  {name}: {value}" if section else f"{name}: {value}")


@thorough(100)
@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_fuzz_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    try:
        load_config(tmp_path)
    except ConfigError as error:
        assert str(error).endswith(".")


def test_the_largest_file_that_is_read(tmp_path: Path) -> None:
    line = b"sessions: {retention_days: 7}\n"
    filled = line + b"#" * (MOST_CONFIG_BYTES - len(line))
    (tmp_path / "config.yaml").write_bytes(filled)
    assert load_config(tmp_path).sessions.retention_days == 7
    (tmp_path / "config.yaml").write_bytes(filled + b"#")
    with pytest.raises(ConfigError, match="is larger than 500,000 bytes"):
        load_config(tmp_path)
