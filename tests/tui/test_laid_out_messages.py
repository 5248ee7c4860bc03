"""Messages as lines: turns, tool calls, diffs, Markdown; any content at all stays in its width."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style

from hermes_store.records.message import SUMMARY_MARK, Message
from hermes_store.records.tool_calls import ToolCall
from hermes_tui.presentation import diffs, tool_lines
from hermes_tui.presentation.laid_out import Laid, Look
from hermes_tui.presentation.messages import Standing, lay_out
from hermes_tui.presentation.without_markdown import without_markdown
from hermes_tui.presentation.wrap_text import wrapped

NOON = 1_790_000_000.0


def look(width: int = 60, *, opened: bool = False, ansi: bool = False) -> Look:
    return Look(width, opened, True, lambda name: Style.null(), None, ansi)


def laid(text: str, width: int = 60, role: str = "assistant", **more: Any) -> Laid:
    opened = more.pop("opened", False)
    standing = more.pop("standing", None)
    message = Message(1, "s", role, NOON, text, **more)
    return lay_out(message, look(width, opened=opened), standing)


def lines(text: str, width: int = 60, role: str = "assistant", **more: Any) -> list[str]:
    return [strip.text.rstrip() for strip in laid(text, width, role, **more).strips]


def body(text: str, width: int = 60) -> list[str]:
    """Return the lines of an answer below its name, without the margin."""
    return [line.removeprefix("  ") for line in lines(text, width)[2:]]


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("1", name, json.dumps(arguments))


def result(text: str, called: ToolCall, **more: Any) -> list[str]:
    standing = Standing(begins=False, call=called)
    return lines(text, role="tool", standing=standing, **more)


# -- turns -------------------------------------------------------------------------------------


def test_a_turn_says_who_speaks_with_which_model_when_and_how_long() -> None:
    standing = Standing(model="anthropic/claude-sonnet-4.6", before=NOON - 60, seconds=6.2)
    name = lines("Hi", standing=standing)[1]
    assert name.startswith("◆ Hermes · claude-sonnet-4.6 ")
    assert re.search(r" \d\d:\d\d · 6 s$", name)


def test_the_date_is_said_when_the_day_changes() -> None:
    assert "2026" in lines("Hi", role="user")[1], "at the beginning, with the year"
    same = lines("Hi", role="user", standing=Standing(before=NOON - 60))[1]
    assert not re.search(r"Sep", same)
    later = lines("Hi", role="user", standing=Standing(before=NOON - 86_400))[1]
    assert "Sep" in later and "2026" not in later


@pytest.mark.parametrize(
    "text", [f"{SUMMARY_MARK}\n\nIt was long.", "[CONTEXT SUMMARY]: It was long."]
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_summary_is_nobodys_word(text: str, role: str) -> None:
    shown = lines(text, role=role)
    assert shown[1].startswith("◈ Summary") and shown[2:] == ["  It was long."]


def test_thoughts_come_before_the_answer() -> None:
    shown = lines("So be it.", reasoning="Hm. " * 400)
    assert shown[2].strip() == "◇ thought, 1,599 characters"
    assert shown[3:] == ["", "  So be it."]
    assert lines("So be it.", reasoning="Hm.")[2].strip() == "◇ thought briefly"


# -- tool calls --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("called", "about"),
    [
        (call("terminal", timeout=5, command="docker ps"), "docker ps"),
        (call("read_file", path="a/b.py", limit=3), "a/b.py"),
        (call("search_files", path="src", pattern="def f"), "def f  src"),
        (call("web_extract", urls=["https://a.org", "https://b.org"]), "https://a.org +1"),
        (call("delegate_task", tasks=[{"goal": "look"}, {"goal": "see"}]), "look +1"),
        (call("odd", number=3, word="short"), "short"),
        (ToolCall("1", "broken", "{not json"), "{not json"),
        (ToolCall("1", "bare", "{}"), ""),
    ],
)
def test_the_argument_that_matters(called: ToolCall, about: str) -> None:
    assert tool_lines.asked(called).about == about


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('{"output": "a\\nb", "exit_code": 0, "error": null}', "✓ 2 lines"),
        ('{"output": "", "exit_code": 0}', "✓ no output"),
        ('{"output": "Killed", "exit_code": 137}', "✗ exit 137"),
        ('{"error": "no such file"}', "✗ no such file"),
        ('{"success": false, "message": "gone"}', "✗ gone"),
        ('{"bytes_written": 412}', "✓ 412 bytes"),
        ('{"data": {"web": [1, 2, 3]}}', "✓ 3 results"),
        ("plain\ntext", "✓ 2 lines"),
        ("Error: it broke", "✗ Error: it broke"),
        ("", "✓ no output"),
    ],
)
def test_how_a_call_ended(text: str, state: str) -> None:
    (line,) = result(text, call("terminal", command="make"))
    assert line.startswith("  ▸ terminal  make ") and line.endswith(state)


def test_a_call_without_a_result_says_so() -> None:
    standing = Standing(unanswered=(call("terminal", command="sleep 9"),))
    assert lines("", standing=standing)[2].split() == [
        "▸",
        "terminal",
        "sleep",
        "9",
        "…",
        "no",
        "result",
    ]


def test_a_result_without_a_call_has_a_line() -> None:
    standing = Standing(begins=False)
    (line,) = lines("done", role="tool", tool_name="process", standing=standing)
    assert line.split() == ["▸", "process", "✓", "1", "line"]


def test_an_opened_call_shows_everything() -> None:
    called = call("terminal", command="make \\\n all", timeout=5)
    shown = result('{"output": "one\\ntwo", "exit_code": 0}', called, opened=True)
    assert [line.strip() for line in shown[1:]] == [
        "make \\",
        "all",
        "timeout: 5",
        "│ one",
        "│ two",
    ]


# -- diffs -------------------------------------------------------------------------------------

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n same\n"


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('{"success": true}', call("patch", path="x", old_string="a\nold", new_string="a\nnew")),
        (json.dumps({"diff": DIFF}), call("patch", path="x")),
        (DIFF, call("terminal", command="git diff")),
        (json.dumps({"output": DIFF, "exit_code": 0}), call("terminal", command="git diff")),
        ("ok", call("apply_patch", path="x", patch=DIFF)),
    ],
)
def test_changes_are_diffs(text: str, called: ToolCall) -> None:
    first, *shown = result(text, called)
    assert first.endswith("✓ +1 −1")
    assert "  │ − old" in shown and "  │ + new" in shown
    assert not any("@@" in line for line in shown)


def test_the_first_lines_of_a_diff_are_always_visible() -> None:
    content = "\n".join(f"line {number}" for number in range(31))
    called = call("write_file", path="x", content=content)
    folded = result('{"bytes_written": 9}', called)
    assert folded[1] == "  │ + line 0" and len(folded) == 2 + diffs.FIRST_LINES
    assert folded[-1] == "  │ … 23 more lines · Enter opens"
    opened = result('{"bytes_written": 9}', called, opened=True)
    assert opened[-1] == "  │ + line 30" and "more lines" not in "".join(opened)


def test_a_change_that_failed_is_not_shown_as_made() -> None:
    called = call("patch", path="x", old_string="a", new_string="b")
    (line,) = result('{"success": false, "error": "no match"}', called)
    assert line.endswith("✗ no match")


def test_a_diff_in_an_answer_can_be_copied() -> None:
    page = laid("Like this:\n\n```diff\n-old\n+new\n```\n\nand\n\n```sh\nmake\n```")
    assert [(mark.kind, mark.text) for mark in page.marks] == [
        ("diff", "-old\n+new"),
        ("code", "make"),
    ]
    for mark in page.marks:
        assert mark.text.split("\n")[0] in page.strips[mark.first].text


# -- Markdown ----------------------------------------------------------------------------------


def test_lists_keep_their_dots_and_boxes() -> None:
    text = "9. nine\n10. ten\n    - inner\n      more\n\n- [x] done\n- [ ] open"
    assert body(text) == [
        " 9. nine",
        "10. ten",
        "    • inner",
        "      more",
        "",
        "☑ done",
        "☐ open",
    ]


def test_one_blank_line_between_blocks() -> None:
    text = "# Head\nText\n\n\n\n- a\n- b\n```py\nx = 1\n```\n> said\n\n---\nend"
    shown = body(text)
    blank = [place for place, line in enumerate(shown) if not line.strip()]
    assert [shown[place + 1].split()[0] for place in blank] == [
        "Text", "•", "x", "▎", "─" * 40, "end",
    ]  # fmt: skip
    assert all(second - first > 1 for first, second in itertools.pairwise(blank))


def test_html_is_text() -> None:
    assert body("a <b>b</b> &lt;c&gt;\n\n<div>\nd\n</div>\n\ne") == [
        "a <b>b</b> <c>", "", "<div>", "d", "</div>", "", "e",
    ]  # fmt: skip


def test_code_says_its_language_on_the_first_line() -> None:
    first, second = body("```yaml\na: 1\nb: 2\n```")
    assert first.split() == ["a:", "1", "yaml"] and second.split() == ["b:", "2"]


def test_links_say_where_they_lead() -> None:
    assert body("[docs](https://a.org/x) and <https://b.org>") == [
        "docs (https://a.org/x) and https://b.org"
    ]


def test_tables_fit() -> None:
    text = "| a | b |\n|---|---|\n| short | " + "word " * 30 + "|\n"
    shown = body(text, 40)
    assert all(len(line) <= 40 for line in shown) and len(shown) > 4
    assert body("|n|\n|-:|\n|1|\n|22|")[2:] == [" 1", "22"], "numbers stand at the right"
    narrow = body("|" + "a|" * 9 + "\n|" + "---|" * 9 + "\n|" + "bcd|" * 9, 24)
    assert narrow == ["a: bcd"] * 9, "with more columns than room, one below the other"


@pytest.mark.parametrize("width", range(8, 60))
def test_tables_break_no_word(width: int) -> None:
    said = ("Measurement", "before", "afterwards"), ("median of ten", "312 ms", "quicker: 104 ms")
    text = "".join(f"|{'|'.join(row)}|\n" for row in (said[0], ("---",) * 3, said[1]))
    shown = body(text, width)
    assert all(len(line) <= width for line in shown)
    if width >= 16:
        words = {word for line in shown for word in line.replace(":", " ").split()}
        assert {"Measurement", "median", "afterwards", "quicker", "104"} <= words


def test_the_first_lines_of_a_diff_are_indented_as_little_as_needed() -> None:
    old, new = "        if x:\n            y = 1\n", "        if x:\n            y = 2\n"
    shown, left = diffs.first(diffs.between(old, new))
    assert [(line.sign, line.text) for line in shown] == [
        (" ", "if x:"),
        ("-", "    y = 1"),
        ("+", "    y = 2"),
    ]
    assert left == 0


def test_your_messages_are_rendered_too() -> None:
    assert lines("See `x`, **now**\nand then", role="user")[2:] == ["  See x, now", "  and then"]


@pytest.mark.parametrize("width", range(8, 40))
def test_no_line_begins_with_a_comma(width: int) -> None:
    text = "Look at `docker stats`, `free -h`, `dmesg`, and so on. 好的，我们继续，这样可以。"
    for line in body(text, width):
        assert line[:1] not in (",", ".", "，", "。")
    for line in wrapped(text, width):
        assert line[:1] not in (",", ".", "，", "。")


def test_a_recap_has_no_marks() -> None:
    text = "## Head\nUse `make`, **now** or *later*; 2 * 3 * 4, see [it](https://a.org).\n```sh\nls\n```"
    wanted = "Head\nUse make, now or later; 2 * 3 * 4, see it.\nls\n"
    assert without_markdown(text) == wanted


# -- anything ----------------------------------------------------------------------------------

SIGNS = st.one_of(
    st.sampled_from(["`", "```", "\n", "\n\n", "- ", "1. ", "> ", "|", "**", "[a](b)", "# ", "\t"]),
    st.sampled_from(
        ["&#27;", "&#x202e;", "\x1b[31m", "\u202e", "\x9b", "<b>", "世界，", "👩‍👧", "@@ "]
    ),
    st.text(max_size=12),
)
TEXTS = st.lists(SIGNS, max_size=30).map("".join)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [*tool_lines._MATTERS, *tool_lines._OUTPUTS, "error", "exit_code", "diff", "data",
                 "results", "success", "new_string", "content", "patch", "odd"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)  # fmt: skip
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def assert_in_order(page: Laid, width: int) -> None:
    for strip in page.strips:
        assert strip.cell_length <= width
        assert not CONTROL.search(strip.text), repr(strip.text)
    for mark in page.marks:
        assert 0 <= mark.first <= mark.first + mark.count <= len(page.strips)


@settings(max_examples=300, deadline=None)
@given(
    TEXTS, st.integers(1, 90), st.booleans(), st.booleans(), st.sampled_from(["user", "assistant"])
)
def test_any_text_can_be_laid_out(
    text: str, width: int, opened: bool, ansi: bool, role: str
) -> None:
    message = Message(1, "s", role, NOON, text, reasoning=text)
    assert_in_order(lay_out(message, look(width, opened=opened, ansi=ansi)), width)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(TEXTS, JSON.map(json.dumps)),
    st.one_of(TEXTS, JSON.map(json.dumps)),
    st.sampled_from(["terminal", "patch", "write_file", "edit", "\x1b[1m", ""]),
    st.integers(1, 90),
    st.booleans(),
)
def test_any_call_can_be_laid_out(
    text: str, arguments: str, name: str, width: int, opened: bool
) -> None:
    called = ToolCall("1", name, arguments)
    message = Message(1, "s", "tool", NOON, text, tool_name=name)
    standing = Standing(call=called, unanswered=(called,))
    assert_in_order(lay_out(message, look(width, opened=opened), standing), width)
