"""Check the sessions on a PostgreSQL server; its files are the server's own business."""

from __future__ import annotations

from hermes_store.engines.base import Database, Transaction
from hermes_store.engines.message_states import sent
from hermes_store.records.safe_text import clean
from hermes_store.records.stored_values import text
from hermes_store.records.upkeep_reports import Finding, Health


def examine_server(db: Database) -> list[Finding]:
    """Run every check on a server and return the findings."""
    with db.read() as tx:
        return [_server(tx), _encoding(tx), _index(tx), _counters(tx)]


def _server(tx: Transaction) -> Finding:
    version = clean(text(tx.value("SHOW server_version")))
    said = "It checks its own pages, logs and references."
    return Finding(Health.GOOD, "server", f"PostgreSQL {version} answers. {said}")


def _encoding(tx: Transaction) -> Finding:
    found = clean(text(tx.value("SHOW server_encoding")))
    if found == "UTF8":
        return Finding(Health.GOOD, "encoding", "Text is stored as UTF-8.")
    advice = "Move to a database with the encoding UTF8."
    return Finding(Health.NOTE, "encoding", f"Text is stored as {found}, not UTF-8. {advice}")


def _index(tx: Transaction) -> Finding:
    left = int(tx.value("SELECT COUNT(*) FROM todo"))
    messages = int(tx.value("SELECT COUNT(*) FROM messages"))
    if not left:
        return Finding(Health.GOOD, "index", f"{messages:,} messages are indexed.")
    said = (
        f"{left:,} of {messages:,} messages are not indexed yet; searches read them. "
        "'hermes sessions postgres index' indexes them now."
    )
    return Finding(Health.NOTE, "index", said)


def _counters(tx: Transaction) -> Finding:
    wrong = tx.value(
        "SELECT COUNT(*) FROM sessions s WHERE COALESCE(s.message_count, 0) < "
        f"(SELECT COUNT(*) FROM messages m WHERE m.session_id = s.id AND {sent(tx.caps)})"
    )
    if wrong:
        said = f"Sessions with more messages than lists show, by a wrong counter: {wrong:,}."
        return Finding(Health.NOTE, "counters", said)
    return Finding(Health.GOOD, "counters", "Message counters are consistent.")
