"""Whatever is stored, no command lets it act on the terminal."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.cli.common import output
from hermes_tui.cli.main import run
from hermes_tui.cli.verb_table import VERBS
from hermes_tui.crash_log import BUG
from tests import odd_files
from tests.odd_files import ESCAPES, WORD
from tests.support import raw

ID = f"plain{ESCAPES}{WORD}"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
OWN = re.compile(r"\x1b\[[0-9;]*m")
"""What a printer adds on a terminal; no such sequence is stored."""

CALLS: dict[str, list[list[str]]] = {
    "browse": [[]],
    "list": [[], ["--limit", "0", "--archived"], ["--all-profiles"]],
    "search": [[WORD], ["zebrafsh"], ["nothing-at-all"], [f"source:{ESCAPES}"]],
    "recall": [[WORD], [WORD, "--raw"]],
    "show": [[ID], [ID, "--format", "md"], [ID, "--format", "json"], [f"none{ESCAPES}"]],
    "tree": [[ID]],
    "rename": [[ID, f"new {ESCAPES} name"]],
    "delete": [[ID, "--yes", "--force"], ["plain"], [ID, "--permanently", "--yes", "--force"]],
    "prune": [["--older-than", "0", "--dry-run"], ["--title", WORD, "--dry-run"]],
    "auto-prune": [[]],
    "restore": [["--last"], [f"no{ESCAPES}"]],
    "trash": [[], ["empty", "--yes"]],
    "archive": [[ID], ["--older-than", "0", "--dry-run"]],
    "unarchive": [[ID]],
    "pin": [[ID]],
    "unpin": [[ID]],
    "pinned": [[]],
    "tag": [[ID, "home"]],
    "untag": [[ID, "work"]],
    "export": [["-"], ["-", "--format", "md"], ["-", "--format", "html"]],
    "import": [[f"no{ESCAPES}.jsonl"], ["evil.jsonl"]],
    "push": [["--to", f"no{ESCAPES}"], ["--to", f"postgresql://{ESCAPES}@localhost:1/x"]],
    "pull": [["--from", f"no{ESCAPES}", ID], ["--all", ID]],
    "postgres": [["index"], ["grant", f"no{ESCAPES}"]],
    "stats": [[]],
    "insights": [["--days", "99999"]],
    "optimize": [[]],
    "doctor": [[]],
    "repair": [["--check-only"]],
    "config": [["show"], ["check"]],
    "completions": [["--values", "sessions"], ["--values", "sources"], [f"sh{ESCAPES}"]],
}


class Terminal(io.StringIO):
    """Takes what is written, and says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module", params=[False, True], ids=["texts", "choices"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("escapes")
    odd_files.with_escapes(folder / "state.db", choices=request.param)
    line = {"id": f"in{ESCAPES}", "source": ESCAPES, "title": ESCAPES, ESCAPES: 1, "messages": []}
    (folder / "evil.jsonl").write_text(f"{json.dumps(line)}\n")
    return folder


@pytest.fixture
def place(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    shutil.copytree(sample, folder)
    monkeypatch.setenv("HERMES_HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PAGER", "cat > paged")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(folder)
    yield folder


def outcome(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> tuple[int, str]:
    """Run a command as on a terminal, and return its exit code and all that it wrote."""
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setattr(sys, "argv", ["hermes"])
    try:
        code = run(arguments)
    except SystemExit as left:
        code = int(left.code or 0)
    paged = Path("paged").read_text(encoding="utf-8") if Path("paged").exists() else ""
    return code, out.getvalue() + err.getvalue() + paged


def commands() -> Iterator[list[str]]:
    for verb, described in VERBS.items():
        for call in CALLS[verb]:
            yield ["sessions", verb, *call]
            if described.reports:
                yield ["sessions", verb, *call, "--json"]
    yield ["-r", ID, "--print"]
    yield ["-c", f"no{ESCAPES}"]


@pytest.mark.parametrize("arguments", commands(), ids=lambda each: ascii(" ".join(each))[1:40])
def test_nothing_stored_acts_on_the_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    if "--days" in arguments:
        _date(place)
    code, written = outcome(monkeypatch, arguments)
    rest = OWN.sub("", written)
    found = ACTS.search(rest)
    assert found is None, f"{found[0]!r} in {rest[max(0, found.start() - 60) :][:120]!r}"
    assert code in (0, 1, 2)
    assert "Traceback" not in written and "bug in this program" not in written


def _date(place: Path) -> None:
    """Give the sessions times, without which no statistics count them."""
    with raw(place / "state.db") as con:
        con.execute("UPDATE sessions SET started_at = ?", (odd_files.START,))


def test_the_test_reaches_what_is_stored(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["list"], ["search", WORD], ["show", ID], ["tree", ID], ["trash"]):
        code, written = outcome(monkeypatch, ["sessions", *arguments])
        assert code == 0 and "␛]0;pwned␇" in written, (arguments, written)


def test_json_keeps_its_value(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, written = outcome(monkeypatch, ["sessions", "list", "--json"])
    assert ID in [row["id"] for row in json.loads(written)["sessions"]]
    _, written = outcome(monkeypatch, ["sessions", "export", "-"])
    assert ID in [json.loads(line)["id"] for line in written.splitlines()]


ELSEWHERE = {
    "output": {"print", "sys.stdout"},  # the printer itself
    "main": {"print", "sys.stdout"},  # help and version, and what remains of a broken pipe
    "progress": {"print"},
    "chat": {"print", "sys.stdout"},  # an answer as it arrives, cleaned piece by piece
    "hermes_agent": {"sys.stdout"},  # flushed before another program takes over
    "show": {"sys.stdout"},  # whether there is a terminal for a pager
    "browse": {"sys.stdout"},
}


def test_only_the_printer_prints() -> None:
    folder = Path(output.__file__).parent.parent
    for path in folder.rglob("*.py"):
        used = {
            name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if (name := _name(node)) in ("print", "sys.stdout")
        }
        assert used <= ELSEWHERE.get(path.stem, set()), path


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


def test_a_line_cannot_be_forged() -> None:
    out = Terminal()
    output.Printer(out).line(output.strong("one\nDeleted everything."), " two\r\nthree")
    assert out.getvalue() == "\x1b[1mone␊Deleted everything.\x1b[0m two␊three\n"


def test_what_another_program_reads_stays_as_it_is() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for out in (pipe, terminal):
        output.Printer(out).value(ID)
    assert pipe.getvalue() == f"{ID}\n"
    assert ACTS.search(terminal.getvalue()[:-1]) is None


def test_an_unexpected_error_is_a_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ValueError(f"could not convert {ESCAPES} secret words")

    monkeypatch.setattr("hermes_tui.cli.stats.run", fail)
    code, written = outcome(monkeypatch, ["sessions", "stats"])
    assert code == 1 and BUG in written and ACTS.search(written) is None
    assert "secret words" not in written and "Traceback" not in written
    [log] = (place / "logs").iterdir()
    assert "builtins.ValueError" in log.read_text() and "could not convert" in log.read_text()
    assert ESCAPES not in log.read_text()


def test_a_warning_is_a_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object) -> int:
        logging.getLogger("hermes_store.test").warning("about %s", ESCAPES)
        return 0

    monkeypatch.setattr("hermes_tui.cli.stats.run", warn)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    code, written = outcome(monkeypatch, ["sessions", "stats"])
    assert code == 0 and written.startswith("hermes: about ␛") and ACTS.search(written) is None
