"""Both wheels, built from what a clone would hold, installed where nothing else is, and used.

The checkout itself is never built in. Dependencies come from wherever pip is set up to look.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = "Scripts" if sys.platform == "win32" else "bin"

# With `--dist loadgroup` all tests of a wheel share one worker, so each wheel is built once.
store_wheel_test = pytest.mark.xdist_group("store wheel")
sessions_wheel_test = pytest.mark.xdist_group("sessions wheel")

_USE_STORE = r"""
import importlib.util, sys
from hermes_store import SessionDB, __version__

for name in ("textual", "rich", "hermes_tui"):
    assert importlib.util.find_spec(name) is None, name
with SessionDB(sys.argv[1]) as db:
    db.create_session("20260101_120000_abcdef12", "cli")
    db.append_message("20260101_120000_abcdef12", "user", "Where do wheels go?")
with SessionDB(sys.argv[1], read_only=True) as db:
    [message] = db.get_messages("20260101_120000_abcdef12")
    [hit] = db.search_messages("wheels")
    print(__version__, message["content"], hit["snippet"].strip(), sep="\n")
"""


def _run(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _clean_copy(target: Path) -> Path:
    """Copy what git knows or would add: what a clone of this checkout holds."""
    listed = _run("git", "ls-files", "-coz", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():  # a file that is deleted but not yet committed is still listed
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
    return target


class Built:
    """A wheel, and a fresh environment that holds it and its dependencies only."""

    def __init__(self, project: str, folder: Path) -> None:
        source = _clean_copy(folder / "source")
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
        _run(*pip, "wheel", "--no-deps", source / project, "-w", folder / "dist", cwd=folder)
        [self.path] = (folder / "dist").glob("*.whl")
        environment = folder / "environment"
        _run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
        self.bin = environment / BIN
        _run(*pip, "--python", self.bin / "python", "install", self.path, cwd=folder)
        # Nothing of the checkout may be found by chance: an empty folder is where things run.
        self.folder = folder / "empty"
        self.folder.mkdir()

    @property
    def names(self) -> list[str]:
        """What is in the wheel."""
        with zipfile.ZipFile(self.path) as wheel:
            return wheel.namelist()

    @property
    def metadata(self) -> Message:
        """The wheel's METADATA."""
        [name] = (name for name in self.names if name.endswith(".dist-info/METADATA"))
        with zipfile.ZipFile(self.path) as wheel:
            return Parser().parsestr(wheel.read(name).decode("utf-8"))

    @property
    def needs(self) -> set[str]:
        """The packages that are installed with it, without its extras."""
        wanted = self.metadata.get_all("Requires-Dist") or []
        assert all(">=" in each for each in wanted), "every dependency has a lower bound"
        return {re.split(r"[^\w.-]", each)[0] for each in wanted if "extra ==" not in each}

    def python(self, code: str, *arguments: str | Path) -> str:
        """Run code in the fresh environment."""
        return _run(self.bin / "python", "-I", "-c", code, *arguments, cwd=self.folder)


@pytest.fixture(scope="module")
def store_wheel(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built("hermes_store", tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def sessions_wheel(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(".", tmp_path_factory.mktemp("sessions"))


def _package_files(package: str, *patterns: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for path in (ROOT / package).rglob(pattern)
        if "__pycache__" not in path.parts
    }


def _inside(built: Built) -> set[str]:
    return {name for name in built.names if ".dist-info/" not in name}


@store_wheel_test
def test_the_store_wheel_holds_the_store_and_nothing_else(store_wheel: Built) -> None:
    assert store_wheel.metadata["Name"] == "hermes-store"
    assert store_wheel.needs == {"apsw", "pyyaml"}
    assert _inside(store_wheel) == _package_files("hermes_store", "*.py", "py.typed")
    assert not any(name.endswith("entry_points.txt") for name in store_wheel.names)


@store_wheel_test
def test_the_store_works_alone(store_wheel: Built, tmp_path: Path) -> None:
    said = store_wheel.python(_USE_STORE, tmp_path / "state.db")
    version = store_wheel.metadata["Version"]
    assert said == f"{version}\nWhere do wheels go?\nWhere do >>>wheels<<< go?\n"


@sessions_wheel_test
def test_the_sessions_wheel_holds_program_store_and_styles(sessions_wheel: Built) -> None:
    assert sessions_wheel.metadata["Name"] == "hermes-sessions"
    assert sessions_wheel.needs == {"apsw", "pyyaml", "rich", "textual"}
    styles = {f"hermes_tui/{name}" for name in _package_files("styles", "*.tcss")}
    assert styles
    assert _inside(sessions_wheel) == (
        _package_files("hermes_store", "*.py", "py.typed")
        | _package_files("hermes_tui", "*.py", "py.typed")
        | styles
    )


@sessions_wheel_test
@pytest.mark.parametrize("script", ["hermes", "hermes-sessions"])
def test_both_commands_list_sessions(sessions_wheel: Built, script: str, tmp_path: Path) -> None:
    home = os.environ | {"HERMES_HOME": str(tmp_path), "PYTHONUTF8": "1", "PYTHONPATH": ""}
    command = (sessions_wheel.bin / script, "sessions", "list")
    assert _run(*command, env=home, cwd=tmp_path) == "No sessions found.\n"
    sessions_wheel.python(
        "import sys; from hermes_store import SessionDB\n"
        "with SessionDB(sys.argv[1]) as db:\n"
        "    db.create_session('20260101_120000_abcdef12', 'cli')\n"
        "    db.append_message('20260101_120000_abcdef12', 'user', 'Where do wheels go?')\n",
        tmp_path / "state.db",
    )
    listed = _run(*command, env=home, cwd=tmp_path)
    assert "Where do wheels go?" in listed
    assert "20260101_120000_abcdef12" in listed


@sessions_wheel_test
def test_the_styles_are_found_once_installed(sessions_wheel: Built) -> None:
    said = sessions_wheel.python(
        "from importlib.resources import files\n"
        "print(*sorted(each.name for each in files('hermes_tui').joinpath('styles').iterdir()))"
    )
    assert said.split() == sorted(path.name for path in (ROOT / "styles").glob("*.tcss"))
