"""Random families of sessions, and a driver that asks either store about them.

What this store does differently on purpose is left out, by version; docs/compatibility.md names it.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import apsw

DRIVER = """
import json, sys
from pathlib import Path
if sys.argv[1] == "real":
    from hermes_state import SessionDB
else:
    from hermes_store import SessionDB
db = SessionDB(db_path=Path(sys.argv[2]))
answers = []
if len(sys.argv) > 3:
    ids = json.loads(sys.argv[3])
    for by_activity in (False, True):
        rows = db.list_sessions_rich(limit=10_000, order_by_last_active=by_activity)
        answers.append([[row["id"], row.get("_lineage_root_id"), row["title"], row.get("cwd")]
                        for row in rows])
    answers.append([db.get_compression_tip(each) for each in ids])
    # The oldest version leaves going to the tip to its command.
    first = db.get_compression_tip if sys.argv[1] == "real" else (lambda each: each)
    answers.append([db.resolve_resume_session_id(first(each)) for each in ids])
db.close()
print(json.dumps(answers))
"""

START = 1_700_000_000.0


@dataclass(frozen=True)
class Knows:
    """What a version of Hermes Agent knows about children."""

    markers: bool = True
    resets: bool = True
    forks: bool = True
    """Whether several continuations of one session are told apart by more than their start."""


@dataclass
class Session:
    """A session to be written."""

    id: str
    parent: Session | None
    source: str
    started: float
    ended: float | None
    reason: str | None
    config: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    said: list[float] = field(default_factory=list)
    continuations: int = 0


class Family:
    """Draws families; times never repeat, so that no order is a matter of taste."""

    def __init__(self, seed: int, knows: Knows) -> None:
        self._draw = random.Random(seed)
        self._knows = knows
        self._used: set[float] = set()
        self.members: list[Session] = []
        for number in range(self._draw.randint(2, 9)):
            self.members.append(self._member(f"s{seed:04}_{number}"))

    def _moment(self, low: float, high: float) -> float:
        while (moment := round(self._draw.uniform(low, high), 3)) in self._used:
            pass
        self._used.add(moment)
        return START + moment

    def _member(self, name: str) -> Session:
        draw = self._draw
        parent = draw.choice([None, *self.members, *self.members])
        # Before or after its parent's end, but always after its start.
        low = parent.started - START + 1 if parent else 0
        started = self._moment(low, low + draw.choice((30, 400)))
        ended = draw.choice((None, self._moment(started - START + 1, started - START + 100)))
        reasons = ["compression", "compression", "branched", "user_exit", "session_reset"]
        reason = draw.choice(reasons) if ended else None
        made = Session(name, parent, draw.choice(("cli", "telegram")), started, ended, reason)
        made.key = draw.choice((None, "key a", "key b")) if self._knows.resets else None
        made.said = [
            self._moment(started - START, started - START + 200)
            for _ in range(draw.choice((0, 1, 2)))
        ]
        if parent is not None:
            self._relate(made, parent)
        return made

    def _relate(self, child: Session, parent: Session) -> None:
        """Mark a child where a child without a mark would be understood differently."""
        knows, draw = self._knows, self._draw
        if parent.reason == "compression":
            late = parent.ended is not None and child.started >= parent.ended
            free = knows.markers and (knows.forks or not parent.continuations)
            if not knows.markers:
                free = late and not parent.continuations
            kinds = ["continuation"] if free else []
            kinds += ["_branched_from", "_delegate_from", "tool"] if knows.markers else []
        elif parent.reason == "branched" and not knows.markers:
            kinds = ["continuation"]
        else:
            kinds = ["_branched_from", "_delegate_from"] if knows.markers else []
            if knows.resets and parent.reason == "session_reset":
                kinds += ["_reset_from", "same key"]
        kind = draw.choice(kinds) if kinds else "none"
        if kind == "none":
            child.parent = None
        elif kind == "continuation":
            parent.continuations += 1
        elif kind == "tool":
            child.source = "tool"
        elif kind == "same key":
            child.key = parent.key = parent.key or "key c"
        else:
            child.config[kind] = parent.id


def write(con: apsw.Connection, families: list[Family]) -> list[str]:
    """Write families into an empty file of any version; return all ids."""
    present = {row[1] for row in con.execute("PRAGMA table_info(sessions)")}
    ids = []
    for family in families:
        for each in family.members:
            row: dict[str, Any] = {
                "id": each.id,
                "source": each.source,
                "parent_session_id": each.parent.id if each.parent else None,
                "started_at": each.started,
                "ended_at": each.ended,
                "end_reason": each.reason,
                "model_config": json.dumps(each.config) if each.config else None,
                "title": f"title of {each.id}",
                "message_count": len(each.said),
                "session_key": each.key,
                "cwd": f"/src/{each.id}",
            }
            row = {name: value for name, value in row.items() if name in present}
            con.execute(
                f"INSERT INTO sessions({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                tuple(row.values()),
            )
            for moment in sorted(each.said):
                con.execute(
                    "INSERT INTO messages(session_id, role, content, timestamp) "
                    "VALUES (?, 'user', ?, ?)",
                    (each.id, f"in {each.id}", moment),
                )
            ids.append(each.id)
    return ids
