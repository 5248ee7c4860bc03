"""Parse the lines of an import into objects, and objects into checked columns.

Any fault in a line is raised as `Refused`, with a sentence for the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Any, NamedTuple

from hermes_store.engines.sqlite.schema import (
    MESSAGE_COLUMNS,
    PLACE_COLUMNS,
    SESSION_COLUMNS,
    Column,
)
from hermes_store.records.safe_text import clean, one_line, shorten, storable
from hermes_store.sessions import new_message, session_rows

# Fields of lists and exports that are computed from columns.
_DERIVED = frozenset({"messages", "last_active", "preview", "_lineage_root_id"})
_MOMENTS = frozenset({"started_at", "ended_at", "timestamp"})
_ANY_JSON = frozenset({"content", "tool_calls"})
_JSON_TEXT = frozenset({"reasoning_details", "codex_reasoning_items", "codex_message_items"})
LATER_OF_SESSIONS = {
    column.name: column
    for column in (
        *PLACE_COLUMNS,
        *(Column(name, "TEXT") for name in (*session_rows.CHAT, "profile_name", "host")),
    )
}
"""Columns of sessions that not every database has, written where they exist."""
_SESSIONS = {column.name: column for column in SESSION_COLUMNS} | LATER_OF_SESSIONS
_MESSAGES = {column.name: column for column in MESSAGE_COLUMNS}
_FLAGS = ("active", "compacted", "observed")
LATER = {name: Column(name, "INTEGER" if name in _FLAGS else "TEXT") for name in new_message.LATER}
"""Columns of messages that newer databases have, written where they exist."""
# The key for the tool name in messages sent to chat models, and so in transcripts.
_SPOKEN_NAME = "name"
# The store assigns the ids of messages; a file can only propose them.
_OWN = frozenset({"id", "session_id"})
_INTEGERS = range(-(2**63), 2**63)


class Refused(Exception):
    """Why a line or session cannot be imported, as a sentence."""


class Line(NamedTuple):
    """A numbered line of a file."""

    number: int
    text: str
    is_last: bool

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing in it; does not copy a huge line, as strip() would."""
        return not self.text or self.text.isspace()


@dataclass(slots=True)
class Record:
    """A checked session, ready to be written."""

    columns: dict[str, Any]
    messages: list[dict[str, Any]]
    unknown: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id of the session."""
        return str(self.columns["id"])


def parse(line: Line) -> dict[str, Any]:
    """Return the JSON object on a line."""
    if storable(line.text) != line.text:
        raise Refused(f"Line {line.number} is not UTF-8 text.")
    try:
        # JSON has no NaN, but some programs write it; null is the closest value.
        found = json.loads(line.text.removeprefix("\ufeff"), parse_constant=lambda _: None)
    except ValueError as error:
        if line.is_last and not line.text.endswith("\n"):
            raise Refused(
                f"Line {line.number} is cut off: the file ends in the middle of it."
            ) from error
        raise Refused(f"Line {line.number} is not JSON ({_reason(error)}).") from error
    except RecursionError as error:
        raise Refused(f"Line {line.number} is nested too deeply.") from error
    if not isinstance(found, dict):
        raise Refused(f"Line {line.number} is not a JSON object.")
    return found


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return str(error)


def shown(text: str, limit: int = 60) -> str:
    """Return text from a file, safe and short enough to quote in a message."""
    return shorten(clean(one_line(text)), limit)


def as_json(value: Any) -> str:
    """Return the stored form of a value from a file."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise Refused("It is nested too deeply.") from error


# -- exports -----------------------------------------------------------------------------------


def exported(found: Mapping[str, Any], line: int) -> Record:
    """Return the session on a line of an export."""
    session_id = found.get("id")
    if not isinstance(session_id, str) or not session_id:
        raise Refused(f"Line {line} has no session id.")
    said = found.get("messages")
    if not isinstance(said, list):
        raise Refused(f"Line {line} has no list of messages.")
    where = f"Line {line}"
    columns = {
        name: _checked(column, found[name], where)
        for name, column in _SESSIONS.items()
        if name in found and name != "model_config"
    }
    unknown = {name for name in found if name not in _SESSIONS and name not in _DERIVED}
    record = Record(columns, [], unknown)
    for place, message in enumerate(said, 1):
        record.messages.append(_message(message, f"Message {place} of line {line}", unknown))
    columns["source"] = columns.get("source") or "unknown"
    if columns.get("started_at") is None:
        if not record.messages:
            raise Refused(f"Line {line} has no start time.")
        columns["started_at"] = record.messages[0]["timestamp"]
    columns["model_config"] = _model_config(found.get("model_config"), record)
    return record


def _model_config(value: Any, record: Record) -> str | None:
    """Return the stored form; anything but an object breaks lists in newer versions."""
    if value is None:
        return None
    text = value if isinstance(value, str) else as_json(value)
    try:
        if isinstance(json.loads(text, parse_constant=_no_number), dict):
            return storable(text)
    except (ValueError, RecursionError):
        pass
    record.notes.append("Its model_config is not a JSON object and was left out.")
    return None


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _message(message: Any, where: str, unknown: set[str]) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise Refused(f"{where} is not a JSON object.")
    result = {
        name: _checked(column, message.get(name), where)
        for name, column in _MESSAGES.items()
        if name not in _OWN
    }
    result["id"] = message.get("id")
    result |= {
        name: _checked(column, message[name], where)
        for name, column in LATER.items()
        if message.get(name) is not None
    }
    if not result["role"]:
        raise Refused(f"{where} has no role.")
    if result["timestamp"] is None:
        raise Refused(f"{where} has no timestamp.")
    if result["tool_name"] is None and isinstance(message.get(_SPOKEN_NAME), str):
        result["tool_name"] = storable(message[_SPOKEN_NAME])
    unknown.update(
        f"messages.{name}"
        for name in message
        if name not in _MESSAGES and name not in LATER and name != _SPOKEN_NAME
    )
    return result


def _checked(column: Column, value: Any, where: str) -> Any:
    """Return a value converted to the declared type of its column."""
    name = column.name
    if value is None or name in _ANY_JSON:
        return value
    if name in _JSON_TEXT:
        return value if isinstance(value, str) else as_json(value)
    if name in _MOMENTS and isinstance(value, str):
        return moment(value, where)
    declared = column.declaration.split()[0]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if declared == "REAL" and is_number and isfinite(value):
        return float(value)
    if declared == "INTEGER" and is_number and value == value // 1 and int(value) in _INTEGERS:
        return int(value)
    if declared == "TEXT" and isinstance(value, str):
        return storable(value)
    kind = {"REAL": "a number", "INTEGER": "a whole number", "TEXT": "text"}[declared]
    raise Refused(f"{where} has a {name} that is not {kind}.")


def moment(text: str, where: str) -> float:
    """Return the timestamp of an ISO date and time, local if it has no zone."""
    try:
        found = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise Refused(f"{where} has an invalid time: '{shown(text)}'.") from None
    return found


# -- transcripts -------------------------------------------------------------------------------


def transcript(lines: Iterable[Line], session_id: str) -> Record:
    """Return the session of a transcript.

    A last line that is cut off is left out. Any other fault refuses the whole session: with a
    message missing, later ones could not be matched with those in the store.
    """
    if not session_id:
        raise Refused("A transcript must be named <session id>.jsonl; this name has no id.")
    record = Record({"id": storable(session_id), "source": "unknown"}, [])
    for line in lines:
        if line.is_blank:
            continue
        try:
            _take(record, parse(line), f"Line {line.number}")
        except Refused as refusal:
            if not line.is_last or line.text.endswith("\n"):
                raise
            record.notes.append(f"{refusal} It was left out.")
    if "started_at" not in record.columns:
        if not record.messages:
            raise Refused("It has no messages.")
        record.columns["started_at"] = record.messages[0]["timestamp"]
    return record


def _take(record: Record, found: dict[str, Any], where: str) -> None:
    if found.get("role") != "session_meta":
        if found.get("timestamp") is None:
            found = found | {"timestamp": _presumed(record)}
        record.messages.append(_message(found, where, record.unknown))
        return
    if record.messages or "started_at" in record.columns:
        return  # written again whenever a session is resumed
    for name, column in (("platform", "source"), ("model", "model")):
        if isinstance(found.get(name), str) and found[name]:
            record.columns[column] = storable(found[name])
    if found.get("timestamp") is not None:
        record.columns["started_at"] = _checked(_SESSIONS["started_at"], found["timestamp"], where)


def _presumed(record: Record) -> float | None:
    """Return a time for a message without one: that of the message before it."""
    if record.messages:
        return float(record.messages[-1]["timestamp"])
    started: float | None = record.columns.get("started_at")
    return started
