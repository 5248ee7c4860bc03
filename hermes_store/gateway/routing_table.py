"""The session of each key, in a table of a server that several gateways share.

Entries are those of sessions.json. They change in the same transaction as the sessions they name,
so two gateways can never begin two sessions for one key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from hermes_store.engines.base import Database, Transaction
from hermes_store.gateway.routing_file import Route
from hermes_store.records.message_content import decode_json


class StoredRoutes:
    """The entries of all gateways of a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, *keys: str) -> Route | None:
        """Return the current entry of the first key that has one."""
        with self._db.read() as tx:
            found = _entries(
                tx, "WHERE key IN (SELECT value FROM json_each(?))", json.dumps(list(keys))
            )
        return next((found[key] for key in keys if key in found), None)

    @contextmanager
    def changing(self) -> Iterator[dict[str, Route]]:
        """Give all entries to change; they are written if the block succeeds.

        What the block changes in the database is part of the same transaction.
        """
        with self._db.write() as tx:
            before = _entries(tx)
            entries = dict(before)
            yield entries
            for key in before.keys() - entries.keys():
                tx.run("DELETE FROM routes WHERE key = ?", (key,))
            for key, route in entries.items():
                if before.get(key) is not route:
                    tx.run(
                        "INSERT INTO routes(key, fields) VALUES (?, ?) "
                        "ON CONFLICT(key) DO UPDATE SET fields = excluded.fields",
                        (key, json.dumps(route.fields, ensure_ascii=False)),
                    )


def _entries(tx: Transaction, where: str = "", *values: str) -> dict[str, Route]:
    rows = tx.rows(f"SELECT key, fields FROM routes {where}", values)
    read = {key: Route.read(key, decode_json(fields)) for key, fields in rows}
    return {key: route for key, route in read.items() if route is not None}
