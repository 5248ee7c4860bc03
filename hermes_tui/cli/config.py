"""`hermes sessions config`: show config.yaml and check it."""

from __future__ import annotations

import argparse
import difflib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hermes_store.config.database_address import is_address, shown
from hermes_store.config.paths import CONFIG_NAME
from hermes_store.config.settings import (
    AGENT_KEYS,
    Config,
    key_of,
    known_keys,
    load_config,
)
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import strong

if TYPE_CHECKING:
    import yaml

_SURE = 0.8


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("path", "show", "check"), help="see below")
    parser.epilog = (
        "example:\n  hermes sessions config check\n"
        "path   print the path of config.yaml\n"
        "show   print all settings of this program and their values\n"
        "check  report invalid values and keys that look misspelled"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    path = context.home / CONFIG_NAME
    printer = context.printer
    if options.what == "path":
        printer.data("config", path=str(path)) if printer.as_json else printer.line(str(path))
        return 0
    config = load_config(context.home)
    if options.what == "show":
        return _show(context, config)
    suspects = misspelt(path.read_text(encoding="utf-8")) if path.exists() else []
    if printer.as_json:
        found = [{"key": key, "line": line, "meant": near} for key, line, near in suspects]
        printer.data("config-check", path=str(path), suspects=found)
    else:
        for key, line, near in suspects:
            printer.line(f"{path}, line {line}: unknown key {key}; did you mean {near}?")
        if not suspects:
            printer.line(
                f"{path}: valid." if path.exists() else f"{path}: no file, using defaults."
            )
    return 1 if suspects else 0


def _show(context: Context, config: Config) -> int:
    values = settings_of(config)
    if context.printer.as_json:
        context.printer.data("config", settings=values)
        return 0
    for section, settings in values.items():
        context.printer.line(strong(f"{section}:"))
        for name, value in settings.items():
            context.printer.line(f"  {name}: {_yaml(value)}")
    return 0


def settings_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return all settings by section and by their keys in the file."""
    import dataclasses

    return {
        section: {
            key_of(setting): _shown(asdict(config)[section][setting.name])
            for setting in dataclasses.fields(getattr(config, section))
        }
        for section in asdict(config)
    }


def _shown(value: Any) -> Any:
    """Return a value without the password of an address."""
    return shown(value) if is_address(value) else value


def _yaml(value: Any) -> str:
    import json

    return json.dumps(list(value) if isinstance(value, tuple) else value)


def misspelt(text: str) -> list[tuple[str, int, str]]:
    """Return keys that look like misspelled known ones: key, line, likely key."""
    import yaml

    document = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(document, yaml.MappingNode):
        return []
    known = known_keys()
    sections = {key.split(".")[0] for key in known}
    suspects = []
    for name, node in _named(document):
        line = name.start_mark.line + 1
        if name.value in sections and isinstance(node, yaml.MappingNode):
            for key, _ in _named(node):
                full = f"{name.value}.{key.value}"
                near = difflib.get_close_matches(full, known, n=1, cutoff=_SURE)
                if near and full not in known and full not in AGENT_KEYS:
                    suspects.append((full, key.start_mark.line + 1, near[0]))
        elif name.value not in sections:
            near = difflib.get_close_matches(name.value, sections, n=1, cutoff=_SURE)
            if near:
                suspects.append((name.value, line, near[0]))
    return suspects


def _named(section: yaml.MappingNode) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Return the pairs of a section whose key is a name, and not a list as in `? [a, b]`."""
    import yaml

    return [pair for pair in section.value if isinstance(pair[0], yaml.ScalarNode)]
