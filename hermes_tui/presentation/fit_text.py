"""Stored text for the screen: cleaned, measured in columns and cut to fit."""

from __future__ import annotations

import re
from pathlib import Path

from hermes_store.config.database_address import shown
from hermes_store.records.safe_text import clean, one_line

# Characters that take one column each: most text. Everything else is measured with rich's tables,
# which take a few milliseconds to load.
_NARROW = re.compile("[\x20-\x7e\xa0-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25ff]*")
_NUMBERED = re.compile(r" #\d+$")


def plain(value: object) -> str:
    """Return stored text on one line, safe for a terminal."""
    return clean(one_line(str(value)))


def first_words(preview: str) -> str:
    """Return how a conversation begins, with the one ellipsis that everything else has."""
    shown = plain(preview)
    return shown[:-3].rstrip() + "…" if shown.endswith("...") else shown


def flat(text: str) -> str:
    """Return part of a stored text on one line; white space at its ends stays one space."""
    shown = plain(text)
    lead = " " if text[:1].isspace() and shown else ""
    tail = " " if text[-1:].isspace() else ""
    return f"{lead}{shown}{tail}"


def cell_width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, columns: int, *, pad: bool = True) -> str:
    """Cut a text to a number of columns, ending in an ellipsis, or pad it with spaces."""
    if columns <= 0:
        return ""
    if cell_width(text) > columns:
        text = _cut(text, columns - 1).rstrip() + "…"
    return text + " " * (columns - cell_width(text)) if pad else text


def _cut(text: str, columns: int) -> str:
    if _NARROW.fullmatch(text):
        return text[:columns]
    from rich.cells import set_cell_size

    return set_cell_size(text, columns)


def fit_title(title: str, width: int) -> str:
    """Cut a title to a width, keeping the number of a continuation ("name #3")."""
    numbered = _NUMBERED.search(title)
    if numbered is None or cell_width(title) <= width or len(numbered[0]) + 6 > width:
        return fit(title, width)
    base = fit(title[: numbered.start()], width - len(numbered[0])).rstrip()
    return fit(base + numbered[0], width)


def short_path(path: Path | str) -> str:
    """Return a path with the home folder as ~, or the address of a server without details."""
    if isinstance(path, str):
        address, _, parameters = shown(path).partition("?")
        schema = re.search(r"(?:^|&)schema=([^&]*)", parameters)
        return f"{address} · {schema[1]}" if schema else address
    try:
        return f"~/{path.expanduser().relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # elsewhere, or no home folder is known
        return str(path)
