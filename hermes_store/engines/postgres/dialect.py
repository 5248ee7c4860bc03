"""What PostgreSQL says in its own way, and how a statement for all engines becomes one for it.

Two things are written differently in every statement: `?` is `$1`, and CROSS JOIN with a
condition, by which SQLite is told an order of tables, is a plain JOIN. Functions that other
engines have and PostgreSQL has not are in the schema; see `schema`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PLACE = re.compile(r"'(?:[^']|'')*'|\+?\?(\d*)|\bCROSS JOIN\b")

_FINITE = "BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"


@lru_cache(maxsize=2_000)
def translated(sql: str) -> str:
    """Return a statement with PostgreSQL's placeholders."""
    number = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal number
        found = match[0]
        if found.startswith("'"):
            return found
        if found == "CROSS JOIN":
            return "JOIN"
        number += 1
        return f"${match[1] or number}"

    return _PLACE.sub(replaced, sql)


class PostgresDialect:
    """The SQL in which engines differ, for PostgreSQL."""

    def beginning(self, column: str, size: int) -> str:
        """Return the SQL for the first characters of a text."""
        return f"left({column}, {size})"

    def json_text(self, column: str, key: str) -> str:
        """Return the SQL that reads text from a JSON column; NULL if it is not JSON."""
        return f"json_text({column}, '{key}')"

    def like(self, column: str) -> str:
        """Return the SQL test that a column is LIKE `?`, ignoring the case of ASCII letters."""
        return f"{column} COLLATE \"C\" ILIKE ? ESCAPE '\\'"

    def alphabetical(self, column: str) -> str:
        """Return the SQL to order by, ignoring the case of ASCII letters."""
        return f'lower({column} COLLATE "C") COLLATE "C"'

    def number(self, value: str) -> str:
        """Return the SQL for a stored number; 0 for none, and for what is not finite."""
        return f"CASE WHEN {value} {_FINITE} THEN {value} ELSE 0 END"

    def row_number(self, alias: str) -> str:
        """Return the SQL for what tells rows of `sessions` apart most cheaply."""
        return f"{alias}.id"


DIALECT = PostgresDialect()
