"""A cache that drops what was not used for longest."""

from __future__ import annotations

from typing import TypeVar

from textual.cache import LRUCache

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(LRUCache[Key, Value]):
    """Textual's cache, which ignores a new value for a key that it has; this one takes it."""

    def __setitem__(self, key: Key, value: Value) -> None:
        """Keep a value, instead of an earlier one of the same key."""
        self.discard(key)
        super().__setitem__(key, value)
