"""What SQLite says in its own way."""

from __future__ import annotations

_FINITE = "BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"


class SqliteDialect:
    """The SQL in which engines differ, for SQLite."""

    def beginning(self, column: str, size: int) -> str:
        """Return the SQL for the first bytes of a text; NUL does not end them."""
        return f"substr(CAST({column} AS BLOB), 1, {size})"

    def json_text(self, column: str, key: str) -> str:
        """Return the SQL that reads text from a JSON column; NULL if it is not JSON."""
        return f"CASE WHEN json_valid({column}) THEN json_extract({column}, '$.{key}') END"

    def like(self, column: str) -> str:
        """Return the SQL test that a column is LIKE `?`, ignoring the case of ASCII letters."""
        return f"{column} LIKE ? ESCAPE '\\'"

    def alphabetical(self, column: str) -> str:
        """Return the SQL to order by, ignoring the case of ASCII letters."""
        return f"{column} COLLATE NOCASE"

    def number(self, value: str) -> str:
        """Return the SQL for a stored number, also from its digits; 0 for anything else.

        SQL itself would take '12 apples' for 12.
        """
        text = f"CAST({value} AS TEXT)"
        number = f"CAST({text} AS NUMERIC)"
        return (
            f"CASE WHEN {value} {_FINITE} THEN {value} "
            f"WHEN {number} = {text} AND {number} {_FINITE} THEN {number} ELSE 0 END"
        )

    def row_number(self, alias: str) -> str:
        """Return the SQL for what tells rows of `sessions` apart most cheaply."""
        return f"{alias}.rowid"


DIALECT = SqliteDialect()
