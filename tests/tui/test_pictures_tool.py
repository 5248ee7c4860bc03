"""The tool that draws pictures and the film for the README."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tests.house import ROOT

SVG = "{http://www.w3.org/2000/svg}"
BOLD, FILLED = Style(bold=True, color="#ff0000"), Style(bgcolor="#00ff00")
FIRST = [
    [Segment("plain & <b>old</b> "), Segment("bold", BOLD), Segment("   ")],
    [],
    [Segment("  日本語 ok é "), Segment("───╮", FILLED), Segment("'\"")],
]
SECOND = [FIRST[0], [Segment("\x1b]0;title\x07 rings")], [Segment("│ end", BOLD)]]
WIDTH = 40


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that draws."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "pictures"))
    yield importlib.import_module("drawing")


def _text(row: list[Segment]) -> str:
    return "".join(segment.text for segment in row)


def _shown(root: ElementTree.Element, drawing: Any) -> list[list[str]]:
    """Return the rows of every frame, put together from where their parts stand."""
    stored = {each.get("id"): each for each in root.iterfind(f"{SVG}defs/{SVG}g")}
    frames = []
    for frame in root.iterfind(f".//{SVG}g[@class='film']/{SVG}svg"):
        rows: dict[int, str] = {}
        for use in frame.iterfind(f".//{SVG}use"):
            line = ""
            for text in stored[(use.get("href") or "")[1:]].iterfind(f"{SVG}text"):
                column = int(text.get("x") or 0) // drawing.CELL
                line += " " * (column - cell_len(line)) + (text.text or "")
                assert int(text.get("textLength") or 0) == cell_len(text.text or "") * drawing.CELL
            rows[int(use.get("y") or 0) // drawing.LINE] = line
        frames.append([rows.get(place, "") for place in range(len(FIRST))])
    return frames


def test_a_film_shows_the_text_of_every_frame(drawing: Any) -> None:
    frames = [drawing.Frame(FIRST, 1.5, "One & two"), drawing.Frame(SECOND, 0.5)]
    drawn = drawing.film(frames, WIDTH)
    root = ElementTree.fromstring(drawn)
    first, second = _shown(root, drawing)
    assert first == [_text(row).rstrip() for row in FIRST]
    assert second[0] == first[0]
    assert second[1] == "�]0;title� rings" and second[2] == "│ end"
    assert [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "title"] == [
        "One & two"
    ]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", drawn)


def test_a_row_is_stored_once_and_time_adds_up(drawing: Any) -> None:
    frames = [drawing.Frame(FIRST, 1.5), drawing.Frame(SECOND, 0.5), drawing.Frame(FIRST, 2.0)]
    drawn = drawing.film(frames, WIDTH)
    root = ElementTree.fromstring(drawn)
    assert len(root.findall(f"{SVG}defs/{SVG}g")) == 4
    assert "animation:play 4.00s step-end infinite" in drawn
    assert re.findall(r"([\d.]+)%\{transform", drawn) == ["0.000", "37.500", "50.000"]
    shown = _shown(root, drawing)
    assert shown[2] == shown[0] != shown[1]


def test_a_picture_stands_still_and_needs_nothing_from_elsewhere(drawing: Any) -> None:
    drawn = drawing.still(FIRST, WIDTH, "A title")
    ElementTree.fromstring(drawn)
    assert "animation" not in drawn and "<script" not in drawn and "url(" not in drawn
    assert "font-weight:700" in drawn and "fill:#ff0000" in drawn and "fill:#00ff00" in drawn


def test_styles_are_told_apart_and_wide_letters_stand_alone(drawing: Any) -> None:
    found = drawing.runs([*FIRST[2], Segment("x", Style(reverse=True)), Segment("y")])
    assert [(each.column, each.text) for each in found] == [
        (0, "  "), (2, "日本語"), (8, " ok é "), (14, "───╮"), (18, "'\""), (20, "x"), (21, "y"),
    ]  # fmt: skip


def test_there_are_names_for_any_number_of_styles(drawing: Any) -> None:
    names = [drawing._name(number) for number in range(4_000)]
    assert len(set(names)) == 4_000 and all(name.isalpha() for name in names)
