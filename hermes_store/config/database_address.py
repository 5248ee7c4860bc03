"""What a database is called: the path of a file, or the address of a server.

An address may hold a password. It is never shown: what people see goes through `shown`.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from urllib.parse import urlsplit

SCHEMES = ("postgresql://", "postgres://")
VARIABLE = "HERMES_DATABASE_URL"
_PASSWORD = re.compile(r"(?i)(\bpassword=)[^\s&]*")


def is_address(text: object) -> bool:
    """Tell whether a text is the address of a server instead of the path of a file."""
    return isinstance(text, str) and text.lower().startswith(SCHEMES)


def from_environment() -> str | None:
    """Return the address in the environment, if there is one."""
    return os.environ.get(VARIABLE, "").strip() or None


def configured_address(home: Path) -> str | None:
    """Return the address in the environment or in a home's config.yaml, if there is one."""
    from hermes_store.config.agent_settings import database_url

    return from_environment() or database_url(home)


def beside_server(home: Path, address: str) -> Path:
    """Return the name that files about a server's sessions are kept by, in a home folder."""
    number = zlib.crc32(shown(address).encode())
    return home / f"postgres-{number:08x}"


def shown(place: Path | str) -> str:
    """Return a path or an address as it may be shown."""
    if not isinstance(place, str) or not is_address(place):
        return str(place)
    try:
        parts = urlsplit(place)
        credentials, at, host = parts.netloc.rpartition("@")
    except ValueError:
        return SCHEMES[0] + "…"
    user = credentials.partition(":")[0]
    query = f"?{parts.query}" if parts.query else ""
    # Not urlunsplit: it makes postgresql:/db of postgresql:///db.
    return _PASSWORD.sub(r"\1…", f"{parts.scheme}://{user}{at}{host}{parts.path}{query}")
