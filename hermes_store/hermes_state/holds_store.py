"""What the groups of methods in this folder need of the `SessionDB` that they belong to."""

from __future__ import annotations

from typing import Protocol

from hermes_store.store import Store


class HoldsStore(Protocol):
    """A `SessionDB`."""

    store: Store
