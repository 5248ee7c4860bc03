"""Addresses: read as libpq reads them, refused with a sentence, never shown with a password."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB, Store
from hermes_store.config import database_address
from hermes_store.engines.postgres.address import Address
from hermes_store.engines.postgres.dialect import translated
from hermes_store.engines.postgres.roles import statements
from hermes_store.engines.postgres.text_coding import decoded, encoded
from hermes_store.errors import (
    DatabaseMissing,
    DatabaseReadOnly,
    InvalidInput,
    NotADatabase,
    ServerUnreachable,
    StoreError,
)
from hermes_store.records.listing import View
from tests import postgres
from tests.support import add


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    assert decoded(encoded(text)) == text.encode("utf-8", "replace").decode() or (
        "\ud800" <= max(text, default="") <= "\udfff"
        or any("\ud800" <= letter <= "\udfff" for letter in text)
    )
    assert "\0" not in encoded(text)


@pytest.mark.parametrize(
    ("given_", "seen"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me@host/db"),
        ("postgres://me:se:cr@et@host:1/db?sslmode=require", "postgres://me@host:1/db?sslmode=require"),
        ("postgresql:///db?password=secret&user=me", "postgresql:///db?password=…&user=me"),
        ("postgresql://me:sec?ret@h/db?user=x", "postgresql://me@h/db?user=x"),
        ("postgresql://me:sec?ret@h", "postgresql://me@h"),
        ("postgresql://me:sec#ret@h/db", "postgresql://me@h/db"),
        ("postgresql://me:sec/ret@h/db", "postgresql://me@h/db"),
        ("postgresql://me:s@ecret@h/db", "postgresql://me@h/db"),
        ("postgresql://me:secret/db", "postgresql://…"),
        ("postgresql://h/db?sslpassword=secret", "postgresql://h/db?sslpassword=…"),
        ("postgresql://h/db?p%61ssword=secret&port=1", "postgresql://h/db?p%61ssword=…&port=1"),
        ("postgresql:/me:secret@h/x", "postgresql:…"),
        ("postgresql://[::1]:5432,b:1/db", "postgresql://[::1]:5432,b:1/db"),
        ("/home/me/state.db", "/home/me/state.db"),
    ],
)  # fmt: skip
def test_a_password_is_never_shown(given_: str, seen: str) -> None:
    assert database_address.shown(given_) == seen
    assert "secret" not in database_address.shown(given_)


@given(st.text("ab:/?#@&=%+", max_size=12))
def test_no_part_of_a_password_is_shown(password: str) -> None:
    for place in (f"postgresql://me:S{password}S@h/db", f"postgresql://h/db?password=S{password}S"):
        known = "&" in password and "?password" in place  # libpq ends it there
        assert known or "S" not in database_address.shown(place)


@pytest.mark.parametrize(
    ("given_", "password"),
    [("a+b", "a+b"), ("sec?ret", "sec?ret"), ("sec#ret", "sec#ret"), ("%40%2F", "@/")],
)
def test_libpq_is_given_the_password_as_it_was(given_: str, password: str) -> None:
    found = Address.parse(f"postgresql://me:{given_}@h/db?schema=s&port=1")
    told = psycopg.conninfo.conninfo_to_dict(found.connection)
    assert (told["password"], told["host"], told["port"]) == (password, "h", "1")


@pytest.mark.parametrize(
    "given_",
    [
        "me:s@ecret@h/db",
        "me:sec/ret@h/db",
        "me:50%ret@h/db",
        "me:sec ret@h/db",
        "h/db?password=5%zret",
        "me:12?s/ret@h/db",
    ],
)
def test_a_sign_that_must_be_encoded_is_named(given_: str) -> None:
    with pytest.raises(InvalidInput, match=r"%40|%25|NAME=VALUE") as caught:
        Store(f"postgresql://{given_}")
    assert "ret" not in str(caught.value)


def test_any_name_of_a_schema_works() -> None:
    base = postgres.server()
    with Store(f"{base}&schema=user") as store:
        assert not store.lists.conversations()
        store.database.vacuum()
    postgres.drop(f'{base}&schema="user"')


def test_the_schema_is_ours_and_the_rest_is_for_libpq() -> None:
    found = Address.parse("postgresql://me@a,b/db?schema=work&target_session_attrs=read-write")
    assert found.schema == "work"
    assert found.connection == "postgresql://me@a,b/db?target_session_attrs=read-write"
    assert Address.parse("postgresql:///db").schema == "hermes"


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ("schema=No;drop", InvalidInput, "cannot be the name of a schema"),
        ("colour=red", InvalidInput, "colour"),
        ("sslmode=perhaps", StoreError, "sslmode"),
    ],
)
def test_a_wrong_address_is_a_sentence(more: str, kind: type[StoreError], said: str) -> None:
    address = postgres.server()
    joined = f"{address}{'&' if '?' in address else '?'}{more}"
    with pytest.raises(kind, match=said):
        Store(joined)


def test_no_server_is_a_sentence() -> None:
    with pytest.raises(ServerUnreachable, match=r"cannot be reached .*Check that the server runs"):
        Store("postgresql://me:secret@localhost:1/db")
    with pytest.raises(ServerUnreachable) as caught:
        Store("postgresql://me:secret@localhost:1/db")
    assert "secret" not in str(caught.value)


def test_no_such_database_is_a_sentence() -> None:
    base = postgres.server()
    with pytest.raises(NotADatabase, match="createdb"):
        Store(base.replace("/postgres?", "/there_is_none?"))


def test_reading_an_empty_schema_creates_nothing(address: str) -> None:
    with pytest.raises(DatabaseMissing, match="no sessions in the schema"):
        Store(address, read_only=True)
    base, _, schema = address.rpartition("schema=")
    with psycopg.connect(base.rstrip("?&")) as con:
        found = con.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    assert found is None


def test_a_schema_of_something_else_is_refused(address: str) -> None:
    base, _, schema = address.rpartition("schema=")
    with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
        con.execute(f"CREATE SCHEMA {schema}")
        con.execute(f"CREATE TABLE {schema}.invoices (id int)")
    with pytest.raises(NotADatabase, match="other tables"):
        Store(address)


def test_a_schema_of_a_newer_version_is_refused(hub: SessionDB, address: str) -> None:
    with hub._db.write() as tx:
        tx.run("INSERT INTO migrations VALUES ('something later', 1)")
    with pytest.raises(DatabaseReadOnly, match=r"newer version .*something later.*Update"):
        Store(address)


def test_a_reader_reads_and_a_writer_writes(hub: SessionDB, address: str) -> None:
    add(hub, "a", "hello there")
    base, _, schema = address.rpartition("schema=")
    roles = {name: f"{schema}_{name}" for name in ("reader", "writer", "nobody")}
    with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
        for role in roles.values():
            con.execute(f"CREATE ROLE {role} LOGIN")
        for write, name in ((False, "reader"), (True, "writer")):
            for sql in statements(schema, roles[name], write=write):
                con.execute(sql)
    try:
        as_role = {name: f"{address}&user={role}" for name, role in roles.items()}
        with Store(as_role["reader"], read_only=True) as store:
            assert store.search.run("hello").hits
            assert store.lists.conversations()
        with Store(as_role["reader"]) as store, pytest.raises(DatabaseReadOnly):
            store.sessions.rename("a", "x")
        with Store(as_role["writer"]) as store:
            store.sessions.rename("a", "x")
            store.trash.delete_conversation("a", force=True)
            store.trash.restore()
            assert store.sessions.get("a").title == "x"
        with pytest.raises((DatabaseReadOnly, DatabaseMissing, NotADatabase)):
            Store(as_role["nobody"], read_only=True)
    finally:
        with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
            for role in roles.values():
                con.execute(f"DROP OWNED BY {role}")
                con.execute(f"DROP ROLE {role}")


def test_placeholders() -> None:
    assert translated("SELECT ?, '?', ? FROM a CROSS JOIN b ON TRUE") == (
        "SELECT $1, '?', $2 FROM a JOIN b ON TRUE"
    )
    assert translated("UPDATE a SET b = ?2 WHERE c = +?1") == "UPDATE a SET b = $2 WHERE c = $1"


@pytest.mark.parametrize("limit", ["0", "-1", "many", "", "9" * 40])
def test_a_wrong_row_limit_is_a_sentence(limit: str) -> None:
    with pytest.raises(InvalidInput, match="row_limit is a number"):
        Address.parse(f"postgresql:///db?row_limit={limit}")


def test_a_reader_may_ask_for_so_many_rows_at_once(
    hub: SessionDB, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_store.engines.postgres.address.LEAST_ROWS", 1)
    for name in "abc":
        add(hub, name, "hello there")
    assert Address.parse(address).row_limit == 1_000_000
    with Store(f"{address}&row_limit=3", read_only=True) as store:
        assert set(store.lists.entries(View(), now=0)) >= {"a", "b", "c"}
    add(hub, "d", "hello there")
    with (
        Store(f"{address}&row_limit=3", read_only=True) as store,
        pytest.raises(InvalidInput, match=r"more than 3 rows .*row_limit=NUMBER"),
    ):
        list(store.lists.entries(View(), now=0))


def test_who_may_not_vacuum_is_told(hub: SessionDB, address: str) -> None:
    base, _, schema = address.rpartition("schema=")
    role = f"{schema}_writer"
    with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
        con.execute(f"CREATE ROLE {role} LOGIN")
        for sql in statements(schema, role, write=True):
            con.execute(sql)
    try:
        with (
            Store(f"{address}&user={role}") as store,
            pytest.raises(DatabaseReadOnly, match="Only the owner"),
        ):
            store.database.vacuum()
    finally:
        with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
            con.execute(f"DROP OWNED BY {role}")
            con.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize(
    "made", ["VIEW {}.invoices AS SELECT 1 AS id", "TABLE {}.migrations (version int)"]
)
def test_a_schema_with_anything_else_is_refused(address: str, made: str) -> None:
    base, _, schema = address.rpartition("schema=")
    with psycopg.connect(base.rstrip("?&"), autocommit=True) as con:
        con.execute(f"CREATE SCHEMA {schema}")
        con.execute(f"CREATE {made.format(schema)}")
    for read_only in (True, False):
        with pytest.raises(NotADatabase, match="other tables"):
            Store(address, read_only=read_only)
