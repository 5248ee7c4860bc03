"""Fields of the search language as conditions on messages (m) and their sessions (s)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from hermes_store.engines.base import Dialect, Transaction
from hermes_store.records.search import Diagnostic, Severity
from hermes_store.records.sources import (
    KNOWN,
    all_spellings,
    known_name,
    labelled,
    of_source,
    spellings,
)
from hermes_store.records.sql_patterns import like
from hermes_store.records.workspace import short_name
from hermes_store.search import known_values, times
from hermes_store.search.known_values import listed, quoted
from hermes_store.search.query_tree import Field
from hermes_store.sessions import in_use, workspaces

ROLES = ("user", "assistant", "tool", "system")
SPOKEN_AS = {"me": "user", "you": "user", "human": "user", "hermes": "assistant", "ai": "assistant"}
HAS = ("tools", "title", "code", "url", "image", "reasoning")
IS = ("live", "ended", "archived", "pinned", "root", "branch", "reset", "agent", "compressed")

_LISTED = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL with its values; `session` if it concerns only the session."""

    sql: str
    values: tuple[Any, ...] = ()
    session: bool = True
    remark: str | None = None
    """What to say about the field, such as the values that are known instead of an unknown one."""


class MarkSource(Protocol):
    """Supplies the marks on conversations."""

    def sessions_with(self, tx: Transaction, mark: str, value: str = "") -> Sequence[str]:
        """Return all sessions of the conversations with a mark: pinned, archived or tag."""

    def tags_in(self, tx: Transaction) -> Sequence[tuple[str, int]]:
        """Return all tags by name, each with its number of conversations."""


class FieldProblem(ValueError):
    """An invalid value of a field; the message names the valid ones."""


class Unfinished(FieldProblem):
    """A value that is still being typed and can become valid; nothing needs to be said about it."""


MAX_PATTERN = 5_000
"""Characters; SQLite refuses patterns of more than 50,000 bytes."""


def in_title(dialect: Dialect, text: str) -> Condition:
    """Return the condition that a title contains a text, ignoring case.

    LIKE ignores case only for ASCII letters; for others, the usual ways to write titles are tried.
    """
    spelled = [text]
    if not text.isascii():
        spelled += [text.lower(), text.upper(), text.capitalize(), text.title()]
    patterns = tuple(dict.fromkeys(map(like, spelled)))
    tests = " OR ".join([dialect.like("s.title")] * len(patterns))
    return Condition(f"({tests})", patterns)


def condition(
    tx: Transaction, field: Field, now: float, marks: MarkSource | None = None
) -> Condition:
    """Return the condition of a field; FieldProblem if its value is invalid.

    A value that could be valid but that no session has gets a condition that nothing meets, with
    a remark.
    """
    if len(field.value) > MAX_PATTERN:
        raise FieldProblem(f"The value of {field.name}: is longer than {MAX_PATTERN:,} characters.")
    return _COMPILERS[field.name](_Asked(tx, field, now, marks))


def diagnose(field: Field, problem: FieldProblem) -> Diagnostic:
    """Return the diagnostic for a field that was ignored."""
    return Diagnostic(str(problem), field.span, Severity.PROBLEM)


def remarked(field: Field, condition: Condition) -> tuple[Diagnostic, ...]:
    """Return the diagnostics for a field that was not ignored: its remark, if there is one."""
    remark = condition.remark
    return () if remark is None else (Diagnostic(remark, field.span, Severity.NOTE),)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A field, and where to look for its values."""

    tx: Transaction
    field: Field
    now: float
    marks: MarkSource | None

    @property
    def value(self) -> str:
        return self.field.value

    @property
    def dialect(self) -> Dialect:
        """The SQL in which engines differ."""
        return self.tx.caps.dialect

    def may_become(self, known: Iterable[str]) -> bool:
        """Return whether the value is still being typed and one of these begins with it."""
        start = self.value.lower()
        return self.field.unfinished and any(each.lower().startswith(start) for each in known)

    def choice(self, known: Sequence[str], others: Iterable[str] = ()) -> str:
        """Return the value in lower case, if it is one of those that the field takes."""
        others = tuple(others)
        wanted = self.value.lower()
        if wanted in known or wanted in others:
            return wanted
        problem = f"{self.field.name}: takes {', '.join(known)}, not {quoted(self.value)}."
        raise (Unfinished if self.may_become((*known, *others)) else FieldProblem)(problem)


def _nothing(remark: str) -> Condition:
    """Return a condition that nothing meets."""
    return Condition("FALSE", remark=remark)


def _of_sessions(session_ids: Sequence[str]) -> Condition:
    return Condition(f"s.id IN {_LISTED}", (json.dumps(session_ids),))


# -- fields of sessions ------------------------------------------------------------------------


def starting(dialect: Dialect, value: str) -> tuple[str, tuple[Any, ...]]:
    """Return the condition that a source, or what it is called on screen, begins with a text."""
    names = all_spellings(labelled(value))
    return (
        f"({dialect.like('s.source')} OR s.source IN {_LISTED})",
        (like(value)[1:], json.dumps(names)),
    )


def _source(asked: _Asked) -> Condition:
    name = known_name(asked.value)
    if name in KNOWN:
        wanted = Condition(*of_source("s.source", name))
    else:
        wanted = Condition(*starting(asked.dialect, asked.value))
    if known_values.has_session(asked.tx, wanted.sql, wanted.values):
        return wanted
    called = (
        name for each in KNOWN.values() for name in (*spellings(each.name), each.label, each.short)
    )
    if name not in KNOWN and asked.may_become(called):
        raise Unfinished(f"No source is called {quoted(asked.value)}.")
    known = listed("Known sources", known_values.sources(asked.tx))
    return _nothing(f"No conversation came from {quoted(asked.value)}.{known}")


def _model(asked: _Asked) -> Condition:
    wanted = Condition(asked.dialect.like("s.model"), (like(asked.value),))
    if known_values.has_session(asked.tx, wanted.sql, wanted.values):
        return wanted
    known = listed("Known models", known_values.models(asked.tx))
    return _nothing(f"No conversation used a model {quoted(asked.value)}.{known}")


def _title(asked: _Asked) -> Condition:
    return in_title(asked.dialect, asked.value)


def _id(asked: _Asked) -> Condition:
    return Condition("substr(s.id, 1, ?) = ?", (len(asked.value), asked.value))


def _workspace(asked: _Asked) -> Condition:
    wanted = Condition(*workspaces.matches(asked.tx.caps, "s", asked.value))
    if known_values.has_session(asked.tx, wanted.sql, wanted.values):
        return wanted
    found = dict.fromkeys(short_name(each) for each, _ in workspaces.known(asked.tx).most_common())
    known = listed("Known workspaces", found)
    return _nothing(f"No conversation took place in {quoted(asked.value)}.{known}")


def _branch(asked: _Asked) -> Condition:
    if asked.tx.caps.has_session("git_branch"):
        wanted = Condition(asked.dialect.like("s.git_branch"), (like(asked.value),))
        if known_values.has_session(asked.tx, wanted.sql, wanted.values):
            return wanted
    known = listed("Known branches", (n for n, _ in workspaces.branches(asked.tx).most_common()))
    return _nothing(f"No conversation was on a branch {quoted(asked.value)}.{known}")


def _host(asked: _Asked) -> Condition:
    if not asked.tx.caps.has_session("host"):
        return _nothing("Only sessions on a server have a host; this is a file.")
    exactly = Condition("s.host = ?", (asked.value,))
    wanted = Condition(asked.dialect.like("s.host"), (like(asked.value),))
    # One host may be called as another one begins.
    for each in (exactly, wanted):
        if known_values.has_session(asked.tx, each.sql, each.values):
            return each
    known = listed("Known hosts", known_values.hosts(asked.tx))
    return _nothing(f"No conversation came from the host {quoted(asked.value)}.{known}")


def _tag(asked: _Asked) -> Condition:
    marks = asked.marks
    if marks is None:
        return _nothing("No conversation has a tag yet.")
    session_ids = marks.sessions_with(asked.tx, "tag", asked.value)
    if session_ids:
        return _of_sessions(session_ids)
    tags = marks.tags_in(asked.tx)
    if not tags:
        return _nothing("No conversation has a tag yet.")
    start = asked.value.lower().removeprefix("#")
    if asked.field.unfinished and any(name.startswith(start) for name, _ in tags):
        raise Unfinished(f"No tag is called {quoted(asked.value)}.")
    frequent = sorted(tags, key=lambda each: (-each[1], each[0]))
    known = listed("Known tags", (name for name, _ in frequent))
    return _nothing(f"No conversation has the tag {quoted(asked.value)}.{known}")


def _is(asked: _Asked) -> Condition:
    match asked.choice(IS):
        case "live":
            return _of_sessions(in_use.live_sessions(asked.tx, asked.now))
        case "ended":
            live = _of_sessions(in_use.live_sessions(asked.tx, asked.now))
            return replace(live, sql=f"NOT {live.sql}")
        case "archived" | "pinned" as flag:
            return _marked(asked, flag)
        case "root":
            return _edge("")
        case "compressed":
            return Condition("s.end_reason = 'compression'")
        case kind:
            return _edge(kind)


def _marked(asked: _Asked, flag: str) -> Condition:
    if asked.marks is not None:
        wanted = _of_sessions(asked.marks.sessions_with(asked.tx, flag))
    else:
        known = asked.tx.caps.has_session(flag)
        wanted = Condition(f"COALESCE(s.{flag}, 0) = 1" if known else "FALSE")
    if known_values.has_session(asked.tx, wanted.sql, wanted.values):
        return wanted
    return _nothing(f"No conversation is {flag}.")


def _edge(kind: str) -> Condition:
    return Condition(
        "(SELECT edge FROM session_activity WHERE session_id = s.id) = ?",
        (kind,),
    )


# -- fields of messages ------------------------------------------------------------------------


def _role(asked: _Asked) -> Condition:
    wanted = asked.value.lower()
    stored = {name: name for name in ROLES}
    if wanted not in (*ROLES, *SPOKEN_AS) and not asked.may_become((*ROLES, *SPOKEN_AS)):
        # Other programs have other roles.
        stored |= {name.lower(): name for name in known_values.roles(asked.tx)}
    wanted = asked.choice(tuple(stored), SPOKEN_AS)
    name = SPOKEN_AS.get(wanted, wanted)
    return Condition("m.role = ?", (stored.get(name, name),), session=False)


def _tool(asked: _Asked) -> Condition:
    start = like(asked.value)[1:]
    wanted = Condition(
        f"({asked.dialect.like('m.tool_name')} OR {asked.dialect.like('m.tool_calls')})",
        (start, f'%"name": "{start}'),
        session=False,
    )
    if known_values.is_recent_tool(asked.tx, wanted.sql, wanted.values):
        return wanted
    recent = listed("Recent tools", known_values.recent_tools(asked.tx))
    remark = f"No recent message used a tool {quoted(asked.value)}.{recent}"
    return replace(wanted, remark=remark if recent else None)


def _span(asked: _Asked) -> tuple[float, float]:
    found = times.span(asked.value, asked.now)
    if found is not None:
        return found
    unfinished = asked.field.unfinished and times.may_begin(asked.value, asked.now)
    problem = f"{quoted(asked.value)} is not a time for {asked.field.name}: — try {times.EXAMPLES}."
    raise (Unfinished if unfinished else FieldProblem)(problem)


def _after(asked: _Asked) -> Condition:
    return Condition("m.timestamp >= ?", (_span(asked)[0],), session=False)


def _before(asked: _Asked) -> Condition:
    return Condition("m.timestamp < ?", (_span(asked)[0],), session=False)


def _on(asked: _Asked) -> Condition:
    return Condition("(m.timestamp >= ? AND m.timestamp < ?)", _span(asked), session=False)


def _has(asked: _Asked) -> Condition:
    match asked.choice(HAS):
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
        case _:
            return Condition("m.reasoning IS NOT NULL", session=False)


_COMPILERS: dict[str, Callable[[_Asked], Condition]] = {
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
    "workspace": _workspace,
    "branch": _branch,
    "host": _host,
}
