"""File permissions that bind everyone, root included.

Root may read and write any file, so a test of a protected folder proves nothing there. Becoming
another user is no way out: that user may be unable to read this checkout. Instead the process
gives up the two Linux capabilities that let root ignore permissions, and takes them back later.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def _call(name: str, sets: ctypes.Array[_Sets]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(ctypes.byref(_Header(_VERSION, 0)), sets):
        raise OSError(ctypes.get_errno(), f"{name} failed")


@contextmanager
def respected() -> Iterator[None]:
    """Make this thread obey file permissions for the length of the block, even as root."""
    if os.geteuid() != 0:
        yield
        return
    sets = (_Sets * 2)()
    _call("capget", sets)
    before = sets[0].effective
    sets[0].effective = before & ~(1 << _CAP_DAC_OVERRIDE | 1 << _CAP_DAC_READ_SEARCH)
    _call("capset", sets)
    try:
        yield
    finally:
        sets[0].effective = before
        _call("capset", sets)
