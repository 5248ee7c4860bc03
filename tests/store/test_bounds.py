"""Files of a gigabyte on one line: refused in a sentence, in little memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.store import processes

GIGABYTE = 1_000_000_000

# A process that may not use more than a gigabyte and a bit, files and stacks included.
READ = """
import resource, sys
from pathlib import Path
from hermes_store import SessionDB, StoreError, load_config
from hermes_store.gateway import MessageSource, SessionRouter, Transcripts
from hermes_store.gateway import transcript_repair
limit = 1_100_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
what, home = sys.argv[1], Path(sys.argv[2])
try:
    if what == "config":
        load_config(home)
    with SessionDB(home / "state.db") as db:
        folder = home / "sessions"
        if what == "import":
            db.store.transfer.import_file(home / "big.jsonl")
        elif what == "routes":
            with db.store.database.read() as tx:
                assert transcript_repair.lost_routes(tx, folder) == (0, False)
            SessionRouter(db.store).incoming(MessageSource(platform="telegram", chat_id="1"))
        elif what == "transcript":
            found = Transcripts(folder).read("a")
            print(len(found.messages), found.torn is not None, len(found.faulty_lines))
            with db.store.database.read() as tx:
                print(transcript_repair.compare(tx, folder / "a.jsonl").difference.name)
            print(Transcripts(folder).catch_up(db.store.database, "a"))
except StoreError as error:
    print(error)
"""


def _make(path: Path, first: str = "", last: bytes = b"") -> Path:
    """Make a file with a long line of NUL, which takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(first.encode())
        file.seek(GIGABYTE)
        file.write(b"\0" + last)
    return path


@pytest.mark.parametrize(
    ("what", "name", "words"),
    [
        ("config", "config.yaml", "is larger than"),
        ("import", "big.jsonl", "Line 2 of"),
        ("routes", "sessions/sessions.json", "is larger than"),
    ],
)
def test_a_file_of_a_gigabyte_is_refused(home: Path, what: str, name: str, words: str) -> None:
    line = json.dumps({"id": "a", "source": "cli", "started_at": 1, "messages": []})
    path = _make(home / name, line + "\n{" if what == "import" else "")
    said = processes.run(READ, what, home).strip()
    assert words in said
    assert said.endswith(".")
    assert path.stat().st_size == GIGABYTE + 1


@pytest.mark.parametrize("last", [b"", b"\n"])
def test_a_transcript_with_a_line_of_a_gigabyte_is_read(home: Path, last: bytes) -> None:
    first = json.dumps({"role": "user", "content": "hi", "timestamp": 1}) + "\n"
    path = _make(home / "sessions" / "a.jsonl", first, last)
    counts, difference, added = processes.run(READ, "transcript", home).splitlines()
    assert counts == ("1 False 1" if last else "1 True 0")
    assert difference == "FAULTY"
    assert added == "0"
    # A line that is cut off goes, as always; anything else stays.
    assert path.stat().st_size == (GIGABYTE + 2 if last else len(first))
