"""Pictures of the right side: recap, transcript, lineage, info."""

from __future__ import annotations

from pathlib import Path

from hermes_tui.opening.start_options import State
from tests.tui import stock
from tests.tui.conftest import Snap
from tests.tui.running import Typed, make_app

TOOLS = "20260921_132317_2949848e"
"""A conversation of the sample with tool calls."""


def test_recap(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=stock.FAMILY)), "tab", "tab")


def test_transcript(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=TOOLS, tab="transcript")), "tab", "tab", "home")


def test_transcript_opened(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", "home", "down", "enter", "down", "enter")


def test_transcript_all_opened(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", "Z", "home")


def test_transcript_with_matches(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(tab="transcript"))
    snap(app, Typed("docker deploy"))


def test_transcript_next_match(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(tab="transcript"))
    snap(app, Typed("docker"), "tab", "tab", "n")


def test_transcript_with_a_seam(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=stock.CHAIN, tab="transcript"))
    snap(app, "tab", "tab", "home", size=(120, 60))


def test_transcript_narrow(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", size=(80, 24))


def test_transcript_tiny(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", size=(40, 12))


def test_transcript_light(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"), theme="hermes-light")
    snap(app, "tab", "tab")


def test_lineage_of_a_family(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=stock.FAMILY, tab="lineage")), "tab", "tab")


def test_lineage_of_one(path: Path, snap: Snap) -> None:
    stock.one(path)
    snap(make_app(path, state=State(tab="lineage")))


def test_info(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=stock.FAMILY, tab="info")), "tab", "tab")


def test_find(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", "slash")


def test_find_with_matches(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS, tab="transcript"))
    snap(app, "tab", "tab", "slash", Typed("the"), "enter")


def test_zoom(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=TOOLS)), "tab", "z", "home", "t")


def test_zoom_wide(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=TOOLS)), "tab", "z", size=(200, 50))


def test_zoom_tiny(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, state=State(session_id=TOOLS)), "tab", "z", size=(40, 12))


def test_zoom_light(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS), theme="hermes-light")
    snap(app, "tab", "z", "home")


def test_zoom_ansi(sample: Path, snap: Snap) -> None:
    app = make_app(sample, state=State(session_id=TOOLS), theme="ansi-dark")
    snap(app, "tab", "z", "home")
