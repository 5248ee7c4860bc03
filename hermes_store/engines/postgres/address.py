"""Addresses of PostgreSQL servers: what is one, what may be shown of it, and what is wrong with it.

An address is a URL as libpq takes it, with two more parameters: `schema`, which holds the sessions
of a profile and is `hermes` if it is not given, and `row_limit`. A password may stand in it, but
need not: libpq reads PGPASSWORD, ~/.pgpass and service files as well. It is never shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from hermes_store.config.database_address import shown
from hermes_store.errors import InvalidInput

SCHEMA = "hermes"
"""The schema of the default profile."""
ROW_LIMIT = 1_000_000
"""The most rows that a reader may ask for in one statement."""
_OWN = ("schema", "row_limit")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,58}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where sessions are: a server, its database, and a schema in it."""

    connection: str
    """What libpq takes; holds the password, if one was given."""
    schema: str
    row_limit: int
    name: str
    """What people see: without the password, with the schema unless it is the usual one."""
    given: str
    """What was given, to open the same again."""

    @staticmethod
    def parse(given: str) -> Address:
        """Read an address; InvalidInput names what is wrong with it."""
        name = shown(given)
        try:
            parts = urlsplit(given)
            options = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError as error:
            raise InvalidInput(
                f"{name} is not a valid address ({error}). Write it as "
                "postgresql://USER@HOST:PORT/DATABASE."
            ) from None
        schema = next((value for name, value in options if name == "schema"), SCHEMA)
        if not _SCHEMA_NAME.fullmatch(schema):
            raise InvalidInput(
                f"'{schema}' cannot be the name of a schema. Use up to 59 lower-case letters, "
                "digits and underscores, and begin with a letter."
            )
        limit = next((value for name, value in options if name == "row_limit"), str(ROW_LIMIT))
        if not limit.isascii() or not limit.isdigit() or not 0 < int(limit[:12]) < 10**11:
            raise InvalidInput(f"row_limit is a number of rows above 0, not '{limit}'.")
        rest = urlencode([each for each in options if each[0] not in _OWN], quote_via=quote)
        query = f"?{rest}" if rest else ""
        connection = f"{parts.scheme}://{parts.netloc}{parts.path}{query}"
        return Address(connection, schema, int(limit), name, given)
