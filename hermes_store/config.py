"""config.yaml as typed settings.

The file is shared with the agent: keys that are not ours are left alone. A wrong value of ours
is refused with its key path and line. Every setting carries its explanation, from which the
documentation is made.
"""

from __future__ import annotations

import os
import re
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from hermes_store.errors import ConfigError
from hermes_store.paths import hermes_home

FILE_NAME = "config.yaml"
# Beside its own errors, PyYAML lets these through: for an escape beyond Unicode, brackets nested
# a thousand deep, an impossible date, an empty !!int.
_PARSER_TROUBLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def _setting(
    default: Any,
    explanation: str,
    *,
    choices: tuple[str, ...] = (),
    least: int = 0,
    name: str | None = None,
) -> Any:
    rules = {"explanation": explanation, "choices": choices, "least": least, "name": name}
    return field(default=default, metadata=rules)


def key_of(setting: Field[Any]) -> str:
    """Return the name of a setting in config.yaml; Python's own words get another in code."""
    return setting.metadata["name"] or setting.name


def known_keys() -> tuple[str, ...]:
    """Return the full names of all settings, such as sessions.auto_prune."""
    return tuple(
        f"{section}.{key_of(setting)}"
        for section, kind in get_type_hints(Config).items()
        for setting in fields(kind)
    )


@dataclass(frozen=True, slots=True)
class SessionsConfig:
    """How the store looks after itself."""

    auto_prune: bool = _setting(False, "Delete old, ended sessions now and then.")
    retention_days: int = _setting(
        90, "How many days after its last activity an ended session is kept.", least=1
    )
    vacuum_after_prune: bool = _setting(True, "Give the freed space back to the disk afterwards.")
    min_interval_hours: int = _setting(24, "How many hours lie between two clean-ups.")
    synchronous: str = _setting(
        "full",
        "'full' keeps every committed message through a power failure; 'normal' writes faster "
        "and may lose the last moments then. Neither loses anything in a crash of the program.",
        choices=("full", "normal"),
    )


@dataclass(frozen=True, slots=True)
class DisplayConfig:
    """What is shown when a session is resumed."""

    resume_display: str = _setting(
        "full",
        "'full' shows a recap of the conversation, 'minimal' one line.",
        choices=("full", "minimal"),
    )
    resume_exchanges: int = _setting(10, "How many exchanges a recap shows.")
    resume_max_user_chars: int = _setting(300, "Where a recap cuts what you said.", least=1)
    resume_max_assistant_chars: int = _setting(200, "Where a recap cuts an answer.", least=1)
    resume_max_assistant_lines: int = _setting(3, "How many lines of an answer it shows.", least=1)
    resume_skip_tool_only: bool = _setting(
        False, "Leave answers out of a recap that only call tools."
    )


@dataclass(frozen=True, slots=True)
class ResumeConfig:
    """What takes a session over when you resume it."""

    with_: str = _setting(
        "auto",
        "'auto' takes the Hermes Agent that is installed, and otherwise the built-in chat; "
        "'agent' and 'builtin' insist on one of them.",
        choices=("auto", "agent", "builtin"),
        name="with",
    )
    command: tuple[str, ...] = _setting(
        (),
        "A command of your own instead, as a list; {session_id} stands for the session, "
        "for example [hermes, --resume, '{session_id}'].",
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of this project, by section."""

    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    display: DisplayConfig = field(default_factory=DisplayConfig)
    resume: ResumeConfig = field(default_factory=ResumeConfig)


def load_config(home: Path | None = None) -> Config:
    """Read the settings of a home folder; without a file all have their defaults."""
    path = (home or hermes_home()) / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}. Check its rights and encoding."
        ) from error
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from the text of a config.yaml."""
    import yaml

    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, *_PARSER_TROUBLE) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be understood"
        raise ConfigError(f"{path}{where} is not valid YAML: {problem}. Mend that line.") from error
    if document is None:
        return Config()
    if not isinstance(document, yaml.MappingNode):
        raise ConfigError(f"{path} must hold sections such as 'sessions:', not a single value.")
    reader = _Reader(path)
    return Config(
        **{
            name: reader.section(name, kind, reader.child(document, name))
            for name, kind in get_type_hints(Config).items()
        }
    )


class _Reader:
    """Takes values out of a YAML tree and says where one is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @staticmethod
    def child(node: Any, key: str) -> Any:
        # Written twice, the last one counts, as it does for the agent.
        for name, value in reversed(node.value):
            if name.value == key:
                return value
        return None

    def section(self, name: str, kind: type, node: Any) -> Any:
        import yaml

        if node is None or (isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")):
            return kind()
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(name, node, "must hold settings of its own")
        values = {}
        hints = get_type_hints(kind)
        for setting in fields(kind):
            key = key_of(setting)
            found = self.child(node, key)
            if found is not None:
                values[setting.name] = self._value(
                    f"{name}.{key}", found, hints[setting.name], setting.metadata
                )
        return kind(**values)

    def _value(self, key: str, node: Any, kind: Any, rules: Any) -> Any:
        value = self._plain(key, node)
        wanted = get_origin(kind) or kind
        if wanted is tuple:
            return self._texts(key, node, value)
        # bool is an int to Python, but "retention_days: yes" is a mistake to a person.
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            names = {bool: "true or false", int: "a whole number", str: "text"}
            raise self._wrong(key, node, f"must be {names[wanted]}, not {value!r}")
        if rules["choices"] and value not in rules["choices"]:
            choices = " or ".join(f"'{choice}'" for choice in rules["choices"])
            raise self._wrong(key, node, f"must be {choices}, not {value!r}")
        if wanted is int and value < rules["least"]:
            raise self._wrong(key, node, f"must be at least {rules['least']}, not {value}")
        return value

    def _texts(self, key: str, node: Any, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(key, node, "must be a list of texts, such as [one, two]")
        return tuple(self._substituted(key, node, each) for each in value)

    def _substituted(self, key: str, node: Any, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._variable(key, node, found[1]), text)

    def _plain(self, key: str, node: Any) -> Any:
        import yaml

        try:
            value = yaml.SafeLoader("").construct_object(node, deep=True)
        except (yaml.YAMLError, *_PARSER_TROUBLE):
            raise self._wrong(key, node, "has a value that cannot be understood") from None
        if isinstance(value, str):
            value = self._substituted(key, node, value)
        return value

    def _variable(self, key: str, node: Any, name: str) -> str:
        try:
            return os.environ[name]
        except KeyError:
            raise self._wrong(key, node, f"names ${{{name}}}, which is not set") from None

    def _wrong(self, key: str, node: Any, problem: str) -> ConfigError:
        line = node.start_mark.line + 1
        return ConfigError(f"{self._path}, line {line}: {key} {problem}.")
