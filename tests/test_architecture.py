"""The one rule of the house: imports point one way.

`tests.house` is the whole rule. Imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import hermes_store
from tests.house import HOUSE, PAGE, PLACES, ROOT, with_table

PACKAGES = ("hermes_store", "hermes_tui")
MAX_LINES = 400

# What the order does not say: these folders show values and never ask the store.
VALUES_ONLY = ("hermes_tui.presentation", "hermes_tui.widgets")
VALUES = ("hermes_store.records", "hermes_store.errors", "hermes_store.config")

# The only foreign packages that the store may import.
STORE_NEEDS = {"apsw", "filelock", "yaml"}
POSTGRES_NEEDS = {"psycopg", "psycopg_pool"}


class Import(NamedTuple):
    """One import statement, as seen from the module that holds it."""

    module: str
    target: str
    line: int
    for_types: bool

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}, imports {self.target}"


def _files() -> dict[str, Path]:
    """Return every module of both packages by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


FILES = _files()


def _target(package: str, name: str) -> str:
    """Return the module that `from package import name` really loads."""
    if f"{package}.{name}" in FILES:
        return f"{package}.{name}"
    if package == "hermes_store" and name in hermes_store._HOMES:
        return f"hermes_store.{hermes_store._HOMES[name]}"
    return package


def _type_only_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                lines.update(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    return lines


def _origin(module: str, node: ast.ImportFrom) -> str:
    """Return the absolute name that a `from … import` starts from."""
    if not node.level:
        return node.module or ""
    is_package = FILES[module].name == "__init__.py"
    base = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
    return ".".join([*base, *([node.module] if node.module else [])])


def _imports_of(module: str) -> Iterator[Import]:
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for_types = _type_only_lines(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, node.lineno in for_types)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            for alias in node.names:
                target = _target(origin, alias.name)
                yield Import(module, target, node.lineno, node.lineno in for_types)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


IMPORTS = tuple(each for module in FILES for each in _imports_of(module))
INNER_IMPORTS = tuple(
    each
    for each in IMPORTS
    # The packages themselves are fronts; what they may load is tested in a process of its own.
    if _is_ours(each.target) and each.target not in PACKAGES and each.module not in PACKAGES
)


def test_every_module_has_its_place() -> None:
    modules = {name for name, path in FILES.items() if path.name != "__init__.py"}
    assert modules == set(PLACES), (
        "A module is missing from tests/house.py, or stands there and is gone. It belongs after "
        "everything it imports and before everything that imports it."
    )


def test_every_folder_has_its_row() -> None:
    folders = {name for name, path in FILES.items() if path.name == "__init__.py"}
    assert folders == {row.place for row in HOUSE} | {"hermes_tui.cli"}


def test_imports_point_one_way() -> None:
    """Every import points back in the one order, so that there can be no cycle."""
    wrong = [
        str(each)
        for each in INNER_IMPORTS
        if FILES[each.target].name != "__init__.py"
        and FILES[each.module].name != "__init__.py"
        and PLACES[each.target] >= PLACES[each.module]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_table_for_contributors_is_the_order() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run .venv/bin/python -m tests.house"


def test_what_shows_values_never_asks_the_store() -> None:
    wrong = [
        str(each)
        for each in INNER_IMPORTS
        if each.module.startswith(VALUES_ONLY)
        and each.target.startswith("hermes_store")
        and not each.target.startswith(VALUES)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_folder_stays_small_enough_to_take_in() -> None:
    """Top level: five modules and about a dozen folders, as the house is drawn."""
    for package, modules in (("hermes_store", 5), ("hermes_tui", 6)):
        top = ROOT / package
        found = [path for path in top.glob("*.py") if path.name != "__init__.py"]
        assert len(found) <= modules
        folders = [path for path in top.iterdir() if (path / "__init__.py").exists()]
        assert len(folders) <= 12


def test_the_store_is_headless() -> None:
    allowed = STORE_NEEDS | {"hermes_store"} | sys.stdlib_module_names
    engine = "hermes_store.engines.postgres"
    wrong = [
        str(each)
        for each in IMPORTS
        if each.module.startswith("hermes_store")
        and each.target.partition(".")[0] not in allowed
        and not (each.module.startswith(engine) and each.target.partition(".")[0] in POSTGRES_NEEDS)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_packages_load_next_to_nothing() -> None:
    """Importing any module runs its package first, so that one must not pull in others."""
    allowed = {"hermes_store.version", "importlib", "typing", "__future__"}
    wrong = [
        str(each)
        for each in IMPORTS
        if each.module in PACKAGES and not each.for_types and each.target not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_hides_an_import() -> None:
    """Only the lazy front of the store and the table of verbs load modules by computed names."""
    wrong = [
        f"{module}, line {node.lineno}"
        for module, path in FILES.items()
        if module not in ("hermes_store", "hermes_tui.cli.verb_table")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr)
        in ("__import__", "import_module")
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", FILES)
def test_no_module_grows_too_long(module: str) -> None:
    with FILES[module].open(encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    assert lines <= MAX_LINES, (
        f"{module} has {lines} lines; {MAX_LINES} are the limit. Split it by what its parts own."
    )


# -- the public names --------------------------------------------------------------------------


def test_every_public_name_resolves() -> None:
    for name in hermes_store.__all__:
        assert getattr(hermes_store, name) is not None


def test_public_names_are_sorted_and_public() -> None:
    names = hermes_store.__all__
    assert len(names) == len(set(names))
    assert list(names) == sorted(names)
    assert [name for name in names if name.startswith("_")] == ["__version__"]
    assert set(names) == set(hermes_store._HOMES) | {"__version__"}
    assert dir(hermes_store) == sorted(names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hermes_store.no_such_name


# -- what really gets loaded -------------------------------------------------------------------

_LOADED = """\
import sys, json
before = set(sys.modules)
try:
    {code}
except SystemExit as end:
    assert not end.code, end.code
print("\\n" + json.dumps(sorted(set(sys.modules) - before)))
"""


def _loaded_by(code: str) -> set[str]:
    """Run code in a process of its own and return the top-level modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED.format(code=code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_importing_the_store_loads_nothing_heavy() -> None:
    loaded = _loaded_by("import hermes_store")
    assert "hermes_store" in loaded
    assert not loaded & {"textual", "rich", "apsw", "yaml", "dataclasses", "hermes_tui"}


def test_using_the_store_loads_no_screen() -> None:
    loaded = _loaded_by("from hermes_store import SessionDB")
    assert "apsw" in loaded
    assert not loaded & {"textual", "rich", "hermes_tui"}


@pytest.mark.parametrize("verb", [["list"], ["completions", "--values", "sessions"]])
def test_listing_loads_no_screen(verb: list[str], tmp_path: Path) -> None:
    from hermes_store import SessionDB

    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("20260101_120000_abcdef", "cli")
        db.append_message("20260101_120000_abcdef", "user", "hello")
    arguments = ["hermes", "sessions", *verb, "--db", str(path)]
    loaded = _loaded_by(
        f"sys.argv = {arguments!r}; "
        "import runpy; runpy.run_module('hermes_tui', run_name='__main__', alter_sys=True)"
    )
    assert {"hermes_tui", "apsw"} <= loaded
    assert not loaded & {"textual", "rich", "shtab", "dotenv", "filelock"}
