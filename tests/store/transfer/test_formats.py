"""Markdown and HTML: readable, and nothing that was said can reach beyond its message."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.records.safe_text import clean
from hermes_store.sessions import messages
from hermes_store.transfer import export_html, export_markdown
from hermes_store.transfer.readable_export import moment
from tests.support import LONG_AGO, add

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "```\nunclosed",
    "~~~~ python\n```\n",
    "`````` six\n````",
    "a\x00b",
    "\ud800 half",
    "\u202egnp.exe",
    "</details></pre></section></body>",
    "<!-- never closed",
    "# Not a heading\n## Hermes · 2026-01-01\nunder\n===\nlined\n---\n",
    "| a | b |\r\n\r",
    "&lt;b&gt; & \"quotes\" 'too'",
    "x" * 1_000_000,
)
TEXTS = st.text() | st.sampled_from(HOSTILE) | st.lists(st.sampled_from(HOSTILE)).map("\n".join)


def exported(db: SessionDB, fmt: str, **options: Any) -> str:
    sink = io.StringIO()
    db.store.transfer.export(sink, fmt, **options)
    sink.getvalue().encode("utf-8")
    return sink.getvalue()


def say(db: SessionDB, session_id: str, **message: Any) -> None:
    with db._db.write() as tx:
        messages.append(tx, session_id, message, LONG_AGO)


@pytest.fixture
def talk(db: SessionDB) -> SessionDB:
    add(db, "20260101_120000_abcdef12", title="A | [plan] *2*", ended=LONG_AGO + 9)
    say(db, "20260101_120000_abcdef12", role="user", content="List the files, please.")
    say(
        db,
        "20260101_120000_abcdef12",
        role="assistant",
        content="I will look.",
        reasoning="They want files.\n```",
        tool_calls=[
            {"id": "c1", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}},
            {"name": "odd", "input": {"größe": 1}},
            "strange",
        ],
    )
    say(
        db,
        "20260101_120000_abcdef12",
        role="tool",
        tool_name="terminal",
        content="a\n````\nb",
    )
    say(db, "20260101_120000_abcdef12", role="session_meta", content="not said")
    return db


def test_markdown_reads_well(talk: SessionDB) -> None:
    text = exported(talk, "markdown")
    assert text.startswith("# A \\| \\[plan\\] \\*2\\*\n\n| | |\n|---|---|\n")
    assert "| Id | 20260101_120000_abcdef12 |\n| Source | Terminal |\n" in text
    assert f"| Started | {moment(LONG_AGO)} |" in text
    assert f"| Ended | {moment(LONG_AGO + 9)} (user_exit) |" in text
    assert f"## You · {moment(LONG_AGO)}\n\nList the files, please.\n" in text
    assert 'Calls **terminal**:\n\n```json\n{\n  "command": "ls"\n}\n```\n' in text
    assert "Calls **odd**" in text
    assert '"größe": 1' in text
    assert "\n`````\na\n````\nb\n`````\n" in text
    assert "<summary>Reasoning</summary>\n\nThey want files.\n```\n```\n\n</details>" in text
    assert "not said" not in text


def test_sessions_in_markdown_are_divided(db: SessionDB) -> None:
    add(db, "a", "x")
    add(db, "b", "x")
    assert re.findall(r"^(?:# .*|---)$", exported(db, "markdown"), re.MULTILINE) == [
        "# b",
        "---",
        "# a",
    ]


def test_moments_are_local_and_never_fail() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", moment(LONG_AGO))
    for strange in (1e300, float("inf"), float("nan"), -1e300, "soon", None, True, b"x"):
        assert isinstance(moment(strange), str)


def _open_fence(text: str) -> str | None:
    """Return the fence that is still open at the end of a text, read line by line."""
    fence = None
    for line in text.split("\n"):
        match = re.fullmatch(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if match is None:
            continue
        if fence is None:
            if not (match[1][0] == "`" and "`" in match[2]):
                fence = match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            fence = None
    return fence


@settings(deadline=None, max_examples=150)
@given(TEXTS)
def test_markdown_of_a_message_stays_inside_it(text: str) -> None:
    inside = export_markdown.contained(text)
    assert _open_fence(inside) is None
    for fenced in (export_markdown.fenced(text), export_markdown.fenced(text, "json")):
        first, *_, last = fenced.split("\n")
        assert first.removesuffix("json") == last
        assert fenced.count(last) == 2
    prose = re.sub(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", "", inside)
    assert not re.search(r"^ {0,3}#{1,2}(?:\s|$)", prose, re.MULTILINE)
    prose = re.sub(r"(`+)[^`\n]+\1", "", prose)
    assert not re.search(r"(?<!\\)<[A-Za-z/!?]", prose)


def test_ordinary_markdown_is_left_alone() -> None:
    text = "A *list*:\n\n- `a < b`\n- 3 < 4\n\n```html\n<b># x</b>\n```\n\n| a |\n|---|\n| b |"
    assert export_markdown.contained(text) == text
    assert export_markdown.contained("use <b> or `<i>`") == "use \\<b> or `<i>`"
    assert export_markdown.contained("## Plan") == "#### Plan"


class _Page(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


_ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "nav", "ol", "li", "a", "time", "section"),
    *("h1", "h2", "dl", "dt", "dd", "article", "b", "div", "details", "summary", "pre"),
}
_ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "id", "class", "href"}


def test_html_reads_well(talk: SessionDB) -> None:
    add(talk, "another", "hi", at=LONG_AGO - 100)
    page = _Page(exported(talk, "html"))
    assert not page.open
    assert "List the files, please." in page.text
    assert "Calls terminal" in page.text
    assert page.tags.count("li") == 2
    assert page.tags.count("details") == 5
    assert "not said" not in page.text


def test_one_session_in_html_has_no_table_of_contents(talk: SessionDB) -> None:
    text = exported(talk, "html", session_ids=["20260101_120000_abcdef12"])
    assert "<nav>" not in text
    assert "<title>A | [plan] *2*</title>" in text


def test_html_loads_and_runs_nothing(talk: SessionDB) -> None:
    for place, text in enumerate(HOSTILE):
        add(talk, f"s{place}", text, [{"type": "text", "text": text}])
        say(talk, f"s{place}", role=text[:50], content=text, tool_name=text[:99], reasoning=text)
        say(talk, f"s{place}", role="tool", content=text, tool_calls=[{"name": text, "args": text}])
    with talk._db.write() as tx:
        tx.run("UPDATE sessions SET title = 't' || id || ?, model = ?", (HOSTILE[1], HOSTILE[2]))
    text = exported(talk, "html")
    page = _Page(text)
    assert not page.open
    assert set(page.tags) <= _ALLOWED
    assert page.attributes <= _ATTRIBUTES
    assert not re.search(r"(?:src=[\"']|url\(|@import|href=\"(?!#s\d+\"))", text)
    assert "default-src 'none'" in text
    assert "\x1b" not in text + exported(talk, "markdown")
    assert "\u202e" not in text + exported(talk, "markdown")


@settings(deadline=None, max_examples=100)
@given(TEXTS, TEXTS)
def test_html_keeps_what_was_said(said: str, name: str) -> None:
    row = {"id": name, "source": name, "started_at": 1.0, "title": name}
    message = {"role": "user", "timestamp": 1.0, "content": said, "tool_name": name}
    page = _Page("".join(export_html.session(row, iter([message]), 1)))
    assert not page.open
    assert set(page.tags) <= _ALLOWED
    if clean(said).strip():
        assert clean(said) in page.text
