"""HTML: one self-contained page, for the screen and for printing.

It has no scripts, and its content security policy forbids loading or running anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from hermes_store.transfer import readable_export
from hermes_store.transfer.readable_export import Head

_STYLE = """\
:root { color-scheme: light dark; --back: #fdfcf9; --text: #23211d; --dim: #6d675d;
  --line: #d9d4c9; --box: #f3f0e9; --you: #8a6200; --hermes: #2f6b38; }
@media (prefers-color-scheme: dark) {
  :root { --back: #191816; --text: #e8e4da; --dim: #a09989; --line: #3a3732; --box: #23211e;
    --you: #e0b040; --hermes: #8fbc8f; } }
body { background: var(--back); color: var(--text); margin: 0 auto; max-width: 52rem;
  padding: 1.5rem; font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; }
a { color: inherit; }
nav time, dt, h2 time { color: var(--dim); font-weight: normal; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
article { margin: 1.4rem 0; }
h2 { font-size: .9rem; margin: 0 0 .3rem; color: var(--dim); }
.user h2 b { color: var(--you); } .assistant h2 b { color: var(--hermes); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: var(--box); border-radius: .4rem; padding: .7rem; margin: .4rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
summary { color: var(--dim); cursor: pointer; }
.divider { border-top: 1px dashed var(--line); color: var(--dim); font-size: .85rem; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; }
  section { break-before: page; border: 0; } h2 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""


def opening(heads: Iterator[Head], total: int) -> Iterator[str]:
    """Yield the head of the page, and a table of contents for several sessions."""
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    )
    first = next(heads, None) if total == 1 else None
    title = escape(
        readable_export.heading(first.title, first.id) if first else f"{total:,} sessions"
    )
    yield f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
    if total > 1:
        yield f"<h1>{title}</h1>\n<nav>\n<ol>\n"
        for number, head in enumerate(heads, 1):
            yield _entry(number, head)
        yield "</ol>\n</nav>\n"


def _entry(number: int, head: Head) -> str:
    title = escape(readable_export.heading(head.title, head.id))
    started = escape(readable_export.moment(head.started_at))
    return f'<li><a href="#s{number}">{title}</a> <time>{started}</time></li>\n'


def session(
    row: Mapping[str, Any], messages: Iterator[Mapping[str, Any]], number: int
) -> Iterator[str]:
    """Yield a session: title, facts, messages."""
    title = escape(readable_export.heading(row.get("title"), row["id"]))
    yield f'<section id="s{number}">\n<h1>{title}</h1>\n<dl>\n'
    for name, value in readable_export.facts(row):
        yield f"<dt>{name}</dt><dd>{escape(value)}</dd>\n"
    yield "</dl>\n"
    for divider, message in readable_export.with_dividers(messages):
        if divider is not None:
            yield f'<p class="divider">{escape(divider)}</p>\n'
        yield from _message(message)
    yield "</section>\n"


def closing() -> Iterator[str]:
    """Yield the end of the page."""
    yield "</body>\n</html>\n"


_STYLED_ROLES = frozenset({"user", "assistant", "tool", "system"})


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    role = message["role"] if message["role"] in _STYLED_ROLES else "other"
    said = escape(readable_export.moment(message["timestamp"]))
    yield f'<article class="{role}">\n<h2><b>{escape(readable_export.speaker(message))}</b> '
    yield f"<time>{said}</time></h2>\n"
    thought = readable_export.reasoning(message)
    if thought:
        yield _folded("Reasoning", thought)
    text = readable_export.words(message)
    if text.strip():
        if role == "tool":
            yield _folded("Output", text)
        else:
            yield f'<div class="text">{escape(text)}</div>\n'
    for call in readable_export.calls(message):
        yield _folded(f"Calls {call.name}", call.arguments)
    yield "</article>\n"


def _folded(summary: str, text: str) -> str:
    # Browsers drop the first newline after <pre>, so add one.
    return f"<details><summary>{escape(summary)}</summary>\n<pre>\n{escape(text)}</pre></details>\n"
