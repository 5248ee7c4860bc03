"""Creates the schema of a profile, and brings an older one up to date by named steps.

Each step is recorded under its name in the same transaction that takes it, under a lock that only
one process can have: without it, half of forty clients that began at once got an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
from psycopg import errors as pg

from hermes_store.engines.postgres import activity_triggers, schema
from hermes_store.engines.postgres.locks import Lock, key_of
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import DatabaseReadOnly, NotADatabase

Connection = psycopg.Connection[tuple[object, ...]]


def _run(statements: tuple[str, ...]) -> Callable[[Connection, str], None]:
    def step(con: Connection, name: str) -> None:
        for sql in statements:
            con.execute(in_schema(sql, name))

    return step


def in_schema(sql: str, name: str) -> str:
    """Return a statement of this engine for a schema; its name was checked when it was read."""
    return sql.replace("@.", f"{quote(name)}.")


STEPS: dict[str, Callable[[Connection, str], None]] = {
    "sessions and messages": _run((*schema.FUNCTIONS, *schema.TABLES)),
    "activity": _run((*schema.ACTIVITY,)),
    "words": _run(schema.WORDS),
    "triggers": _run(activity_triggers.STATEMENTS),
    "trash, marks and saved searches": _run(schema.SIDECAR),
    "telegram topics": _run(schema.TOPICS),
    "routes": _run(schema.ROUTES),
    "pushed": _run(schema.PUSHED),
    "changes": _run(schema.CHANGES),
}
"""In order. A step that was released is never changed; what comes later is a step of its own."""


def applied(con: Connection, name: str) -> list[str]:
    """Return the steps that a schema has taken; none if there is no such schema."""
    found = con.execute("SELECT to_regclass($1)", (f"{quote(name)}.migrations",)).fetchone()
    if found is None or found[0] is None:
        return []
    try:
        rows = con.execute(
            in_schema("SELECT name FROM @.migrations ORDER BY applied_at, name", name)
        )
    except pg.UndefinedColumn:
        return []  # somebody else's table of the same name
    return [str(step) for (step,) in rows.fetchall()]


def is_current(steps: list[str]) -> bool:
    """Tell whether nothing is left to do."""
    return set(STEPS) <= set(steps)


def refuse_strangers(con: Connection, name: str, shown: str) -> None:
    """Refuse a schema that something else uses, or that a newer version of this program made."""
    steps = applied(con, name)
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise DatabaseReadOnly(
            f"The schema {name} of {shown} was made by a newer version of this program "
            f"('{unknown[0]}'). Update this one; nothing was changed."
        )
    if steps:
        return
    # Views and sequences count as well: whatever is there belongs to somebody else.
    row = con.execute(
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = $1",
        (name,),
    ).fetchone()
    # Another program may just have made it.
    if row is not None and row[0] and not applied(con, name):
        raise NotADatabase(
            f"The schema {name} of {shown} has other tables than those of sessions. "
            f"Choose another one with ?schema=NAME in the address."
        )


def bring_up_to_date(con: Connection, name: str, shown: str) -> bool:
    """Take the steps that are missing, in one transaction; tell whether there were any."""
    if is_current(applied(con, name)):
        return False
    with con.transaction():
        con.execute("SELECT pg_advisory_xact_lock($1, $2)", key_of(Lock.MIGRATION, name))
        refuse_strangers(con, name, shown)
        try:
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(name)}")
        except pg.InsufficientPrivilege as error:
            raise DatabaseReadOnly(
                f"There is no schema {name} in {shown} yet, and this user may not create one. "
                "Let the owner of the database open it once, or grant CREATE."
            ) from error
        con.execute(
            in_schema(
                "CREATE TABLE IF NOT EXISTS @.migrations "
                "(name text PRIMARY KEY, applied_at double precision NOT NULL)",
                name,
            )
        )
        taken = applied(con, name)
        for step, take in STEPS.items():
            if step not in taken:
                take(con, name)
                con.execute(
                    in_schema("INSERT INTO @.migrations VALUES ($1, $2)", name),
                    (step, time.time()),
                )
    return True
