"""Every exception the store raises on purpose.

    StoreError
    ├── NotFound (also LookupError)
    │   ├── SessionNotFound
    │   ├── AmbiguousSession
    │   └── NotInTrash
    ├── InvalidInput (also ValueError)
    │   ├── BadFile
    │   └── TitleError
    │       ├── TitleTooLong
    │       └── TitleTaken
    ├── SessionInUse
    ├── SummaryError
    ├── ConfigError (also ValueError)
    └── DatabaseError
        ├── DatabaseLocked
        ├── DatabaseCorrupt
        ├── NotADatabase
        ├── DatabaseMissing
        ├── DatabaseUnreadable
        ├── DatabaseReadOnly
        └── DiskFull

The message of each is a whole sentence that names the thing and the way out; it can be shown
to a person as it is.
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of everything below; catch this to catch all that the store can report."""


class NotFound(StoreError, LookupError):
    """Something was asked for by name and is not there."""

    def __str__(self) -> str:
        # LookupError's subclass KeyError quotes its message; plain text is what people read.
        return str(self.args[0]) if self.args else ""


class SessionNotFound(NotFound):
    """No session has this id, prefix or title."""

    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"No session matches '{wanted}'. Run 'hermes sessions list' to see the ids and titles."
        )
        self.wanted = wanted


class AmbiguousSession(NotFound):
    """An id prefix or title fits several sessions."""

    def __init__(self, wanted: str, candidates: tuple[str, ...]) -> None:
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")
        super().__init__(f"'{wanted}' fits more than one session: {shown}. Give more of the id.")
        self.wanted = wanted
        self.candidates = candidates


class NotInTrash(NotFound):
    """The trash has no such batch or session."""

    def __init__(self, wanted: str | int | None) -> None:
        super().__init__(
            "The trash is empty."
            if wanted is None
            else f"There is no '{wanted}' in the trash. Run 'hermes sessions trash' to see what is."
        )
        self.wanted = wanted


class InvalidInput(StoreError, ValueError):
    """A value that was passed in cannot be used."""


class BadFile(InvalidInput):
    """A file that was given does not hold what it should, or cannot be read or written."""


class TitleError(InvalidInput):
    """A title that cannot be given to a session."""


class TitleTooLong(TitleError):
    """A title of more than the allowed number of characters."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The title is {length} characters long; at most {limit} are allowed. "
            f"Shorten it by {length - limit}."
        )
        self.length = length
        self.limit = limit


class TitleTaken(TitleError):
    """Another session has this title already."""

    def __init__(self, title: str, holder: str) -> None:
        super().__init__(
            f"The title '{title}' belongs to session {holder}. "
            "Choose another one or rename that session first."
        )
        self.title = title
        self.holder = holder


class SessionInUse(StoreError):
    """A session is being written to or compressed by another process right now."""


class SummaryError(StoreError):
    """A model could not summarise a conversation; for summarisers to raise."""


class ConfigError(StoreError, ValueError):
    """config.yaml cannot be read or holds a wrong value."""


class DatabaseError(StoreError):
    """The database file cannot be used as asked."""


class DatabaseLocked(DatabaseError):
    """Another process held the write lock for longer than the store is willing to wait."""


class DatabaseCorrupt(DatabaseError):
    """The file is damaged."""


class NotADatabase(DatabaseError):
    """The path is a directory or a file that SQLite did not write."""


class DatabaseMissing(DatabaseError):
    """There is no file and it may not be created."""


class DatabaseUnreadable(DatabaseError):
    """The file or its folder cannot be opened with the rights this process has."""


class DatabaseReadOnly(DatabaseError):
    """A change was asked of a store that was opened read-only, or of a write-protected file."""


class DiskFull(DatabaseError):
    """There is no room left; the change was rolled back."""
