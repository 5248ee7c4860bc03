"""The advisory locks of a schema. They belong to a database, so each key names the schema, too."""

from __future__ import annotations

import zlib
from enum import IntEnum


class Lock(IntEnum):
    """What a lock is for; chosen so that other programs are unlikely to use the same."""

    CHANGE = 0x48530001
    """Shared by everyone who adds messages; alone by everyone who changes anything else."""
    SIDECAR = 0x48530002
    MIGRATION = 0x48530003
    INDEX = 0x48530004
    """Held by the one who indexes words."""


def key_of(lock: Lock, schema: str) -> tuple[int, int]:
    """Return the two numbers of a lock."""
    number = zlib.crc32(schema.encode())
    return int(lock), number - 2**32 if number >= 2**31 else number
