"""Fields of the search language as conditions on messages (m) and their sessions (s)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.search import Diagnostic, Severity
from hermes_store.records.sources import KNOWN, known_name, of_source
from hermes_store.search import times
from hermes_store.search.query_tree import Field

ROLES = {"me": "user", "you": "user", "human": "user", "hermes": "assistant", "ai": "assistant"}
HAS = ("tools", "title", "code", "url", "image", "reasoning")
IS = ("live", "ended", "archived", "pinned", "root", "branch", "agent", "compressed")


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL with its values; `session` if it concerns only the session."""

    sql: str
    values: tuple[Any, ...] = ()
    session: bool = True


class MarkSource(Protocol):
    """Supplies the marks on conversations."""

    def sessions_with(self, tx: Transaction, mark: str, value: str = "") -> Sequence[str]:
        """Return all sessions of the conversations with a mark: pinned, archived or tag."""


class FieldProblem(ValueError):
    """An invalid value of a field; the message names the valid ones."""


MAX_PATTERN = 5_000
"""Characters; SQLite refuses patterns of more than 50,000 bytes."""


def like(text: str) -> str:
    """Return a LIKE pattern (with ESCAPE '\\') for text that contains `text`."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"


def in_title(text: str) -> Condition:
    """Return the condition that a title contains a text, ignoring case.

    LIKE ignores case only for ASCII letters; for others, the usual ways to write titles are tried.
    """
    spelled = [text]
    if not text.isascii():
        spelled += [text.lower(), text.upper(), text.capitalize(), text.title()]
    patterns = tuple(dict.fromkeys(map(like, spelled)))
    tests = " OR ".join(["s.title LIKE ? ESCAPE '\\'"] * len(patterns))
    return Condition(f"({tests})", patterns)


def condition(
    tx: Transaction, field: Field, now: float, marks: MarkSource | None = None
) -> Condition:
    """Return the condition of a field; FieldProblem if its value is invalid."""
    if len(field.value) > MAX_PATTERN:
        raise FieldProblem(f"The value of {field.name}: is longer than {MAX_PATTERN:,} characters.")
    if marks is not None:
        if field.name == "tag":
            return _marked(marks.sessions_with(tx, "tag", field.value), field.value)
        if field.name == "is" and (flag := field.value.lower()) in ("archived", "pinned"):
            return _marked(marks.sessions_with(tx, flag))
    return _COMPILERS[field.name](tx, field.value, now)


def _marked(session_ids: Sequence[str], tag: str | None = None) -> Condition:
    if tag is not None and not session_ids:
        raise FieldProblem(f"No conversation has the tag '{tag}'.")
    return Condition("s.id IN (SELECT value FROM json_each(?))", (json.dumps(session_ids),))


def diagnose(field: Field, problem: FieldProblem) -> Diagnostic:
    """Return the diagnostic for a field that was ignored."""
    return Diagnostic(str(problem), field.span, Severity.PROBLEM)


def _source(_tx: Transaction, value: str, _now: float) -> Condition:
    name = known_name(value)
    if name in KNOWN:
        return Condition(*of_source("s.source", name))
    return Condition("s.source LIKE ? ESCAPE '\\'", (like(value)[1:],))


def _role(_tx: Transaction, value: str, _now: float) -> Condition:
    wanted = value.lower()
    return Condition("m.role = ?", (ROLES.get(wanted, wanted),), session=False)


def _model(_tx: Transaction, value: str, _now: float) -> Condition:
    return Condition("s.model LIKE ? ESCAPE '\\'", (like(value),))


def _tool(_tx: Transaction, value: str, _now: float) -> Condition:
    named = f'%"name": "{like(value)[1:]}'
    return Condition(
        "(m.tool_name LIKE ? ESCAPE '\\' OR m.tool_calls LIKE ? ESCAPE '\\')",
        (like(value)[1:], named),
        session=False,
    )


def _title(_tx: Transaction, value: str, _now: float) -> Condition:
    return in_title(value)


def _id(_tx: Transaction, value: str, _now: float) -> Condition:
    return Condition("substr(s.id, 1, ?) = ?", (len(value), value))


def _span(name: str, value: str, now: float) -> tuple[float, float]:
    found = times.span(value, now)
    if found is None:
        raise FieldProblem(f"'{value}' is not a time for {name}: — try {times.EXAMPLES}.")
    return found


def _after(_tx: Transaction, value: str, now: float) -> Condition:
    return Condition("m.timestamp >= ?", (_span("after", value, now)[0],), session=False)


def _before(_tx: Transaction, value: str, now: float) -> Condition:
    return Condition("m.timestamp < ?", (_span("before", value, now)[0],), session=False)


def _on(_tx: Transaction, value: str, now: float) -> Condition:
    first, last = _span("on", value, now)
    return Condition("(m.timestamp >= ? AND m.timestamp < ?)", (first, last), session=False)


def _has(_tx: Transaction, value: str, _now: float) -> Condition:
    match value.lower():
        case "tools":
            return Condition("COALESCE(s.tool_call_count, 0) > 0")
        case "title":
            return Condition("s.title IS NOT NULL")
        case "code":
            return Condition("m.content LIKE '%```%'", session=False)
        case "url":
            return Condition("m.content LIKE '%://%'", session=False)
        case "image":
            return Condition("instr(m.content, '\"image') > 0", session=False)
        case "reasoning":
            return Condition("m.reasoning IS NOT NULL", session=False)
    raise FieldProblem(f"has: takes {', '.join(HAS)}, not '{value}'.")


def _edge(kind: str) -> Condition:
    return Condition(
        "(SELECT edge FROM session_activity WHERE session_id = s.id) = ?",
        (kind,),
    )


def _is(tx: Transaction, value: str, _now: float) -> Condition:
    match value.lower():
        case "live":
            return Condition("s.ended_at IS NULL")
        case "ended":
            return Condition("s.ended_at IS NOT NULL")
        case "archived" | "pinned" as flag:
            known = tx.caps.has_session(flag)
            return Condition(f"COALESCE(s.{flag}, 0) = 1" if known else "0")
        case "root":
            return _edge("")
        case "branch" | "agent" as kind:
            return _edge(kind)
        case "compressed":
            return Condition("s.end_reason = 'compression'")
    raise FieldProblem(f"is: takes {', '.join(IS)}, not '{value}'.")


def _tag(_tx: Transaction, value: str, _now: float) -> Condition:
    raise FieldProblem(f"No conversation has the tag '{value}'.")


_COMPILERS: dict[str, Callable[[Transaction, str, float], Condition]] = {
    "source": _source,
    "role": _role,
    "model": _model,
    "tool": _tool,
    "title": _title,
    "id": _id,
    "after": _after,
    "before": _before,
    "on": _on,
    "has": _has,
    "is": _is,
    "tag": _tag,
}
