"""Both wheels, built from what a clone would hold, installed where nothing else is, and used.

The checkout itself is never built in. Dependencies come from wherever pip is set up to look, and
so do pipx and uv. What is run to install is what the README says.
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

SCRIPTS = ("hermes", "hermes-sessions")
PATIENCE = 900
"""Seconds that one command may take on a machine that is busy with other tests."""

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
        timeout=PATIENCE,
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


PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def _environment(folder: Path, *installed: str) -> Path:
    """Make a fresh environment that holds some packages; return its folder of commands."""
    _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    if installed:
        _run(*PIP, "--python", folder / BIN / "python", "install", *installed, cwd=folder)
    return folder / BIN


def _documented(beginning: str) -> str:
    """Return the line of both READMEs that installs everything with a certain tool."""
    [line, *others] = {
        line.partition("  #")[0].rstrip()
        for page in ("README.md", "hermes_store/README.md")
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
        if line.startswith(beginning)
    }
    assert not others, "the READMEs differ"
    return line


def _surroundings(commands: Path, **more: str | Path) -> dict[str, str]:
    """Return variables for a shell that finds some commands first, and a few more of them."""
    path = os.pathsep.join((str(commands), os.environ["PATH"]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    named = {name: str(value) for name, value in more.items()}
    return kept | {"PATH": path, "PYTHONUTF8": "1"} | named


class Built:
    """A wheel, and a fresh environment into which a command of the README installed it."""

    def __init__(self, project: str, command: str, folder: Path) -> None:
        source = _clean_copy(folder / "source")
        _run(*PIP, "wheel", "--no-deps", source / project, "-w", folder / "dist", cwd=folder)
        [self.path] = (folder / "dist").glob("*.whl")
        self.bin = _environment(folder / "environment", "pip")
        _run("sh", "-c", command, env=_surroundings(self.bin), cwd=source)
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
    folder = tmp_path_factory.mktemp("store")
    return Built("hermes_store", "pip install ./hermes_store", folder)


@pytest.fixture(scope="module")
def sessions_wheel(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(".", _documented("pip install"), tmp_path_factory.mktemp("sessions"))


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
    assert store_wheel.needs == {"apsw", "filelock", "pyyaml"}
    assert _inside(store_wheel) == _package_files("hermes_store", "*.py", "py.typed")
    assert not any(name.endswith("entry_points.txt") for name in store_wheel.names)


@store_wheel_test
def test_the_store_works_alone(store_wheel: Built, tmp_path: Path) -> None:
    said = store_wheel.python(_USE_STORE, tmp_path / "state.db")
    version = store_wheel.metadata["Version"]
    assert said == f"{version}\nWhere do wheels go?\nWhere do >>>wheels<<< go?\n"


@sessions_wheel_test
def test_the_sessions_wheel_holds_program_and_styles_and_needs_the_store(
    sessions_wheel: Built,
) -> None:
    assert sessions_wheel.metadata["Name"] == "hermes-sessions"
    assert sessions_wheel.needs == {
        "hermes-store",
        "markdown-it-py",
        "python-dotenv",
        "pyyaml",
        "rich",
        "shtab",
        "textual",
    }
    styles = {f"hermes_tui/{name}" for name in _package_files("styles", "*.tcss")}
    assert styles
    program = _package_files("hermes_tui", "*.py", "py.typed", "*.txt")
    assert _inside(sessions_wheel) == program | styles


_SAVE = r"""
import sys; from hermes_store import SessionDB
with SessionDB(sys.argv[1]) as db:
    db.create_session('20260101_120000_abcdef12', 'cli')
    db.append_message('20260101_120000_abcdef12', 'user', 'Where do wheels go?')
"""


def _assert_lists(python: Path, script: Path, home: Path) -> None:
    """Run an installed command on a new home: first without, then with a session."""
    home.mkdir()
    env = os.environ | {"HERMES_HOME": str(home), "PYTHONUTF8": "1", "PYTHONPATH": ""}
    command = (script, "sessions", "list")
    assert _run(*command, env=env, cwd=home) == "No conversations yet.\n"
    _run(python, "-I", "-c", _SAVE, home / "state.db", cwd=home)
    listed = _run(*command, env=env, cwd=home)
    assert "Where do wheels go?" in listed
    assert "20260101_120000_abcdef12" in listed


@sessions_wheel_test
@pytest.mark.parametrize("script", SCRIPTS)
def test_both_commands_list_sessions(sessions_wheel: Built, script: str, tmp_path: Path) -> None:
    _assert_lists(sessions_wheel.bin / "python", sessions_wheel.bin / script, tmp_path / "home")


@sessions_wheel_test
def test_the_demo_opens_once_installed(sessions_wheel: Built, tmp_path: Path) -> None:
    env = os.environ | {"HERMES_HOME": str(tmp_path), "PYTHONUTF8": "1", "PYTHONPATH": ""}
    command = (sessions_wheel.bin / "hermes", "sessions", "browse", "--demo", "--limit", "50")
    assert "Fix CI out-of-memory" in _run(*command, env=env, cwd=tmp_path)


@sessions_wheel_test
def test_the_styles_are_found_once_installed(sessions_wheel: Built) -> None:
    said = sessions_wheel.python(
        "from importlib.resources import files\n"
        "print(*sorted(each.name for each in files('hermes_tui').joinpath('styles').iterdir()))"
    )
    assert said.split() == sorted(path.name for path in (ROOT / "styles").glob("*.tcss"))


_FOUND = r"""
import importlib.util
print(*(name for name in ("hermes_store", "hermes_tui") if importlib.util.find_spec(name)))
"""


@pytest.mark.xdist_group("uninstalling")
def test_uninstalling_one_leaves_the_other_whole(tmp_path: Path) -> None:
    source = _clean_copy(tmp_path / "source")
    commands = _environment(tmp_path / "environment")
    python, pip = commands / "python", (*PIP, "--python", commands / "python")

    def installed() -> str:
        return _run(python, "-I", "-c", _FOUND, cwd=tmp_path).strip()

    _run(*pip, "install", "./hermes_store", ".", cwd=source)
    assert installed() == "hermes_store hermes_tui"
    _run(*pip, "uninstall", "--yes", "hermes-sessions", cwd=tmp_path)
    assert installed() == "hermes_store"
    assert not any((commands / script).exists() for script in SCRIPTS)
    _run(python, "-I", "-c", _SAVE, tmp_path / "state.db", cwd=tmp_path)
    _run(*pip, "install", "--no-deps", ".", cwd=source)
    _run(*pip, "uninstall", "--yes", "hermes-store", cwd=tmp_path)
    assert installed() == "hermes_tui"
    _run(python, "-I", "-c", "import hermes_tui.widgets.lru_cache", cwd=tmp_path)


@pytest.mark.xdist_group("editable")
def test_an_editable_installation_runs_what_is_in_the_clone(tmp_path: Path) -> None:
    source = _clean_copy(tmp_path / "source")
    commands = _environment(tmp_path / "environment")
    pip = (*PIP, "--python", commands / "python")
    _run(*pip, "install", "--no-deps", "-e", "./hermes_store", "-e", ".", cwd=source)
    code = "import hermes_store, hermes_tui; print(hermes_store.__file__, hermes_tui.__file__)"
    found = _run(commands / "python", "-I", "-c", code, cwd=tmp_path).split()
    assert found == [str(source / name / "__init__.py") for name in ("hermes_store", "hermes_tui")]


@pytest.mark.xdist_group("pipx")
def test_pipx_installs_everything(tmp_path: Path) -> None:
    source = _clean_copy(tmp_path / "source")
    commands = _environment(tmp_path / "tools", "pipx>=1.7.1")
    links, home = tmp_path / "links", tmp_path / "pipx"
    env = _surroundings(
        commands,
        PIPX_HOME=home,
        PIPX_BIN_DIR=links,
        PIPX_MAN_DIR=tmp_path / "manuals",
        PIPX_DEFAULT_PYTHON=sys.executable,
        PIPX_DEFAULT_BACKEND="pip",
    )
    _run("sh", "-c", _documented("pipx install"), env=env, cwd=source)
    python = home / "venvs" / "hermes-sessions" / BIN / "python"
    for script in SCRIPTS:
        _assert_lists(python, links / script, tmp_path / f"home of {script}")


@pytest.mark.xdist_group("uv")
def test_uv_installs_everything(tmp_path: Path) -> None:
    source = _clean_copy(tmp_path / "source")
    commands = _environment(tmp_path / "tools", "uv>=0.5")
    # uv does not read the settings of pip, so pip fetches what uv is going to need.
    house, links, tools = tmp_path / "house", tmp_path / "links", tmp_path / "installed"
    _run(*PIP, "wheel", "./hermes_store", ".", "hatchling>=1.27", "-w", house, cwd=source)
    for wheel in house.glob("hermes_*.whl"):
        wheel.unlink()  # these it must find in the clone
    env = _surroundings(
        commands,
        UV_NO_INDEX="1",
        UV_FIND_LINKS=house,
        UV_CACHE_DIR=tmp_path / "cache",
        UV_TOOL_DIR=tools,
        UV_TOOL_BIN_DIR=links,
        UV_PYTHON=sys.executable,
        UV_PYTHON_DOWNLOADS="never",
    )
    _run("sh", "-c", _documented("uv tool install"), env=env, cwd=source)
    python = tools / "hermes-sessions" / BIN / "python"
    for script in SCRIPTS:
        _assert_lists(python, links / script, tmp_path / f"home of {script}")
