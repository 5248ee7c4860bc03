"""Settings and environment decide where the model is, or say in a sentence what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_store.config.settings import Config, parse
from hermes_store.errors import ConfigError
from hermes_tui.chat import provider
from hermes_tui.chat.endpoint_settings import OPENAI, OPENROUTER, endpoint, environment
from hermes_tui.chat.provider import Endpoint, NoKey, NotReady, Provider
from hermes_tui.cli.config import misspelt

FILE = Path("/somewhere/config.yaml")


def _resolved(text: str, **variables: str) -> Endpoint:
    return endpoint(parse(text, FILE), variables)


# -- the settings ------------------------------------------------------------------------------


def test_the_defaults() -> None:
    config = Config()
    assert (config.model.default, config.model.base_url, config.model.auxiliary) == ("", "", "")
    assert (config.model.timeout, config.model.retries) == (120, 3)
    assert config.model.context_length == 128_000
    assert config.compression.enabled is True
    assert config.compression.threshold == 0.5
    assert config.compression.protect_last_n == 20


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("model: anthropic/claude-opus-4.6", "anthropic/claude-opus-4.6"),
        ("model: 'quoted'", "quoted"),
        ("model: {default: a/b}", "a/b"),
        ("model: {default: a/b, provider: openrouter, api_mode: chat}", "a/b"),
        ("model:", ""),
        ("model: ''", ""),
        ("model: {default: , base_url: null, timeout: ~}", ""),
        ("model: ${NOT_SET}", "${NOT_SET}"),
    ],
)
def test_a_model_as_the_agent_writes_it(text: str, wanted: str) -> None:
    config = parse(text, FILE)
    assert config.model == replace(Config().model, default=wanted)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model: 5", "line 1: model must be text, not 5"),
        ("model: [a]", "line 1: model must be a section of settings"),
        ("model: {timeout: soon}", "line 1: model.timeout must be a whole number"),
        ("model: {timeout: 0}", "line 1: model.timeout must be at least 1"),
        ("compression: {threshold: half}", "line 1: compression.threshold must be a number"),
        ("compression: {threshold: yes}", "line 1: compression.threshold must be a number"),
        ("compression: {threshold: .nan}", "line 1: compression.threshold must be a number"),
        ("compression: {threshold: 50}", "line 1: compression.threshold must be at most 1"),
        ("compression: {threshold: -0.5}", "line 1: compression.threshold must be at least 0.01"),
        ("compression: 5", "line 1: compression must be a section of settings"),
    ],
)
def test_wrong_values_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, FILE)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("text", "wanted"), [("0.85", 0.85), ("1", 1.0), ("5e-1", 0.5)])
def test_numbers_with_a_point(text: str, wanted: float) -> None:
    if text == "5e-1":  # YAML 1.1 reads this as text
        with pytest.raises(ConfigError, match="must be a number"):
            parse(f"compression: {{threshold: {text}}}", FILE)
        return
    found = parse(f"compression: {{threshold: {text}}}", FILE).compression.threshold
    assert (found, type(found)) == (wanted, float)


def test_what_only_the_agent_reads_is_not_misspelt() -> None:
    assert misspelt("compression: {protect_first_n: 3}\nmodel: {provider: x, api_key: y}") == []
    [found] = misspelt("compression: {protect_last: 3}")
    assert found == ("compression.protect_last", 1, "compression.protect_last_n")


# -- what comes of them ------------------------------------------------------------------------


def test_everything_from_the_settings() -> None:
    found = _resolved(
        "model: {default: big, auxiliary: small, base_url: 'https://models.example/v1/', "
        "key_env: MY_KEY, timeout: 7, retries: 1, context_length: 9000}",
        MY_KEY=" secret ",
        OPENAI_API_KEY="other",
    )
    assert found == Endpoint("https://models.example/v1", "big", "small", "secret", 7.0, 1, 9000)
    assert found.place == "models.example"


def test_without_an_auxiliary_model_it_is_the_default() -> None:
    assert _resolved("model: big", OPENAI_API_KEY="k").auxiliary_model == "big"


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"OPENROUTER_API_KEY": "r"}, ("r", OPENROUTER)),
        ({"OPENAI_API_KEY": "o"}, ("o", OPENAI)),
        ({"OPENAI_API_KEY": "o", "OPENROUTER_API_KEY": "r"}, ("r", OPENROUTER)),
        ({"HERMES_API_KEY": "h", "OPENAI_API_KEY": "o"}, ("h", OPENROUTER)),
        ({"OPENROUTER_API_KEY": "  ", "OPENAI_API_KEY": "o"}, ("o", OPENAI)),
    ],
)
def test_the_key_says_where_the_server_is(
    variables: dict[str, str], wanted: tuple[str, str]
) -> None:
    found = _resolved("model: m", **variables)
    assert (found.key, found.base_url) == wanted


def test_no_service_gets_the_key_of_the_other() -> None:
    router = f"model: {{default: m, base_url: '{OPENROUTER}'}}"
    with pytest.raises(NoKey) as caught:
        _resolved(router, OPENAI_API_KEY="o")
    assert "OPENROUTER_API_KEY" in str(caught.value)
    assert "OPENAI_API_KEY" not in str(caught.value)
    elsewhere = "model: {default: m, base_url: 'https://models.example/v1'}"
    with pytest.raises(NoKey):
        _resolved(elsewhere, OPENROUTER_API_KEY="r")


def test_without_a_key_all_names_are_told() -> None:
    with pytest.raises(NoKey) as caught:
        _resolved("model: {default: m, key_env: MY_KEY}")
    for name in ("MY_KEY", "HERMES_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "key_env"):
        assert name in str(caught.value)


def test_a_key_from_a_web_page() -> None:
    with pytest.raises(NoKey, match="OPENAI_API_KEY has invalid characters") as caught:
        _resolved("model: m", OPENAI_API_KEY="sk–abc")
    assert "sk" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["http://localhost:11434/v1", "http://127.0.0.1:8080", "http://[::1]:1/v1", "http://nas/v1",
     "http://192.168.1.5/v1", "http://box.local:5000/v1"],
)  # fmt: skip
def test_servers_nearby_need_no_key(url: str) -> None:
    found = _resolved(f"model: {{default: m, base_url: '{url}'}}")
    assert found.base_url == url
    assert found.key


@pytest.mark.parametrize("url", ["example.com/v1", "ftp://a/b", "http://", "http://a:99999", "x"])
def test_no_address_of_a_server(url: str) -> None:
    with pytest.raises(NotReady, match=r"model\.base_url is"):
        _resolved(f"model: {{default: m, base_url: '{url}'}}", OPENAI_API_KEY="k")


@pytest.mark.parametrize(
    "url", ["http://exa mple/", "http://a\x01b/", "http://a/\x02", "http://a\nb/", "http://a<b>/"]
)
def test_an_address_with_characters_that_none_has(url: str) -> None:
    with pytest.raises(NotReady, match=r"model\.base_url is") as caught:
        _resolved(f"model: {{default: m, base_url: {json.dumps(url)}}}", OPENAI_API_KEY="k")
    assert str(caught.value).isprintable()


def test_no_model() -> None:
    with pytest.raises(NotReady, match="No model is set"):
        _resolved("", OPENAI_API_KEY="k")


def test_variables_count_when_a_chat_begins() -> None:
    text = "model: {default: '${WHICH}', base_url: 'http://${HOST}/v1'}"
    found = _resolved(text, WHICH="m", HOST="localhost")
    assert (found.model, found.base_url) == ("m", "http://localhost/v1")
    with pytest.raises(NotReady, match=r"model\.base_url uses \$\{HOST\}"):
        _resolved(text, WHICH="m")


def test_a_place_shows_no_password() -> None:
    found = _resolved("model: {default: m, base_url: 'http://me:secret@localhost:5/v1'}")
    assert found.place == "localhost:5"


# -- the environment ---------------------------------------------------------------------------


def test_the_agents_own_file_counts_beneath(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "FROM_FILE" not in environment()
    home.mkdir()
    (home / ".env").write_text(
        "# keys\nFROM_FILE=abc # a remark\nexport QUOTED='a # b'\nBOTH=file\n\nnonsense\n EMPTY=\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("BOTH", "process")
    found = environment()
    assert found["FROM_FILE"] == "abc"
    assert found["QUOTED"] == "a # b"
    assert found["BOTH"] == "process"
    assert found["EMPTY"] == ""
    assert environment(home)["FROM_FILE"] == "abc"


def test_values_in_the_file_are_taken_as_they_are(home: Path) -> None:
    home.mkdir()
    (home / ".env").write_text(
        "BASE=abc\nNAMED=${BASE}x\nDOLLAR='$BASE'\nQUOTED=\"a b\" # a remark\nHASH=a#b\n",
        encoding="utf-8",
    )
    found = environment(home)
    assert [found[name] for name in ("NAMED", "DOLLAR", "QUOTED", "HASH")] == [
        "${BASE}x", "$BASE", "a b", "a#b"
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"\xff\xfe", b"A=1\nB=\xe4\n"])
def test_a_file_that_cannot_be_read_counts_as_none(home: Path, content: bytes) -> None:
    home.mkdir()
    (home / ".env").write_bytes(content)
    assert environment() == dict(os.environ)


def test_a_folder_in_its_place_counts_as_none(home: Path) -> None:
    (home / ".env").mkdir(parents=True)
    assert environment() == dict(os.environ)


def test_a_line_that_means_nothing_says_nothing(home: Path) -> None:
    """A warning of the parser would be written over the screen."""
    home.mkdir()
    (home / ".env").write_text("'what = is this\nGOOD=1\n", encoding="utf-8")
    code = "from hermes_tui.chat.endpoint_settings import environment; print(environment()['GOOD'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "find_spec", lambda _: None)
    with pytest.raises(NotReady, match=r"hermes-sessions\[chat\]"):
        Provider(Endpoint("http://localhost", "m", "m", "k", 1.0, 0, 1000))
