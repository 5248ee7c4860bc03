"""docs/configuration.md is generated from the settings; these tests keep the two in step.

After a change to hermes_store/config/settings.py, regenerate the page with

    .venv/bin/python -m tests.store.config.test_configuration_docs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from hermes_store.config.settings import Config, key_of, parse

PAGE = Path(__file__).resolve().parents[3] / "docs" / "configuration.md"

_KINDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "list of text values",
    Mapping: "pairs of text values",
}

_NUMBERS = (int, float)

_OPENING = """\
# Configuration

<!-- Generated from the settings by tests/store/config/test_configuration_docs.py; do not edit. -->

Settings live in `config.yaml` in the home folder: `$HERMES_HOME`, by default `~/.hermes`. Hermes
Agent reads the same file. Hermes Sessions reads only the keys below, ignores all others, and never
writes to the file. A missing file or key means the default.

An invalid value is an error, never a guess. The message names the file, the line and the key:

```
~/.hermes/config.yaml, line 3: sessions.retention_days must be a whole number, not 'ninety'.
```

Text can refer to an environment variable as `${NAME}`; one that is not set is an error. In
`model`, variables are expanded only when a chat starts, and can also come from the `.env` file in
the home folder.

Programs read the settings with `load_config()` and pass them on:

```python
from hermes_store import SessionDB, load_config

with SessionDB() as db:
    report = db.store.upkeep.auto_prune(load_config())
```

`Store.at_home()` opens the database of a home folder with its settings.
`hermes sessions config show` prints all settings and their values; `hermes sessions config check`
points out keys that look misspelled.
"""

_CLOSING = """\
## All settings with their defaults

```yaml
{example}```
"""


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _value(setting: Field[Any]) -> Any:
    """Return the default of a setting; mappings come from a factory."""
    factory = setting.default_factory
    return setting.default if factory is MISSING else factory()


def _default(value: Any) -> str:
    text = yaml.safe_dump(_plain(value), default_flow_style=True).split("\n")[0]
    return f"`{text}`"


def _allowed(kind: Any, rules: Any) -> str:
    if rules["choices"]:
        return " or ".join(f"`{choice}`" for choice in rules["choices"])
    if kind in _NUMBERS and rules["most"] is not None:
        return f"{_KINDS[kind]}, {rules['least']} to {rules['most']}"
    if kind in _NUMBERS and rules["least"]:
        return f"{_KINDS[kind]}, at least {rules['least']}"
    if get_origin(kind) is Mapping and is_dataclass(get_args(kind)[1]):
        return "settings for each name"
    return _KINDS[get_origin(kind) or kind]


def _row(section: str, setting: Field[Any], kind: Any) -> str:
    rules = setting.metadata
    cells = (
        f"`{section}.{key_of(setting)}`",
        _default(_value(setting)),
        _allowed(kind, rules),
        rules["explanation"],
    )
    return f"| {' | '.join(cells)} |"


def _rows(section: str, kind: Any) -> Iterator[str]:
    hints = get_type_hints(kind)
    for setting in fields(kind):
        if is_dataclass(hints[setting.name]):
            yield from _rows(f"{section}.{key_of(setting)}", hints[setting.name])
        else:
            yield _row(section, setting, hints[setting.name])


def _above(kind: Any) -> Iterator[str]:
    """Yield the note on settings that may also be at the top level of the file."""
    names = [f"`{key_of(setting)}`" for setting in fields(kind) if setting.metadata["also_above"]]
    if names:
        yield (
            f"{', '.join(names[:-1])} and {names[-1]} can also be set at the top level of the "
            "file, as in Hermes Agent. Values in this section take precedence.\n"
        )


def _sections() -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(Config)
    for section in fields(Config):
        yield section.name, hints[section.name]


def _lines() -> Iterator[str]:
    yield _OPENING
    for name, kind in _sections():
        yield f"## {name}\n"
        yield f"{kind.__doc__}\n"
        yield "| Key | Default | Value | Meaning |"
        yield "|---|---|---|---|"
        yield from _rows(name, kind)
        yield ""
        yield from _above(kind)
    yield _CLOSING.format(example=example())


def example() -> str:
    """Return a config.yaml that sets every default."""
    document = {
        name: {key_of(setting): _plain(_value(setting)) for setting in fields(kind)}
        for name, kind in _sections()
    }
    return yaml.safe_dump(document, sort_keys=False)


def render() -> str:
    return "\n".join(_lines())


def test_the_page_tells_of_the_settings_that_exist() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), (
        "docs/configuration.md is out of date. "
        "Run: python -m tests.store.config.test_configuration_docs"
    )


def test_every_setting_is_explained() -> None:
    for name, kind in _sections():
        for setting in fields(kind):
            assert setting.metadata["explanation"].endswith("."), f"{name}.{setting.name}"


def test_the_example_says_what_is_so_anyway(tmp_path: Path) -> None:
    assert parse(example(), tmp_path / "config.yaml") == Config()


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(render(), encoding="utf-8")
