"""Any value of any type in any column: every command still answers, or says why it cannot."""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_tui.cli.main import run
from hermes_tui.crash_log import BUG
from tests import odd_files
from tests.odd_files import START, WORD, Broken
from tests.store import newer
from tests.support import add, raw

ODD = (
    None, "", "abc", 0, -1, 1.5, START * 1000, 1e300, -1e18, float("inf"), float("-inf"),
    2**63 - 1, -(2**63), b"", b"blob", b"\xff\x00\xfe", "\x00json:[1", '{"a": [1]}', "[1, {}]",
    "1e400", "nan", " 17 ", "\x1b[31m", "user", "compression", "x" * 300, Broken(b"ab\xe4c"),
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(ODD),
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
    st.binary(max_size=8).map(Broken),
)

READING = (
    ["list"], ["list", "--limit", "0", "--archived"], ["list", "--source", "cli"], ["stats"],
    ["search", WORD], ["search", "zebrafsh", "--sort", "oldest"], ["search", "the OR a OR title:x"],
    ["search", WORD, "--sort", "relevance"], ["search", "before:1d has:tools is:root"],
    ["recall", WORD], ["recall", WORD, "--raw"], ["insights", "--days", "36500"], ["trash"],
    ["prune", "--dry-run", "--older-than", "1"], ["prune", "--dry-run", "--where", "before:1d"],
    ["export", "-"], ["export", "-", "--format", "md"], ["export", "-", "--format", "html"],
    ["export", "-", "--redact"], ["doctor"], ["completions", "--values", "sessions"],
    ["completions", "--values", "searches"], ["completions", "--values", "tags"],
)  # fmt: skip
ABOUT_ONE = (
    ["show", "--no-pager"], ["show", "--format", "md", "--no-pager"], ["show", "--format", "json"],
    ["tree"],
)  # fmt: skip
CHANGING = (
    ["archive"], ["unarchive"], ["pin"], ["unpin"], ["tag"], ["untag"], ["rename"], ["delete"],
)  # fmt: skip
AFTERWARDS = (
    ["trash"], ["restore", "--last"], ["prune", "--older-than", "1", "--yes", "--include-open"],
    ["restore"], ["list"], ["optimize"], ["trash", "empty", "--yes"], ["doctor"],
)  # fmt: skip


def ran(home: Path, *arguments: str) -> str:
    """Run a command; it must end with an answer or a sentence, whatever the database holds."""
    out, err = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["hermes"]),
        patch.object(sys, "stdin", io.StringIO("")),
        patch.dict("os.environ", {"HERMES_HOME": str(home), "HOME": str(home)}),
    ):
        code = run(arguments)
    said = err.getvalue()
    if BUG in said:
        logs = sorted((home / "logs").iterdir(), key=lambda path: path.stat().st_mtime)
        pytest.fail(f"{arguments}: {said}\n{logs[-1].read_text(encoding='utf-8')}")
    assert code in (0, 1, 2), (arguments, code)
    # A child without an id keeps its parent from being deleted; that is said, and nothing is lost.
    assert "refused the change" not in said or "FOREIGN KEY" in said, (arguments, said)
    return out.getvalue() + said


def ids(home: Path) -> list[str]:
    with raw(home / "state.db") as con:
        found = con.execute("SELECT CAST(id AS BLOB) FROM sessions WHERE typeof(id) = 'text'")
        return [each.decode("utf-8", "replace") for (each,) in found]


def use_everything(home: Path) -> None:
    """Run every command, those that only read with and without JSON."""
    for command in READING:
        ran(home, "sessions", *command)
        if command[0] not in ("export", "completions"):
            ran(home, "sessions", *command, "--json")
    for each in [*ids(home)[:4], "none"]:
        for command in ABOUT_ONE:
            ran(home, "sessions", *command, "--", each)
        ran(home, "-r", each, "--print")
    ran(home, "-c", "--print")
    for each, command in zip(ids(home) * 8, CHANGING, strict=False):
        more = {"tag": ["t"], "untag": ["t"], "rename": ["new name"]}.get(command[0], [])
        flags = ["--yes", "--force"] if command[0] == "delete" else []
        ran(home, "sessions", *command, *flags, "--", each, *more)
    for command in AFTERWARDS:
        ran(home, "sessions", *command)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with ordinary databases: ours, one that only Hermes Agent wrote, a newer one."""
    made = {name: tmp_path_factory.mktemp(name) for name in ("ours", "untouched", "newer")}
    odd_files.make(made["ours"] / "state.db")
    odd_files.make(made["untouched"] / "state.db")
    odd_files.without_activity(made["untouched"] / "state.db")
    transcripts = made["ours"] / "sessions"
    transcripts.mkdir()
    line = json.dumps({"role": "user", "content": f"asked about {WORD}", "timestamp": START})
    for name in ("plain", "branch", "gone"):
        (transcripts / f"{name}.jsonl").write_text(f"{line}\n")
    newer.make(made["newer"] / "state.db")
    other = newer.Newer(made["newer"] / "state.db")
    for number in range(3):
        other.session(f"n{number}", at=START + number, title=f"t{number}", ended_at=START + 9)
        other.message(f"n{number}", f"{WORD} {number}", at=START + number)
        other.put("session_model_usage", session_id=f"n{number}", model="m")
    other.put("compression_locks", session_id="n1", holder="h", expires_at=1.0)
    other.close()
    return made


@pytest.mark.parametrize("kind", ["ours", "untouched", "newer"])
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),  # making an example smaller takes minutes
)
@given(values=st.lists(VALUES, min_size=1, max_size=6), share=st.sampled_from([0.1, 0.5, 1.0]),
       seed=st.integers(0, 10_000))  # fmt: skip
@example(values=list(ODD), share=0.5, seed=1)
@example(values=list(ODD), share=0.2, seed=2)
def test_any_value_anywhere(
    templates: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    values: list[Any],
    share: float,
    seed: int,
) -> None:
    home = tmp_path_factory.mktemp("odd") / "home"
    shutil.copytree(templates[kind], home)
    chance = random.Random(seed)

    def some(table: str, column: str, old: Any) -> Any:
        return chance.choice(values) if chance.random() < share else old

    for path in (home / "state.db", path_for(home / "state.db")):
        if path.exists():
            odd_files.fill(path, some)
    use_everything(home)
    shutil.rmtree(home)


@pytest.mark.parametrize(
    "column",
    ["sessions.started_at", "sessions.ended_at", "sessions.message_count", "sessions.source",
     "sessions.title", "sessions.id", "sessions.model_config", "messages.timestamp",
     "messages.content", "messages.role", "messages.tool_calls"],
)  # fmt: skip
def test_all_odd_values_in_one_column(many: Path, tmp_path: Path, column: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(many, home)
    table, name = column.split(".")
    with raw(home / "state.db") as con:
        for row, value in enumerate(ODD, 1):
            # No database can hold NULL where the schema has NOT NULL.
            with suppress(apsw.ConstraintError):
                mark, new = odd_files.bound(value)
                con.execute(f"UPDATE {table} SET {name} = {mark} WHERE rowid = ?", (new, row))
    for command in READING:
        ran(home, "sessions", *command)
    for each in ids(home)[:3]:
        ran(home, "sessions", "show", "--no-pager", "--", each)
        ran(home, "sessions", "tree", "--", each)
    if column != "sessions.id":
        listed = json.loads(ran(home, "sessions", "list", "--limit", "0", "--json"))["sessions"]
        assert {row["id"] for row in listed} == {f"s{number}" for number in range(len(ODD))}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session for every odd value."""
    folder = tmp_path_factory.mktemp("many")
    with SessionDB(folder / "state.db") as db:
        for number in range(len(ODD)):
            add(db, f"s{number}", f"{WORD} {number}", at=START + number, ended=START + 99)
    return folder


def test_deeply_nested_content_is_printed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with SessionDB(home / "state.db") as db:
        add(db, "deep", "x")
    with raw(home / "state.db") as con:
        for depth in (90, 400, 900, 5_000):
            nested = "\x00json:" + "[" * depth + "1" + "]" * depth
            con.execute("UPDATE messages SET content = ?, tool_calls = ?", (nested, nested[6:]))
            for arguments in (["show", "deep", "--json"], ["show", "deep", "--no-pager"], ["list"]):
                ran(home, "sessions", *arguments)
            ran(home, "sessions", "search", "1", "--json")
            ran(home, "-r", "deep", "--print")
