"""Puts a copied session back into the database, as it was as far as that is still possible."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.raw_rows import places
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.records.relation_to_parent import MARKERS
from hermes_store.sessions import late_messages, session_rows, system_prompts, titles
from hermes_store.trash.session_copy import USAGE, Header, usage_columns


@dataclass(slots=True)
class PutBack:
    """The result of restoring a session."""

    messages: int = 0
    remarks: list[str] = field(default_factory=list)
    parent_missing: bool = False


def put_back(tx: Transaction, copy: Header, rows: Iterator[list[Any]]) -> PutBack:
    """Write a session and its messages back as they were, as far as still possible."""
    done = PutBack()
    session = dict(copy.session)
    _free_title(tx, session, done)
    _find_parent(tx, session, done)
    _unfold_prompt(tx, session, copy.prompt)
    _insert(tx, "sessions", tx.caps.session_columns, session)
    known = usage_columns(tx)
    for used in copy.usage if known else ():
        _insert(tx, USAGE, known, used)
    put_messages(tx, copy, rows, done)
    return done


def put_messages(tx: Transaction, copy: Header, rows: Iterator[list[Any]], done: PutBack) -> None:
    """Write the missing messages.

    Ids are kept up to the first one that another session has taken; from there on all are new,
    to preserve the order.
    """
    names = [name for name in copy.message_columns if name in tx.caps.message_columns]
    picked = [copy.message_columns.index(name) for name in names]
    number = names.index("id")
    taken = False
    for row in rows:
        values = [row[place] for place in picked]
        owner = tx.value("SELECT session_id FROM messages WHERE id = ?", (values[number],))
        if owner == copy.session_id and not taken:
            continue
        if (taken := taken or owner is not None) and not _said(done):
            done.remarks.append("Some of its messages have new numbers because theirs were taken.")
        message = dict(zip(names, values, strict=True))
        if taken:
            del message["id"]
        _insert(tx, "messages", names, message)
        done.messages += 1
    if taken:
        late_messages.note(tx, copy.session_id, 0)


def _said(done: PutBack) -> bool:
    return any("new numbers" in remark for remark in done.remarks)


def _insert(tx: Transaction, table: str, known: Sequence[str], row: dict[str, Any]) -> None:
    names = [name for name in row if name in known]
    values = [row[name] for name in names]
    columns = ", ".join(quote(name) for name in names)
    tx.run(f"INSERT INTO {table}({columns}) VALUES ({places(values)})", values)


def _free_title(tx: Transaction, session: dict[str, Any], done: PutBack) -> None:
    title = session.get("title")
    if isinstance(title, str) and (holder := titles.holder_of(tx, title)) is not None:
        session["title"] = titles.next_in_lineage(tx, title)
        done.remarks.append(
            f"Its title '{title}' now belongs to {holder}; it was restored as '{session['title']}'."
        )


def _find_parent(tx: Transaction, session: dict[str, Any], done: PutBack) -> None:
    parent = session.get("parent_session_id")
    if parent is None or parent == session["id"] or session_rows.exists(tx, parent):
        return
    session["parent_session_id"] = None
    done.parent_missing = True
    done.remarks.append(f"Its parent {parent} is gone; it was restored without a parent.")


def _unfold_prompt(tx: Transaction, session: dict[str, Any], prompt: str | None) -> None:
    """Store a shared prompt again if it is gone; with the session, where none are shared."""
    shared = session.get("system_prompt_hash")
    if shared is None or prompt is None:
        return
    if system_prompts.are_shared(tx):
        tx.run(system_prompts.STORE, (shared, prompt))
        return
    session["system_prompt"], session["system_prompt_hash"] = prompt, None


def take_back_child(tx: Transaction, copy: Header, child_id: str, former_config: Any) -> bool:
    """Reattach a child to its restored parent, unless it was changed since the deletion."""
    row = tx.one("SELECT parent_session_id, model_config FROM sessions WHERE id = ?", (child_id,))
    if row is None:
        return False
    child = {"parent_session_id": row[0], "model_config": row[1]}
    if not was_moved_up(copy, child, former_config):
        return False
    tx.run(
        "UPDATE sessions SET parent_session_id = ?, model_config = ? WHERE id = ?",
        (copy.session_id, former_config, child_id),
    )
    return True


def was_moved_up(copy: Header, child: dict[str, Any], former_config: Any) -> bool:
    """Tell whether deleting its parent is all that happened to a child.

    Deleting moves a child up to the next ancestor and may record its kind in model_config; any
    other change was made by another program and stays.
    """
    parent = child.get("parent_session_id")
    moved_up = parent is None or parent in copy.ancestors
    return moved_up and _only_marked(child.get("model_config"), former_config)


def _only_marked(config: Any, former: Any) -> bool:
    """Tell whether two model_configs differ at most by the markers that deleting leaves."""
    if config == former:
        return True
    now, before = _object(config), _object(former)
    if now is None:
        return False
    marks = {name for name in MARKERS.values() if name not in (before or {})}
    return {name: value for name, value in now.items() if name not in marks} == (before or {})


def _object(text: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
