"""Prose that wraps between words, and tables that fit."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from hermes_tui.cli.common.output import Column, Printer, wrapped


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")


def test_prose_wraps_between_words() -> None:
    assert wrapped("short") == "short"
    assert wrapped("") == ""
    lines = wrapped("one two three four five six seven eight nine ten", indent="  ").split("\n")
    assert lines == ["one two three four five six", "  seven eight nine ten"]
    assert wrapped("  ✓ log    The log has 0 bytes, really", indent="    ") == (
        "  ✓ log    The log has 0\n    bytes, really"
    )


def test_prose_without_spaces_is_cut_by_width_but_a_path_stays_whole() -> None:
    lines = wrapped("数据库" * 12).split("\n")
    assert "".join(lines) == "数据库" * 12 and all(cell_len(line) <= 30 for line in lines)
    path = "/a/very/long/path/that/nobody/can/break"
    assert wrapped(f"See {path} now.") == f"See\n{path}\nnow."


def test_a_table_gives_what_room_there_is_to_the_widest_column() -> None:
    out = io.StringIO()
    columns = [Column("Title", 99), Column("Cost", 9, right=True), Column("ID", 0)]
    rows = [["数据库迁移失败的长标题", "$1.00", "an-id"], ["short", "$12.50", "b"]]
    Printer(out).table(columns, rows)
    head, rule, wide, short = out.getvalue().splitlines()
    assert head == "Title               Cost ID"
    assert rule == "─" * 30
    assert wide == "数据库迁移失败的…  $1.00 an-id"
    assert short == "short             $12.50 b"
    assert cell_len(wide) == 30
