"""Reads the settings of a dataclass from a YAML tree and reports where one is wrong.

Knows how a setting is declared, but no particular setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import Field, field, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from hermes_store.errors import ConfigError

# Besides its own errors, PyYAML lets these through: for an escape beyond Unicode, brackets nested
# a thousand deep, an impossible date, an empty !!int.
PARSER_TROUBLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHOWN = 60
_MOST_NODES = 10_000
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def rules(
    explanation: str,
    *,
    choices: tuple[str, ...] = (),
    least: float = 0,
    most: float | None = None,
    name: str | None = None,
    also_above: bool = False,
    shared: bool = False,
) -> dict[str, Any]:
    """Return the metadata of a setting.

    A `shared` setting belongs to the agent too: left empty it has its default, and variables in
    it are expanded only when it is used, since the agent's own environment may define them.
    """
    return {
        "explanation": explanation,
        "choices": choices,
        "least": least,
        "most": most,
        "name": name,
        "also_above": also_above,
        "shared": shared,
    }


def setting(default: Any, explanation: str, **more: Any) -> Any:
    """Declare a setting as a dataclass field."""
    known = rules(explanation, **more)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=known)
    return field(default=default, metadata=known)


def key_of(setting: Field[Any]) -> str:
    """Return the name of a setting in config.yaml; it differs in code for Python keywords."""
    return setting.metadata["name"] or setting.name


def says_nothing(node: Any) -> bool:
    """Return whether a value was left empty."""
    import yaml

    return isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")


class Reader:
    """Reads values from a YAML tree and reports where one is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @staticmethod
    def child(node: Any, key: str) -> Any:
        # If a key appears twice, the last one wins, as it does for the agent.
        for name, value in reversed(node.value):
            if name.value == key:
                return value
        return None

    def section(self, name: str, kind: Any, node: Any, document: Any = None) -> Any:
        """Return the settings of a section; some may also be at the top level of the document."""
        import yaml

        if says_nothing(node):
            node = None
        if isinstance(node, yaml.ScalarNode) and hasattr(kind, "SHORT"):
            return kind(**self._short(name, kind, node))
        if node is not None and not isinstance(node, yaml.MappingNode):
            raise self._wrong(name, node, "must be a section of settings")
        values = {}
        hints = get_type_hints(kind)
        for setting in fields(kind):
            key = key_of(setting)
            path, found = f"{name}.{key}", None if node is None else self.child(node, key)
            if found is None and document is not None and setting.metadata["also_above"]:
                path, found = key, self.child(document, key)
                found = None if says_nothing(found) else found
            if setting.metadata["shared"] and _is_null(found):
                found = None
            if found is not None:
                values[setting.name] = self._value(
                    path, found, hints[setting.name], setting.metadata
                )
        return kind(**values)

    def _short(self, name: str, kind: Any, node: Any) -> dict[str, Any]:
        """Return the one setting that can replace its section, as in 'model: some-name'."""
        [setting] = [each for each in fields(kind) if each.name == kind.SHORT]
        hint = get_type_hints(kind)[setting.name]
        return {setting.name: self._value(name, node, hint, setting.metadata)}

    def _value(self, key: str, node: Any, kind: Any, rules: Any) -> Any:
        value = self._plain(key, node, substitute=not rules["shared"])
        wanted = get_origin(kind) or kind
        if is_dataclass(wanted):
            return self.section(key, wanted, node)
        if wanted is tuple:
            return self._texts(key, node, value)
        if wanted is Mapping and is_dataclass(get_args(kind)[1]):
            return self._sections(key, node, get_args(kind)[1])
        if wanted is Mapping:
            return self._mapping(key, node, value)
        return self._checked(key, node, value, wanted, rules)

    def _checked(self, key: str, node: Any, value: Any, wanted: Any, rules: Any) -> Any:
        # bool is an int to Python, but "retention_days: yes" is a mistake.
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 1e300 else None
        numeric = wanted in (int, float)
        if not isinstance(value, wanted) or (numeric and isinstance(value, bool)):
            raise self._wrong(key, node, f"must be {_KINDS[wanted]}, not {_shown(value)}")
        if wanted is float and not isfinite(value):
            raise self._wrong(key, node, f"must be a number, not {value}")
        if rules["choices"] and value not in rules["choices"]:
            choices = " or ".join(f"'{choice}'" for choice in rules["choices"])
            raise self._wrong(key, node, f"must be {choices}, not {_shown(value)}")
        if numeric and value < rules["least"]:
            raise self._wrong(key, node, f"must be at least {rules['least']}, not {_shown(value)}")
        if numeric and rules["most"] is not None and value > rules["most"]:
            raise self._wrong(key, node, f"must be at most {rules['most']}, not {_shown(value)}")
        return value

    def _sections(self, key: str, node: Any, kind: Any) -> Mapping[str, Any]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(key, node, "must map each name to its settings")
        return {
            str(name.value): self.section(f"{key}.{name.value}", kind, value)
            for name, value in node.value
        }

    def _texts(self, key: str, node: Any, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(key, node, "must be a list of text values, such as [one, two]")
        return tuple(self._substituted(key, node, each) for each in value)

    def _mapping(self, key: str, node: Any, value: Any) -> Mapping[str, str]:
        texts = isinstance(value, dict) and all(
            isinstance(each, str) for pair in value.items() for each in pair
        )
        if not texts:
            raise self._wrong(key, node, "must be pairs of text values, such as {delete: x}")
        return dict(value)

    def _substituted(self, key: str, node: Any, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._variable(key, node, found[1]), text)

    def _plain(self, key: str, node: Any, *, substitute: bool) -> Any:
        import yaml

        if not _is_small(node):
            raise self._wrong(key, node, "has an invalid value")
        try:
            value = yaml.SafeLoader("").construct_object(node, deep=True)
        except (yaml.YAMLError, *PARSER_TROUBLE):
            raise self._wrong(key, node, "has an invalid value") from None
        if isinstance(value, str) and substitute:
            value = self._substituted(key, node, value)
        return value

    def _variable(self, key: str, node: Any, name: str) -> str:
        try:
            return os.environ[name]
        except KeyError:
            raise self._wrong(key, node, f"refers to ${{{name}}}, which is not set") from None

    def _wrong(self, key: str, node: Any, problem: str) -> ConfigError:
        line = node.start_mark.line + 1
        return ConfigError(f"{self._path}, line {line}: {key} {problem}.")


def _is_null(node: Any) -> bool:
    return says_nothing(node) and node.tag == "tag:yaml.org,2002:null"


def _is_small(node: Any) -> bool:
    """Tell whether a value stays small when every alias in it is replaced by what it names.

    A few lines of aliases of aliases can stand for more than fits into memory.
    """
    import yaml

    left, waiting = _MOST_NODES, [node]
    while waiting and left >= 0:
        left -= 1
        found = waiting.pop()
        if isinstance(found, yaml.SequenceNode):
            waiting += found.value[: left + 1]
        elif isinstance(found, yaml.MappingNode):
            waiting += [each for pair in found.value[: left + 1] for each in pair]
    return left >= 0


def _shown(value: Any) -> str:
    """Return a wrong value, short enough for a message."""
    if isinstance(value, list | dict | set):
        return "a list" if isinstance(value, list) else "a section"
    try:
        text = repr(value)
    except ValueError:  # Python does not print numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
