"""A least-recently-used cache."""

from __future__ import annotations

from typing import TypeVar

from textual.cache import LRUCache

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(LRUCache[Key, Value]):
    """Textual's cache, which ignores a new value for an existing key; this one replaces it."""

    def __setitem__(self, key: Key, value: Value) -> None:
        """Store a value, replacing an earlier one."""
        self.discard(key)
        super().__setitem__(key, value)
