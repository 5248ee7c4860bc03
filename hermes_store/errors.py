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
        ├── DatabaseReplaced
        ├── ServerUnreachable
        ├── ChangeUncertain
        ├── ConstraintViolated
        └── DiskFull

Each message is a complete sentence that names the thing and the way out, ready to show to the user.
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of every exception the store raises on purpose."""


class NotFound(StoreError, LookupError):
    """Something requested by name does not exist."""

    def __str__(self) -> str:
        # LookupError's subclass KeyError quotes its message; users should see plain text.
        return str(self.args[0]) if self.args else ""


class SessionNotFound(NotFound):
    """No session has this id, prefix or title."""

    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"No session matches '{wanted}'. Run 'hermes sessions list' to see the ids and titles."
        )
        self.wanted = wanted


class AmbiguousSession(NotFound):
    """An id prefix matches several sessions."""

    def __init__(
        self, wanted: str, candidates: tuple[str, ...], way_out: str = "Type more of the id."
    ) -> None:
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")
        super().__init__(f"'{wanted}' matches several sessions: {shown}. {way_out}")
        self.wanted = wanted
        self.candidates = candidates


class NotInTrash(NotFound):
    """The trash holds no such batch or session."""

    def __init__(self, wanted: str | int | None) -> None:
        super().__init__(
            "The trash is empty."
            if wanted is None
            else f"'{wanted}' is not in the trash. Run 'hermes sessions trash' to list what is."
        )
        self.wanted = wanted


class InvalidInput(StoreError, ValueError):
    """A value passed to the store is not valid."""


class BadFile(InvalidInput):
    """A file has the wrong contents, or cannot be read or written."""


class TitleError(InvalidInput):
    """A title that no session can have."""


class TitleTooLong(TitleError):
    """A title longer than the limit."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The title is too long: {length} characters, and at most {limit} are allowed. "
            f"Shorten it by {length - limit}."
        )
        self.length = length
        self.limit = limit


class TitleTaken(TitleError):
    """Another session already has this title."""

    def __init__(self, title: str, holder: str) -> None:
        super().__init__(
            f"The title '{title}' is already in use by session {holder}. "
            "Choose another title, or rename that session first."
        )
        self.title = title
        self.holder = holder


class SessionInUse(StoreError):
    """Another process is writing to a session or compressing it."""


class SummaryError(StoreError):
    """A model could not summarize a conversation; raised by summarizers."""


class ConfigError(StoreError, ValueError):
    """config.yaml cannot be read or contains an invalid value."""


class DatabaseError(StoreError):
    """The database cannot do what was asked."""


class DatabaseLocked(DatabaseError):
    """Another process held the write lock for longer than the store waits."""


class DatabaseCorrupt(DatabaseError):
    """The database is damaged."""


class NotADatabase(DatabaseError):
    """The path is a directory or a file that SQLite did not write."""


class DatabaseMissing(DatabaseError):
    """There is no database and none may be created."""


class DatabaseUnreadable(DatabaseError):
    """This process lacks the permissions to open the file or its folder, or the disk fails."""


class DatabaseReadOnly(DatabaseError):
    """A change to a store that was opened read-only, or to a write-protected file."""


class DatabaseReplaced(DatabaseError):
    """Another program replaced the file or removed its log; nothing was changed."""


class ServerUnreachable(DatabaseError):
    """The server of a database does not answer, or not to this user."""


class ChangeUncertain(DatabaseError):
    """The file was replaced while a change was being committed, so it may be lost."""


class ConstraintViolated(DatabaseError):
    """A rule of the database, such as a trigger of another program, forbids the change."""


class DiskFull(DatabaseError):
    """The disk is full; the change was rolled back."""


def places(error: BaseException) -> str:
    """Return which errors happened where, for a log: without their messages.

    A message may quote what people wrote, and a log must not.
    """
    import traceback

    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        lines.append(f"{type(seen).__module__}.{type(seen).__qualname__}\n")
        lines += traceback.format_tb(seen.__traceback__)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return "".join(lines).rstrip()
