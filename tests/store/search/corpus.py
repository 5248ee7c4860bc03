"""Messages of every kind that people and tools write, and the plain scan that search must equal."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
from hypothesis import strategies as st

from hermes_store import Store
from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.tokenizer import tokenizer
from hermes_store.records.search import Request, Span
from hermes_store.search.query_tree import Text
from hermes_store.search.query_words import Kind, Leaf, analyse
from hermes_store.sessions import messages, session_rows
from tests.support import LONG_AGO

FRAGMENTS = (
    "deploy", "Deployment", "the", "a", "of", "configuration", "re-configure", "don't", "50%",
    "100%", "C#", "C++", ".env", "#42", "$HOME", "a/b", "e.g.", "snake_case_name", "__init__",
    "camelCaseName", "HTTPServer2", "src/main.py", "/usr/local/bin", "foo@bar.com",
    "https://example.org/a?b=c&d=%20#top", "C:\\Users\\Ann\\file.txt", "\\\\host\\share",
    "v1.2.3-rc.4", "3.14159", "2026-01-31T10:00:00Z", "1234567890", "deadbeef", "cafe",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "0x7fff", "550e8400-e29b-41d4-a716-446655440000",
    "😀", "👩‍👩‍👧", "🏳️‍🌈", "✓", "→", "…", "café", "cafe\u0301", "nai\u0308ve", "Ünïcode",
    "straße", "ΟΔΟΣ", "οδός", "Привет", "мир", "שלום", "مرحبا", "٣٤٥٦٧", "हिन्दी", "ไทย",
    "前回の設定", "設定", "確認", "中", "数据库连接", "データベース", "ﾃﾞｰﾀ", "한국어",
    "설정을", "ㅋㅋㅋ", "使用Python编写", "v2版本", "中яблоко文", "第3章", "Ｆｕｌｌ",
    "ｗｉｄｔｈ", "１２３", "，", "。", "「引用」", "目录\\文件", "列\t表", "x" * 70,
    "k" * 65 + "needle" + "y" * 20, "base64,SGVsbG8gd29ybGQ=;", "import base64,hashlib;",
    "<b>&amp;</b>", "{'key': 'value'}", "SELECT * FROM t;", "AND", "OR", "NOT", "NEAR(a b)", "*",
    "--force", "-x", "(group)", "title:x", "^start", "'single'", "\0", "a\0b",
)  # fmt: skip
SEPARATORS = (" ", " ", " ", "", "", "\n", ", ", "_", "-", "/", ".", "\t", "，")
TOOLS = (None, None, None, "terminal", "web_search", "execute_code", "読むfile")


def folded(text: str) -> str:
    """Return text without regard to case; both lower sigmas are one letter."""
    return text.lower().replace("ς", "σ")


@dataclass(frozen=True, slots=True)
class Said:
    """A stored message as a plain scan sees it."""

    message_id: int
    columns: tuple[str, ...]
    """Content, tool name and tool calls."""

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(self.columns)

    def contains(self, needle: str) -> bool:
        """Tell what grep -i would."""
        return any(folded(needle) in folded(text) for text in self.columns)

    def escaped(self, needle: str) -> bool:
        """Tell whether it contains a needle once NUL is written out, as the Chinese index does."""
        return "\0" in self.text and folded(needle) in folded(self.text).replace("\0", "\\u0000")

    def surely_contains(self, needle: str) -> bool:
        """Tell the same, but not of text with a NUL in its middle, where LIKE and trigrams end.

        Nor of a needle with one: letters beyond ASCII count in their case there.
        """
        cut = any("\0" in text[1:] for text in self.columns)
        cut = cut or ("\0" in needle and not needle.isascii())
        return not cut and self.contains(needle)


def sentence(rng: random.Random) -> str:
    """Return a few fragments one after the other."""
    return "".join(
        piece
        for _ in range(rng.randint(0, 9))
        for piece in (rng.choice(FRAGMENTS), rng.choice(SEPARATORS))
    )


def message(rng: random.Random) -> dict[str, Any]:
    """Return a message of any kind: said, called, answered by a tool, multimodal, empty."""
    content: Any = sentence(rng)
    kind = rng.randrange(10)
    if kind == 0:
        content = None
    elif kind in (1, 2):
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        content = [{"type": "text", "text": content}, image]
    calls = None
    if rng.randrange(4) == 0:
        arguments = f'{{"command": "{sentence(rng)}"}}'
        calls = [{"id": "call_1", "function": {"name": "terminal", "arguments": arguments}}]
    return {
        "role": rng.choice(("user", "assistant", "tool")),
        "content": content,
        "tool_name": rng.choice(TOOLS),
        "tool_calls": calls,
    }


def some_messages(seed: int, number: int) -> list[dict[str, Any]]:
    """Return the same messages for the same seed."""
    rng = random.Random(seed)
    return [message(rng) for _ in range(number)]


def fill(tx: Transaction, said: Iterable[Mapping[str, Any]], *, at: float = LONG_AGO) -> None:
    """Write messages, a few to a session."""
    for place, each in enumerate(said):
        session_id = f"s{place // 20}"
        if place % 20 == 0 and not session_rows.exists(tx, session_id):
            session_rows.create(tx, session_id, "cli", started_at=at + place)
        messages.append(tx, session_id, each, at + place)


def scan(tx: Transaction) -> list[Said]:
    """Return what is stored, without any help of the search."""
    rows = tx.rows("SELECT id, content, tool_name, tool_calls FROM messages ORDER BY id")
    return [Said(row[0], tuple(part or "" for part in row[1:])) for row in rows]


# -- needles -----------------------------------------------------------------------------------


def has_known_case(letter: str) -> bool:
    """Tell whether the word index takes both cases of a letter for the same.

    It knows those of Unicode 6.1: not the capitals of Georgian, Cherokee or phonetic letters.
    """
    known = ord(letter) < 0x250 or "Α" <= letter <= "ω" or "А" <= letter <= "я"
    return letter != "İ" and (known or letter.lower() == letter.upper())


letters = st.sampled_from("abcABé1_ -./\\%#\0\n\u0301😀中設定한ﾃａＡя")
generated = st.one_of(
    st.text(letters, max_size=30),
    st.lists(st.sampled_from(FRAGMENTS + SEPARATORS), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]).filter(has_known_case), max_size=12),
)


def needles_in(text: str, rng: random.Random, number: int) -> Iterator[str]:
    """Yield stretches of a text that can be quoted, in changed case."""
    for _ in range(number):
        start = rng.randrange(max(1, len(text)))
        needle = text[start : start + rng.randint(1, 12)].strip()
        change = rng.choice((str, str, str.lower, str.upper, str.swapcase))
        changed = change(needle)
        # ß and its like become two letters; no scan without regard to case finds those either.
        needle = changed if changed.lower() == needle.lower() else needle
        if needle and '"' not in needle:
            yield needle


def some_needles(said: Sequence[Said], seed: int, number: int) -> list[str]:
    """Return needles from all over the stored texts."""
    rng = random.Random(seed)
    said = [each for each in said if each.text.replace('"', " ").strip()]
    found: list[str] = []
    while said and len(found) < number:
        found += needles_in(rng.choice(said).text, rng, 2)
    return found[:number]


# -- the answer --------------------------------------------------------------------------------


class Judge:
    """Says which messages a query has to find, and which it may."""

    def __init__(self, said: Sequence[Said]) -> None:
        self.said = said
        self._tokenize = tokenizer(apsw.Connection(":memory:"))
        self._tokens = {each.message_id: self._tokenize(each.text) for each in said}

    def must(self, needle: str) -> set[int]:
        """Return the messages that contain the needle, case aside."""
        return {each.message_id for each in self.said if each.surely_contains(needle)}

    def may(self, needle: str) -> set[int]:
        """Return those and the ones where its words stand in a row."""
        leaf = self._leaf(needle)
        return {
            each.message_id
            for each in self.said
            if each.contains(needle) or each.escaped(needle) or self._resembles(leaf, each)
        }

    def kept_out(self, needle: str) -> set[int]:
        """Return the messages that NOT takes away: of words only whole ones count."""
        leaf = self._leaf(needle)
        if leaf.kind is not Kind.WORDS:
            return {each.message_id for each in self.said if each.contains(needle)}
        return {
            each.message_id for each in self.said if leaf.stands_in(self._tokens[each.message_id])
        }

    def _leaf(self, needle: str) -> Leaf:
        return analyse(Text(needle, Span(0, len(needle)), quoted=True), self._tokenize)

    def _resembles(self, leaf: Leaf, said: Said) -> bool:
        if leaf.kind is not Kind.WORDS:
            return False
        tokens = self._tokens[said.message_id]
        # The list of words knows them without accents: "caf" and "cafe" are parts of "cafés".
        unaccented = leaf.tokens == (leaf.needle,) and any(leaf.needle in each for each in tokens)
        return leaf.stands_in(tokens) or unaccented


def found(store: Store, text: str, *, limit: int = 60) -> list[int]:
    """Page through everything that a query finds as it is."""
    ids: list[int] = []
    while True:
        request = Request(text, limit=limit, offset=len(ids), relax=False, count=False, seconds=60)
        result = store.search.run(request)
        assert not result.partial
        ids += [hit.message_id for hit in result.hits]
        if len(result.hits) < limit:
            return ids
