"""What the fuzz tests share: strategies for anything JSON can say, and how much to try.

`HERMES_TEST_FACTOR=50 pytest -k fuzz` tries fifty times as many examples.
"""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

FACTOR = int(os.environ.get("HERMES_TEST_FACTOR", "1"))


def thorough(examples: int) -> settings:
    """Return settings for a test with so many examples, more in a long run."""
    return settings(
        max_examples=examples * FACTOR,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


HOSTILE = (
    "<script>alert(1)</script>", "</pre></details><script src=//x>", "<img src=x onerror=alert(1)>",
    "javascript:alert(1)", '" onmouseover="alert(1)', "' onclick='x", "<a href=javascript:x>",
    "</style><svg onload=x>", "<!--", "-->", "<![CDATA[", "&lt;script&gt;", "&#60;script&#62;",
    "\x00json:", "\x00json:[", "\x1b]8;;http://x\x07", "\u202e", "\ud800", "<think>", "</think>",
    "```", "# ", "\r\n", "\u2028", "{{", "${HOME}", "%s", "\ufeff", "session_meta",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**63) - 1, 2**63),
    st.floats(),
    TEXTS,
    st.sampled_from([10**400, -1, 1e308, "2026-01-01T00:00:00", "99999-01-01", 253402300800]),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def objects(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with some of these names and values of any kind."""
    return st.dictionaries(st.sampled_from(names) | TEXTS, TREES, max_size=8)


def as_line(value: Any) -> str:
    """Return the JSON of a value, however strange."""
    return json.dumps(value, ensure_ascii=True)


NESTED = (
    "[" * 100_000,
    '{"a":' * 100_000,
    "[" * 900 + "]" * 900,
    '[{"a":' * 400 + "1" + "}]" * 400,
)
"""JSON nested more deeply than Python follows, or nearly."""
