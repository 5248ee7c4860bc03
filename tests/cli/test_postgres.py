"""Commands on a PostgreSQL server: the same as on a file, and what only a server has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from tests import postgres
from tests.cli.command import hermes
from tests.support import add


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a schema with two conversations."""
    found = postgres.fresh_address()
    try:
        with SessionDB(found) as db:
            add(db, "a", "docker is down", title="Outage")
            add(db, "b", "nothing to see")
        yield found
    finally:
        postgres.drop(found)


def test_every_command_takes_an_address(home: Path, address: str) -> None:
    listed = hermes(home, "sessions", "list", "--db", address, "--json").json()
    assert {row["id"] for row in listed["sessions"]} == {"a", "b"}
    found = hermes(home, "sessions", "search", "docker", "--db", address)
    assert (found.code, "»docker«" in found.out) == (0, True)
    assert hermes(home, "sessions", "rename", "b", "Calm", "--db", address).code == 0
    assert "nothing to see" in hermes(home, "sessions", "show", "Calm", "--db", address).out
    assert hermes(home, "sessions", "delete", "b", "--yes", "--db", address).code == 0
    assert "Calm" in hermes(home, "sessions", "trash", "--db", address).out
    assert hermes(home, "sessions", "restore", "--db", address).code == 0
    assert hermes(home, "sessions", "stats", "--db", address).code == 0
    assert hermes(home, "sessions", "prune", "--dry-run", "--db", address).code == 0
    assert hermes(home, "sessions", "optimize", "--db", address).code == 0
    assert "PostgreSQL" in hermes(home, "sessions", "doctor", "--db", address).out
    refused = hermes(home, "sessions", "doctor", "--repair", "--db", address)
    assert refused.code == 2 and "repairs itself" in refused.err


def test_the_environment_and_the_settings_name_a_server(home: Path, address: str) -> None:
    named = hermes(home, "sessions", "list", more={"HERMES_DATABASE_URL": address})
    assert "Outage" in named.out
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"database:\n  url: {address}\n")
    assert "Outage" in hermes(home, "sessions", "list").out
    elsewhere = hermes(home, "sessions", "list", "--home", str(home / "other"))
    assert "Outage" not in elsewhere.out


def test_a_password_is_not_printed(home: Path) -> None:
    refused = hermes(home, "sessions", "list", "--db", "postgresql://me:secret@localhost:1/x")
    assert refused.code == 1
    assert "cannot be reached" in refused.err
    assert "secret" not in refused.out + refused.err


@pytest.mark.parametrize(
    "arguments", [("-c",), ("-r", "x"), ("sessions", "show", "x"), ("sessions", "doctor")]
)
@pytest.mark.parametrize("given", ["me:s?cret@localhost:1", "me:s/cret@localhost:1", "/me:scret@h"])
def test_no_verb_prints_a_password(home: Path, arguments: tuple[str, ...], given: str) -> None:
    done = hermes(
        home, *arguments, "--db", f"postgresql:/{'' if given[0] == '/' else '/'}{given}/x"
    )
    assert done.code != 0
    assert "cret" not in done.out + done.err and done.err.strip()


def test_the_settings_are_shown_without_the_password(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("database:\n  url: postgresql://me:secret@h/db\n")
    for more in ((), ("--json",)):
        told = hermes(home, "sessions", "config", "show", *more)
        assert "postgresql://me@h/db" in told.out and "secret" not in told.out + told.err


def test_a_session_on_a_server_is_resumed(home: Path, address: str) -> None:
    told = hermes(home, "-r", "Outage", "--print", "--db", address)
    assert told.code == 0 and "docker is down" in told.out
    assert "docker is down" in hermes(home, "-c", "Outage", "--print", "--db", address).out


def test_sessions_go_to_a_server_and_back(home: Path, address: str, tmp_path: Path) -> None:
    home.mkdir(exist_ok=True)
    with SessionDB(home / "state.db") as db:
        add(db, "mine", "a path: /srv/app", title="Mine")
    sent = hermes(home, "sessions", "push", "--to", address, "--host", "laptop")
    assert sent.code == 0 and "1 new session" in sent.out
    again = hermes(home, "sessions", "push", "--to", address, "--host", "laptop", "--json").json()
    assert (again["added"], again["messages"]) == (0, 0)
    with Store(address, read_only=True) as store:
        (row,) = store.lists.rows(["mine"], now=0)
        assert row.host == "laptop"
    target = tmp_path / "pulled.db"
    pulled = hermes(
        home, "sessions", "pull", "--from", address, "--query", "host:laptop", "--db", str(target)
    )
    assert pulled.code == 0, pulled.err
    with Store(target, read_only=True) as store:
        assert store.sessions.get("mine").title == "Mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("push",), "Name a server with --to"),
        (("push", "--to", "/tmp/x"), "is not the address of a server"),
        (("pull", "--from", "postgresql://h/d"), "--query or --all"),
        (("postgres", "index"), "Name a server with --db"),
        (("postgres", "grant", "--db", "postgresql://h/d"), "Name a role"),
    ],
)
def test_what_is_missing_is_named(home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = hermes(home, "sessions", *arguments)
    assert done.code != 0 and said in done.err


def test_indexing_and_rights(home: Path, address: str) -> None:
    indexed = hermes(home, "sessions", "postgres", "index", "--db", address)
    assert (indexed.code, indexed.out.strip()) == (0, "All messages are indexed.")
    granted = hermes(home, "sessions", "postgres", "grant", "ann", "--write", "--db", address)
    assert 'TO "ann";' in granted.out and "INSERT" in granted.out


@pytest.fixture
def two_hosts(address: str, tmp_path: Path) -> str:
    """The address of a server that has the same title from two machines."""
    with Store(address) as hub:
        for host in ("ada", "bob"):
            with SessionDB(tmp_path / f"{host}.db") as db:
                add(db, f"from-{host}", f"said on {host}", title="Same title")
                db.store.transfer.push(hub.database, host=host)
    return address


def test_conversations_of_two_machines_are_told_apart(home: Path, two_hosts: str) -> None:
    wide = {"COLUMNS": "140"}
    listed = hermes(home, "sessions", "list", "--db", two_hosts, more=wide).out
    assert "Host" in listed and "ada" in listed and "bob" in listed
    assert "ada" in hermes(home, "sessions", "search", "said", "--db", two_hosts, more=wide).out
    unsure = hermes(home, "sessions", "show", "Same title", "--db", two_hosts)
    assert unsure.code == 1 and "matches several sessions: from-ada, from-bob" in unsure.err


def test_renaming_to_its_own_title_leaves_that_of_another_machine(two_hosts: str) -> None:
    with Store(two_hosts) as store:
        assert store.sessions.advise_title("from-ada", "Same title").problem is None
        assert store.sessions.rename("from-ada", "Same title") == "Same title"
        store.sessions.undo_rename(store.sessions.change_title("from-ada", "Other"))
        assert store.sessions.get("from-bob").title == "Same title"
        assert store.sessions.get("from-ada").title == "Same title"


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("list", "--db", "postgresq://me:scret@h/x"), {}, "not a valid address"),
        (("list", "--home", "postgresql://h/x"), {}, "goes to --db"),
        (("list",), {"HERMES_DATABASE_URL": "/tmp/x.db"}, "HERMES_DATABASE_URL is not the address"),
        (("pull", "--db", "postgresql://h/x", "--from", "postgresql://h/x", "--all"), {}, "--from"),
        (("push", "--to", "postgresql://h/x", "--host", " "), {}, "--host needs a name"),
        (("list", "--db", "postgresql://h:abc/x"), {}, "not a valid address"),
    ],
)
def test_what_is_no_address_is_refused(
    home: Path, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    done = hermes(home, "sessions", *arguments, more=environment)
    assert done.code != 0 and said in done.err and "scret" not in done.err


def test_a_wrong_name_is_no_empty_history(home: Path, address: str) -> None:
    for wrong in (f"{address}x", address.replace("/postgres?", "/there_is_none?")):
        for verb in (("list",), ("search", "x"), ("stats",)):
            done = hermes(home, "sessions", *verb, "--db", wrong)
            assert done.code == 1 and "postgres" in done.err and "No conversations" not in done.out
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("database:\n  url: /tmp/x.db\n")
    assert "database.url in" in hermes(home, "sessions", "list").err
