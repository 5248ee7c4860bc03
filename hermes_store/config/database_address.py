"""What a database is called: the path of a file, or the address of a server.

An address may hold a password. It is never shown: what people see goes through `shown`, which would
rather hide too much.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from urllib.parse import unquote

from hermes_store.errors import InvalidInput

SCHEMES = ("postgresql://", "postgres://")
VARIABLE = "HERMES_DATABASE_URL"
_BEGINNING = re.compile("(?i)(?:postgres(?:ql)?:|[a-z][a-z0-9+.-]*://)")
_PARAMETER = re.compile("([?&][^=&?]+)=([^&]*)")
_ODD_PORT = re.compile(r":[0-9]*[^0-9,:\]]")
_SECRET = re.compile("(?i)password|passwd|secret|scram_.*_key")


def is_address(text: object) -> bool:
    """Tell whether a text is the address of a server, or meant to be one, instead of a path."""
    return isinstance(text, str) and _BEGINNING.match(text) is not None


def from_environment() -> str | None:
    """Return the address in the environment, if there is one; InvalidInput if it is none."""
    given = os.environ.get(VARIABLE, "").strip()
    return required(given, VARIABLE) if given else None


def required(given: str, where: str) -> str:
    """Return a text that has to be an address; InvalidInput if it is none."""
    if is_address(given):
        return given
    raise InvalidInput(
        f"{where} is not the address of a PostgreSQL server. It begins with postgresql://."
    )


def configured_address(home: Path) -> str | None:
    """Return the address in the environment or in a home's config.yaml, if there is one.

    InvalidInput if what stands there is none.
    """
    from hermes_store.config.agent_settings import database_url

    found = from_environment()
    if found is None and (url := database_url(home)) is not None:
        found = required(url, f"database.url in {home / 'config.yaml'}")
    return found


def beside_server(home: Path, address: str) -> Path:
    """Return the name that files about a server's sessions are kept by, in a home folder."""
    number = zlib.crc32(shown(address).encode())
    return home / f"postgres-{number:08x}"


def shown(place: Path | str) -> str:
    """Return a path or an address as it may be shown."""
    if not isinstance(place, str) or not is_address(place):
        return str(place)
    scheme = next((each for each in SCHEMES if place.lower().startswith(each)), None)
    if scheme is None:
        return f"{place.partition(':')[0]}:…"
    rest = _PARAMETER.sub(_masked, place[len(scheme) :])
    head, mark, parameters = rest.rpartition("?")
    if not mark or "@" in parameters:
        head, mark, parameters = rest, "", ""  # the question mark may be one of the password
    # A password may hold any sign, also those that end it elsewhere: up to the last @, all is one.
    credentials, at, host = head.rpartition("@")
    if not at and _ODD_PORT.search(host.partition("/")[0]):
        host = "…"  # perhaps a user and a password whose host was forgotten
    user = credentials.partition(":")[0]
    return f"{place[: len(scheme)]}{user}{at}{host}{mark}{parameters}"


def _masked(parameter: re.Match[str]) -> str:
    name, _ = parameter.groups()
    return f"{name}=…" if _SECRET.search(unquote(name)) else parameter[0]
