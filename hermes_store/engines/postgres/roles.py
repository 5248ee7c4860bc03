"""The rights of roles: an owner migrates, writers change sessions, readers only browse."""

from __future__ import annotations

from hermes_store.engines.sqlite.schema_reader import quote

READER_SECONDS = 60


def statements(schema: str, role: str, *, write: bool) -> list[str]:
    """Return what the owner of a schema runs to let a role read it, or also change it."""
    name, schema = quote(role), quote(schema)
    rights = "SELECT, INSERT, UPDATE, DELETE" if write else "SELECT"
    found = [
        f"GRANT USAGE ON SCHEMA {schema} TO {name};",
        f"GRANT {rights} ON ALL TABLES IN SCHEMA {schema} TO {name};",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {rights} ON TABLES TO {name};",
    ]
    if write:
        found += [
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {name};",
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {name};",
        ]
    else:
        found += [
            # Not every owner may alter roles.
            "-- As a superuser, or as who created the role:",
            f"ALTER ROLE {name} SET default_transaction_read_only = on;",
            f"ALTER ROLE {name} SET statement_timeout = '{READER_SECONDS}s';",
        ]
    return found
