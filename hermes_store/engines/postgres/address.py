"""Addresses of PostgreSQL servers: what is one, what may be shown of it, and what is wrong with it.

An address is a URL as libpq takes it, with two more parameters: `schema`, which holds the sessions
of a profile and is `hermes` if it is not given, and `row_limit`. A password may stand in it, but
need not: libpq reads PGPASSWORD, ~/.pgpass and service files as well. It is never shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from hermes_store.config.database_address import SCHEMES, shown
from hermes_store.errors import InvalidInput

SCHEMA = "hermes"
"""The schema of the default profile."""
ROW_LIMIT = 1_000_000
"""The most rows that a reader may ask for in one statement."""
LEAST_ROWS = 10_000
"""Pages and lists are read in portions that are smaller."""
_OWN = ("schema", "row_limit")
_WRONG_PORT = re.compile(r":[0-9]*[^0-9,:\]][^]]*$")
_WRONGLY_ENCODED = re.compile(r"%(?![0-9a-fA-F]{2})|%00|\s")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,54}")


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
        scheme = next((each for each in SCHEMES if given.lower().startswith(each)), None)
        if scheme is None:
            raise InvalidInput(
                f"{name} is not a valid address. Write it as postgresql://USER@HOST:PORT/DATABASE."
            )
        if _WRONGLY_ENCODED.search(given):
            raise InvalidInput(f"{name} is not a valid address: % is written %25, and a space %20.")
        head, parameters = _divided(given[len(scheme) :], name)
        if any("=" not in each for each in parameters):
            raise InvalidInput(
                f"{name} is not a valid address: what follows the question mark is NAME=VALUE."
            )
        # Not parse_qsl: to libpq, a plus is a plus.
        options = [
            (unquote(key), value) for key, _, value in (each.partition("=") for each in parameters)
        ]
        values = {key: unquote(value) for key, value in options}
        schema = values.get("schema", SCHEMA)
        if not _SCHEMA_NAME.fullmatch(schema):
            raise InvalidInput(
                f"'{schema}' cannot be the name of a schema. Use up to 55 lower-case letters, "
                "digits and underscores, and begin with a letter."
            )
        limit = values.get("row_limit", str(ROW_LIMIT))
        if not limit.isascii() or not limit.isdigit() or len(limit) > 11 or int(limit) < LEAST_ROWS:
            raise InvalidInput(
                f"row_limit is a number of rows, {LEAST_ROWS:,} or more, not '{limit}'."
            )
        kept = [each for each, (key, _) in zip(parameters, options, strict=True) if key not in _OWN]
        connection = f"{SCHEMES[0]}{head}{'?' if kept else ''}{'&'.join(kept)}"
        return Address(connection, schema, int(limit), name, given)


def _divided(rest: str, name: str) -> tuple[str, list[str]]:
    """Return what comes before the parameters, and the parameters, as libpq divides an address.

    A password may hold a question mark. An @ or a slash would end it too early, and libpq would
    name the rest of it as the host.
    """
    credentials, at, host = rest.partition("@")
    if not at or "/" in credentials:
        credentials, at, host = "", "", rest
    host, _, parameters = host.partition("?")
    if "@" in host:
        raise InvalidInput(
            f"{name} is not a valid address: in a user or a password, an @ is written %40, "
            "and a slash %2F."
        )
    if _WRONG_PORT.search(host.partition("/")[0]):
        raise InvalidInput(f"{name} is not a valid address: a port is a number.")
    return f"{credentials}{at}{host}", [each for each in parameters.split("&") if each]
