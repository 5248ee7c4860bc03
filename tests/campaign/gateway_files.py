"""Compare the gateway's files of a home with its database."""

from __future__ import annotations

from pathlib import Path

from hermes_store import Store
from hermes_store.gateway import transcript_repair
from hermes_store.gateway.transcript_files import Transcripts
from hermes_store.gateway.transcript_repair import Difference

_FINE = (Difference.NONE, Difference.TORN, Difference.BEHIND)


def gateway_faults(home: Path) -> list[str]:
    """Return what is wrong with the transcripts and with sessions.json."""
    folder = home / "sessions"
    if not folder.is_dir():
        return []
    broken = []
    with Store(home / "state.db") as store:
        with store.database.read() as tx:
            compared = list(transcript_repair.compare_all(tx, folder))
            lost, whole = transcript_repair.lost_routes(tx, folder)
        for each in compared:
            if each.difference not in _FINE:
                broken.append(f"{each.path.name}: {each.difference.value}.")
                continue
            Transcripts(folder).catch_up(store.database, each.path.stem)
            with store.database.read() as tx:
                again = transcript_repair.compare(tx, each.path)
            if again.difference is not Difference.NONE:
                broken.append(f"{each.path.name} is not mended: {again.difference.value}.")
    broken += [f"{lost} routes lead nowhere."] if lost else []
    broken += [] if whole else ["sessions.json is damaged."]
    return broken
