"""Creates a database file, and the folders above it, for its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

from hermes_store import errors
from hermes_store.config.paths import create_folder


def create(path: Path) -> None:
    """Create a missing file that only its owner can read; SQLite copies the mode to its log."""
    try:
        create_folder(path.parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
    except FileExistsError:
        if not path.parent.is_dir():
            raise errors.DatabaseUnreadable(
                f"{path.parent} is not a folder, so {path.name} cannot be created there."
            ) from None
    except OSError as error:
        raise errors.DatabaseUnreadable(
            f"{path} cannot be created: {error.strerror}. Check the permissions of its folder, "
            "or set HERMES_HOME to one you can write to."
        ) from error
