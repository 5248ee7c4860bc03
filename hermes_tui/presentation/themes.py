"""The two built-in themes, the choice of theme, and the style sheets."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from pathlib import Path

from textual.theme import Theme

from hermes_store.errors import ConfigError

AUTO = "auto"
DARK, LIGHT = "hermes-dark", "hermes-light"
COLOURLESS = "ansi-dark"
"""The theme for NO_COLOR; other themes would turn gray."""

OWN = (
    Theme(
        name=DARK,
        primary="#DAA520",
        secondary="#7FA8C9",
        accent="#E8B84A",
        foreground="#E8E3D5",
        background="#14161A",
        surface="#1A1D23",
        panel="#242830",
        success="#8FBC8F",
        warning="#E0A458",
        error="#E06C75",
        dark=True,
    ),
    Theme(
        name=LIGHT,
        primary="#8A6100",
        secondary="#2F6690",
        accent="#A0700A",
        foreground="#24262B",
        background="#FBF9F4",
        surface="#F3F0E8",
        panel="#E6E1D5",
        success="#3B7A3B",
        warning="#A85B00",
        error="#B3261E",
        dark=False,
    ),
)


def chosen(wanted: str, available: Collection[str], kept: str | None = None) -> str:
    """Return the theme to start with; ConfigError if config.yaml names an unknown one.

    `kept` was chosen inside the browser; it is left out if it is not available any more.
    """
    if os.environ.get("NO_COLOR"):
        return COLOURLESS
    if kept is not None and kept in available:
        return kept
    if wanted == AUTO:
        override = os.environ.get("TEXTUAL_THEME", "")
        return override if override in available else DARK
    if wanted not in available:
        near = difflib.get_close_matches(wanted, available, n=1)
        hint = (
            f"Did you mean '{near[0]}'?" if near else f"Available: {', '.join(sorted(available))}."
        )
        raise ConfigError(f"browse.theme has an unknown theme '{wanted}'. {hint}")
    return wanted


def styles_folder() -> Path:
    """Return the folder of the style sheets, installed or in a checkout."""
    here = Path(__file__).resolve().parent.parent
    installed = here / "styles"
    return installed if installed.is_dir() else here.parent / "styles"
