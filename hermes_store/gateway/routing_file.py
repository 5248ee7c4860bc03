"""sessions.json: the session of each key, in the format of Hermes Agent.

Unknown content is preserved. A change replaces the whole file, under a lock that all processes
share. A damaged file is kept under another name, and its entries are rebuilt from what is
readable and from the database.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite, nan
from pathlib import Path
from typing import Any

from hermes_store.config.paths import create_folder
from hermes_store.errors import BadFile
from hermes_store.gateway import file_lock

FILE_NAME = "sessions.json"
MOST_BYTES = 64 * 1024 * 1024
"""The largest file that is read: about a hundred thousand entries."""

# The exact time of `updated_at`, which is local time without a zone and so ambiguous when clocks
# go back in autumn. Hermes Agent ignores it and leaves it out.
_EXACT = "updated_epoch"
_QUARTER = 900
_DAY = 86_400
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")

log = logging.getLogger("hermes_store.gateway")

Recover = Callable[[], Mapping[str, "Route"]]


@dataclass(frozen=True, slots=True)
class Route:
    """One entry: a key and its session."""

    key: str
    session_id: str
    updated_at: float
    fields: Mapping[str, Any]
    """All fields of the entry, as in the file."""

    @classmethod
    def new(
        cls,
        key: str,
        session_id: str,
        now: float,
        more: Mapping[str, Any],
        before: Route | None = None,
    ) -> Route:
        """Return an entry for a session that is used from now on.

        Unknown fields of the entry `before` it are kept.
        """
        kept = {} if before is None else before.fields
        begun = {"session_key": key, "session_id": session_id, "created_at": local_time(now)}
        fields = {**begun, **kept, **begun, **_BLANK, **more}
        return cls(key, session_id, 0.0, fields).changed(now, reset_claimed_until=None)

    @classmethod
    def read(cls, key: str, fields: Any) -> Route | None:
        """Return an entry of the file, None if it is unusable."""
        if not isinstance(fields, dict) or not isinstance(fields.get("session_id"), str):
            return None
        moment = _moment(fields)
        if moment is None or not fields["session_id"]:
            return None
        return cls(key, fields["session_id"], moment, fields)

    def renamed(self, key: str) -> Route:
        """Return the entry under another key."""
        return replace(self, key=key, fields={**self.fields, "session_key": key})

    def changed(self, now: float, **more: Any) -> Route:
        """Return the entry updated now with some fields; None removes a field."""
        moment = {"updated_at": local_time(now), _EXACT: now}
        fields = {**self.fields, **moment, **more}
        kept = {
            name: value for name, value in fields.items() if name not in more or value is not None
        }
        return Route(self.key, str(fields["session_id"]), now, kept)


_BLANK: dict[str, Any] = {
    "display_name": None,
    "platform": None,
    "chat_type": "dm",
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "total_tokens": 0,
    "last_prompt_tokens": 0,
    "estimated_cost_usd": 0.0,
    "cost_status": "unknown",
    "expiry_finalized": False,
    "suspended": False,
    "resume_pending": False,
    "resume_reason": None,
    "last_resume_marked_at": None,
    "is_fresh_reset": False,
}


def local_time(moment: float) -> str:
    """Return a time as Hermes Agent writes it: ISO, local, without a zone."""
    return datetime.fromtimestamp(moment).isoformat()


def _moment(fields: Mapping[str, Any]) -> float | None:
    try:
        said = datetime.fromisoformat(fields["updated_at"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    exact = number(fields.get(_EXACT))
    if exact is None:
        return said
    # They mean the same time if they differ only by a change of clocks or zone; otherwise
    # another program wrote the one that it knows.
    apart = abs(said - exact)
    off = apart % _QUARTER
    same = apart <= _DAY + _QUARTER and min(off, _QUARTER - off) < 0.001
    return exact if same else said


def number(value: Any) -> float | None:
    """Return a number of the file, None for anything else and for one that is no time."""
    try:
        found = float(value) if isinstance(value, int | float) else nan
    except OverflowError:
        return None
    return found if isfinite(found) and not isinstance(value, bool) else None


class Routes:
    """The entries of one sessions.json, reloaded whenever another program changed it."""

    def __init__(self, folder: Path, recover: Recover) -> None:
        self.path = folder / FILE_NAME
        self._recover = recover
        self._entries: dict[str, Route] = {}
        self._rest: dict[str, Any] = {}
        self._texts: dict[str, tuple[Route, str]] = {}
        self._seen: tuple[int, int, int] | None = None

    def get(self, *keys: str) -> Route | None:
        """Return the current entry of the first key that has one.

        None also if the file is damaged; changing it repairs it.
        """
        with file_lock.told(self.path):
            self._read(mend=False)
        if self._seen is None:
            return None
        return next((self._entries[key] for key in keys if key in self._entries), None)

    @contextmanager
    def changing(self) -> Iterator[dict[str, Route]]:
        """Give all entries to change; they are written if the block succeeds.

        BadFile if the file or its folder cannot be read or written.
        """
        with file_lock.told(self.path):
            create_folder(self.path.parent)
        with file_lock.locked(self.path.with_name(FILE_NAME + ".lock")):
            with file_lock.told(self.path):
                self._read(mend=True)
            entries = dict(self._entries)
            yield entries
            if self._seen is None or _differ(entries, self._entries):
                with file_lock.told(self.path):
                    _replace(self.path, self._text(entries))
                    self._entries, self._seen = entries, _stamp(self.path)

    def _text(self, entries: Mapping[str, Route]) -> str:
        """Return the whole file, reusing unchanged entries: with 500, formatting all took 8 ms."""
        for key in self._texts.keys() - entries.keys():
            del self._texts[key]
        for key, route in entries.items():
            known = self._texts.get(key)
            if known is None or known[0] is not route:
                self._texts[key] = route, _pair(key, route.fields)
        first = [_pair(key, value) for key, value in self._rest.items()]
        pairs = [*first, *(self._texts[key][1] for key in entries)]
        return "{\n" + ",\n".join(pairs) + "\n}" if pairs else "{}"

    def _read(self, *, mend: bool) -> None:
        stamp = _stamp(self.path)
        if stamp is not None and stamp == self._seen:
            return
        content, whole = parse(bytes_of(self.path))
        self._rest = {key: value for key, value in content.items() if key.startswith("_")}
        self._entries = {}
        for key, fields in content.items():
            route = None if key in self._rest else Route.read(key, fields)
            if route is not None:
                self._entries[key] = route
        whole = whole and len(self._entries) + len(self._rest) == len(content)
        self._seen = stamp if whole else None
        if not whole and mend:
            self._set_aside()
            self._entries = {**self._recover(), **self._entries}

    def _set_aside(self) -> None:
        """Keep a copy of a damaged file, which is then replaced."""
        found = bytes_of(self.path)
        if found is None:
            return
        stamp = time.strftime("%Y%m%d-%H%M%S")
        kept = self.path.with_name(f"{FILE_NAME}.damaged-{stamp}-{os.urandom(2).hex()}")
        _replace(kept, found)
        log.warning(
            "%s is damaged. It was kept as %s; its entries were rebuilt from the database "
            "and from what could be read.",
            self.path,
            kept.name,
        )


def parse(found: bytes | None) -> tuple[dict[str, Any], bool]:
    """Return the content of a file, and whether it is intact; a missing one is not."""
    if found is None:
        return {}, False
    try:
        content = json.loads(found)
    except (ValueError, RecursionError):
        return dict(_readable(found.decode("utf-8", "replace"))), False
    return (content, True) if isinstance(content, dict) else ({}, False)


def _readable(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the readable pairs at the beginning of a damaged JSON object."""
    decoder = json.JSONDecoder()
    place = text.find("{") + 1
    try:
        while place:
            start = _BETWEEN.match(text, place)
            key, end = decoder.raw_decode(text, start.end() if start else place)
            colon = _COLON.match(text, end)
            if colon is None or not isinstance(key, str):
                return
            value, place = decoder.raw_decode(text, colon.end())
            yield key, value
    except (ValueError, RecursionError):
        return


def _differ(these: Mapping[str, Route], those: Mapping[str, Route]) -> bool:
    return these.keys() != those.keys() or any(those[key] is not these[key] for key in these)


def _pair(key: str, value: Any) -> str:
    """Format one pair of the file as Hermes Agent does."""
    text = json.dumps({key: value}, indent=2, ensure_ascii=False)
    return text.removeprefix("{\n").removesuffix("\n}")


def bytes_of(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none; BadFile if it is far too large."""
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(found) > MOST_BYTES:
        raise BadFile(
            f"{path} is larger than {MOST_BYTES // 1024**2} MB, which no gateway writes. Move it "
            "away; its entries are then rebuilt from the database."
        )
    return found


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _replace(path: Path, content: str | bytes) -> None:
    """Replace a file atomically, synced to disk before it becomes visible."""
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    # A fixed name: writers hold the lock, and a leftover of a killed process is reused.
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with memoryview(raw) as left:
            done = 0
            while done < len(left):
                done += os.write(descriptor, left[done:])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(beside, path)
