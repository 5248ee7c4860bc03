"""The tool `session_search` beside the real one, on the same file: same keys, same sessions.

The model that summarizes is left out of the real one, so that both return excerpts.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.hermes_state.session_search import session_search
from hermes_store.records.relation_to_parent import Edge
from tests.support import LONG_AGO, add, add_chain

pytestmark = pytest.mark.peer

_ASK = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
from tools import session_search_tool as tool
async def nothing(*_arguments, **_options):
    return None
tool._summarize_session = nothing
db = SessionDB(db_path=Path(sys.argv[1]))
for line in sys.stdin:
    arguments, current = json.loads(line)
    answer = tool.session_search(
        query=arguments.get("query") or "", role_filter=arguments.get("role_filter"),
        limit=arguments.get("limit", 3), db=db, current_session_id=current)
    print(json.dumps(json.loads(answer)))
db.close()
"""

NUMBERS: tuple[Any, ...] = (1, 3, 5, 50, 0, "2", "many", None)
QUERIES = ("docker", "docker compose", '"compose file"', "docker OR kubernetes",
           "compose NOT kubernetes", "deploy*", "zymurgy", "wallaby", "depths", "chat-send",
           "continued", "quiet")  # fmt: skip
ROLES = (None, "user", "assistant", "user,assistant", "tool", " user , tool ")


def _write(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "a", "docker compose up", "the compose file is wrong", title="first")
        add(db, "b", "kubernetes and docker", at=LONG_AGO + 1_000, ended=LONG_AGO + 1_050)
        db.append_message("b", "assistant", "compose for kubernetes", timestamp=LONG_AGO + 1_010)
        add_chain(db, ["c1", "c2", "c3"], at=LONG_AGO + 2_000)
        db.append_message("c3", "user", "continued with a wallaby", timestamp=LONG_AGO + 2_300)
        add(db, "d", "deploying it", "deployed", at=LONG_AGO + 3_000, source="telegram")
        add(db, "agent", "down in the depths", at=LONG_AGO + 3_010, parent="d", edge=Edge.AGENT)
        add(db, "deeper", "the very depths", at=LONG_AGO + 3_020, parent="agent", edge=Edge.AGENT)
        add(db, "theirs", "docker of others, quiet", at=LONG_AGO + 4_000, source="tool")
        add(db, "e", "chat-send is a function", at=LONG_AGO + 5_000)
        db.append_message(
            "e", "tool", "docker ps", tool_name="terminal", timestamp=LONG_AGO + 5_003
        )


def _theirs(python: str, home: Path, path: Path, asked: list[Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [python, "-c", _ASK, str(path)],
        input="".join(json.dumps(each) + "\n" for each in asked),
        capture_output=True,
        text=True,
        env=os.environ | {"HERMES_HOME": str(home), "HOME": str(home)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _compared(path: Path, asked: list[Any], theirs: list[dict[str, Any]]) -> None:
    assert len(theirs) == len(asked)
    with SessionDB(path) as db:
        for (arguments, current), real in zip(asked, theirs, strict=True):
            ours = session_search(
                db.store, arguments, current_session_id=current, now=LONG_AGO + 9_999
            )
            assert real["success"], real
            assert real.keys() <= ours.keys(), arguments
            if not real["count"]:
                # Where the real one finds nothing, this one widens the search, and says so.
                assert not ours["count"] or ours["message"], arguments
                continue
            assert ours.keys() - real.keys() <= {"message"}, arguments
            assert ours["count"] == real["count"], arguments
            mine = {each["session_id"]: each for each in ours["results"]}
            told = {each["session_id"]: each for each in real["results"]}
            if arguments.get("limit") not in (1, 0, "2") or "query" not in arguments:
                assert mine.keys() == told.keys(), (arguments, current)
            for name in mine.keys() & told.keys():
                assert mine[name].keys() - {"title"} == told[name].keys() - {"title"}
                for key in told[name].keys() - {"summary", "preview"}:
                    assert mine[name][key] == told[name][key], (arguments, name, key)


def test_the_same_sessions_for_the_same_questions(tmp_path: Path, hermes13: str) -> None:
    path = tmp_path / "state.db"
    _write(path)
    asked: list[Any] = [
        [{"query": query, "limit": 5} | ({"role_filter": roles} if roles else {}), current]
        for query in QUERIES
        for roles in ROLES
        for current in (None, "a", "c2", "agent")
    ]
    asked += [[{"query": "docker", "limit": number}, None] for number in NUMBERS]
    _compared(path, asked, _theirs(hermes13, tmp_path, path, asked))


def test_the_same_recent_sessions(tmp_path: Path, hermes13: str) -> None:
    path = tmp_path / "state.db"
    _write(path)
    asked: list[Any] = [
        [arguments, current]
        for arguments in ({}, {"query": ""}, {"query": None}, {"query": "  ", "limit": "2"},
                          {"limit": 5}, {"limit": 99}, {"limit": None})
        for current in (None, "a", "c3", "d", "not stored yet")
    ]  # fmt: skip
    _compared(path, asked, _theirs(hermes13, tmp_path, path, asked))
