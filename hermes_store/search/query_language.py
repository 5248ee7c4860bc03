"""The search language: parse text into a query tree with diagnostics. Never raises.

Words are joined by AND; `"a phrase"`, `OR`, `NOT`, `-word`, `(groups)` and `prefix*` work as in
FTS5. `name:value` is a field if the name is known, and ordinary text otherwise, so that URLs and
Windows paths need no quotes. Dangling operators, unbalanced parentheses and unclosed quotes are
repaired and reported. While the text is being typed, a field at its end that has no value yet is
ignored without a word.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from hermes_store.records.search import Diagnostic, Severity, Span
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Query, Text

FIELDS = {
    "source": "where the session came from, such as source:telegram",
    "role": "who wrote the message: user, assistant, tool or system",
    "model": "part of the model's name",
    "tool": "the name of the tool that was used",
    "title": "part of the title",
    "id": "the beginning of the session id",
    "after": "no older than: 7d, 2026-01-01, yesterday",
    "before": "older than: 7d, 2026-01-01, yesterday",
    "on": "that day: today, yesterday, 2026-01-01",
    "has": "has:tools, has:title, has:code, has:url, has:image",
    "is": "is:live, is:ended, is:archived, is:pinned, is:branch, is:reset, is:agent",
    "tag": "one of your tags",
    "workspace": "part of the path of the repository or folder",
    "branch": "part of the name of the git branch",
    "host": "the machine that sent it to a server",
    "sort": "sort:newest, sort:oldest or sort:relevance",
}
SORTS = ("newest", "oldest", "relevance")
MAX_LENGTH = 4_000
MAX_TERMS = 64
MAX_DEPTH = 12
"""Nested groups; FTS5 accepts at most thirty nested operators."""

_FIELD = re.compile(r"(-?)(\w+):(?=\S)")
_BARE_FIELD = re.compile(r"(?:^|(?<=[\s(]))(?:(?:AND|OR|NOT)\s+)*-?(\w+):\s*$")
_MEANINGFUL = re.compile(r"\w", re.UNICODE)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # 'text', 'field', 'not', 'and', 'or', '(' or ')'
    span: Span
    value: str = ""
    name: str = ""
    quoted: bool = False
    prefix: bool = False
    negated: bool = False
    unfinished: bool = False


def parse(text: str, fields: Collection[str] = tuple(FIELDS), *, typing: bool = False) -> Query:
    """Parse a search text; every string is valid. With no `fields`, all of it is text.

    While `typing`, more may follow: a field at the end may not have its whole value yet.
    """
    notes: list[Diagnostic] = []
    if len(text) > MAX_LENGTH:
        notes.append(
            Diagnostic(
                f"Only the first {MAX_LENGTH} characters are used.",
                Span(MAX_LENGTH, len(text)),
                Severity.PROBLEM,
            )
        )
    read = _without_bare_field(text, fields) if typing else text
    tokens = _tokens(read[:MAX_LENGTH], fields, notes)
    if typing:
        _mark_unfinished(tokens, text, notes)
    tokens = _drop_valueless(tokens, notes, typing=typing)
    tokens, sort = _take_sort(tokens, notes)
    tokens = _drop_noise(tokens, notes)
    root = _Parser(tokens, notes).parse()
    return Query(text, root, tuple(notes), sort)


# -- typing ------------------------------------------------------------------------------------


def _without_bare_field(text: str, fields: Collection[str]) -> str:
    """Return a text without the name of a field at its end, and the operators before it."""
    found = _BARE_FIELD.search(text) if len(text) <= MAX_LENGTH else None
    if found is None or found[1].lower() not in fields or _is_quote_open(text):
        return text
    return text[: found.start()]


def _mark_unfinished(tokens: list[_Token], text: str, notes: list[Diagnostic]) -> None:
    """Mark a field whose value ends the text; nothing is wrong with a quote that is open there."""
    if not tokens or tokens[-1].kind != "field" or tokens[-1].span.end < len(text):
        return
    is_open = _is_quote_open(text)
    if is_open:
        notes[:] = [each for each in notes if each.span.start < tokens[-1].span.start]
    if is_open or not text.endswith('"'):
        tokens[-1] = replace(tokens[-1], unfinished=True)


def _is_quote_open(text: str) -> bool:
    return text.count('"') % 2 == 1


# -- tokens ------------------------------------------------------------------------------------


def _tokens(text: str, fields: Collection[str], notes: list[Diagnostic]) -> list[_Token]:
    tokens: list[_Token] = []
    position, depth = 0, 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] == "(":
            tokens.append(_Token("(", Span(position, position + 1)))
            position, depth = position + 1, depth + 1
        elif text.startswith("-(", position):
            tokens.append(_Token("not", Span(position, position + 1), "-"))
            position += 1
        elif text[position] == ")" and depth:
            tokens.append(_Token(")", Span(position, position + 1)))
            position, depth = position + 1, depth - 1
        else:
            token = _token_at(text, position, depth, fields, notes)
            tokens.append(token)
            position = token.span.end
    return tokens


def _token_at(
    text: str, start: int, depth: int, fields: Collection[str], notes: list[Diagnostic]
) -> _Token:
    found = _FIELD.match(text, start)
    if found is not None and fields:
        name = found[2].lower()
        if name not in fields:
            _hint_at_field(found, notes)
        elif not (depth and text[found.end()] == ")"):
            value, end, _, _ = _value_at(text, found.end(), depth, notes)
            span = Span(start, end)
            return _Token("field", span, value, name=name, negated=found[1] == "-")
    # Options such as --force and arrows are not negations.
    negated = text[start] == "-" and text[start + 1 : start + 2].strip("->") != ""
    value, end, quoted, prefix = _value_at(text, start + negated, depth, notes)
    span = Span(start, end)
    if not quoted and not negated and value in ("AND", "OR", "NOT"):
        return _Token(value.lower(), span, value)
    return _Token("text", span, value, quoted=quoted, prefix=prefix, negated=negated)


def _hint_at_field(found: re.Match[str], notes: list[Diagnostic]) -> None:
    """Add a hint if a word before a colon looks like a misspelled field."""
    import difflib  # loaded here because hardly any search needs it

    near = difflib.get_close_matches(found[2].lower(), FIELDS, n=1, cutoff=0.75)
    if near:
        notes.append(
            Diagnostic(
                f"'{found[2]}:' is searched as text; did you mean '{near[0]}:'?",
                Span(found.start(2), found.end(2) + 1),
            )
        )


def _value_at(
    text: str, start: int, depth: int, notes: list[Diagnostic]
) -> tuple[str, int, bool, bool]:
    """Read a word or quoted phrase: value, end, whether quoted, whether a prefix."""
    if start < len(text) and text[start] == '"':
        end = text.find('"', start + 1)
        if end < 0:
            notes.append(
                Diagnostic("The quote is not closed; it runs to the end.", Span(start, len(text)))
            )
            return text[start + 1 :], len(text), True, False
        starred = text.startswith("*", end + 1)
        return text[start + 1 : end], end + 1 + starred, True, starred
    end = start
    while end < len(text) and not text[end].isspace() and text[end] != '"':
        end += 1
    # A parenthesis that closes an open group belongs to the group, not to the word.
    while depth and end - start > 1 and text[end - 1] == ")":
        inner = text[start:end]
        if inner.count("(") >= inner.count(")"):
            break
        end, depth = end - 1, depth - 1
    value = text[start:end]
    starred = len(value) > 1 and value.endswith("*")
    return value.rstrip("*") if starred else value, max(end, start + 1), False, starred


def _drop_valueless(tokens: list[_Token], notes: list[Diagnostic], *, typing: bool) -> list[_Token]:
    """Drop fields with an empty value; while typing, without a word."""
    kept: list[_Token] = []
    for token in tokens:
        if token.kind != "field" or token.value.strip():
            kept.append(token)
            continue
        # NOT belongs to the field; AND and OR join it to others, unless there are none yet.
        joined = ("and", "or", "not") if typing and token is tokens[-1] else ("not",)
        while kept and kept[-1].kind in joined:
            kept.pop()
        if not typing:
            problem = f"{token.name}: has no value and was ignored."
            notes.append(Diagnostic(problem, token.span, Severity.PROBLEM))
    return kept


def _take_sort(tokens: list[_Token], notes: list[Diagnostic]) -> tuple[list[_Token], str | None]:
    """Take out sort:, which is an order and not a condition."""
    sort = None
    rest = []
    for token in tokens:
        if token.kind != "field" or token.name != "sort":
            rest.append(token)
        elif (wanted := token.value.lower()) in SORTS:
            sort = wanted
        elif not (token.unfinished and any(each.startswith(wanted) for each in SORTS)):
            choices = ", ".join(SORTS)
            notes.append(
                Diagnostic(
                    f"Unknown sort order '{token.value}'; choose {choices}.",
                    token.span,
                    Severity.PROBLEM,
                )
            )
    return rest, sort


def _drop_noise(tokens: list[_Token], notes: list[Diagnostic]) -> list[_Token]:
    """Drop punctuation between words, and excess terms."""
    words = [t for t in tokens if t.kind == "text" and _MEANINGFUL.search(t.value)]
    kept: list[_Token] = []
    terms = 0
    for place, token in enumerate(tokens):
        terms += token.kind in ("text", "field")
        if token.kind == "text" and not token.quoted and not token.value.strip('"'):
            continue
        lone = token.kind == "text" and not token.quoted and token.value.isascii()
        if lone and words and not _MEANINGFUL.search(token.value):
            notes.append(
                Diagnostic(f"'{token.value}' was ignored; quote it to search for it.", token.span)
            )
        elif terms > MAX_TERMS and token.kind in ("text", "field"):
            notes.append(
                Diagnostic(
                    f"Only the first {MAX_TERMS} terms are used.",
                    token.span,
                    Severity.PROBLEM,
                )
            )
            return _closed(kept, tokens[place:])
        elif token.kind == "text" and not token.value:
            continue
        else:
            kept.append(token)
    return kept


def _closed(kept: list[_Token], dropped: list[_Token]) -> list[_Token]:
    """Return the terms that fit, with the parentheses that close their groups further on.

    Operators and groups whose terms were all dropped go, too: nothing is wrong with them.
    """
    kept, opened = list(kept), 0
    while kept and kept[-1].kind in ("and", "or", "not", "("):
        opened += kept.pop().kind == "("
    for token in dropped:
        opened += token.kind == "("
        if token.kind == ")":
            if opened:
                opened -= 1
            else:
                kept.append(token)
    return kept


# -- tree --------------------------------------------------------------------------------------


class _Parser:
    """Recursive descent: OR binds loosest, then AND, then NOT."""

    def __init__(self, tokens: list[_Token], notes: list[Diagnostic]) -> None:
        self._tokens = tokens
        self._notes = notes
        self._place = 0

    def parse(self) -> Node | None:
        parts = []
        while self._peek() is not None:
            part = self._or(0)
            parts += [] if part is None else [part]
            # Only a stray parenthesis of groups nested too deeply ends it early.
            self._place += 1
        return _join(And, parts)

    def _peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _or(self, depth: int) -> Node | None:
        parts: list[Node] = []
        pending: _Token | None = None
        while True:
            part = self._and(depth)
            if part is not None:
                parts.append(part)
                pending = None
            token = self._peek()
            if token is None or token.kind != "or":
                break
            if part is None or pending is not None:
                self._dangling(token)
            pending = token
            self._place += 1
        if pending is not None and parts:
            self._dangling(pending)
        return _join(Or, parts)

    def _and(self, depth: int) -> Node | None:
        parts: list[Node] = []
        pending: _Token | None = None
        while (token := self._peek()) is not None and token.kind not in ("or", ")"):
            if token.kind == "and":
                if not parts or pending is not None:
                    self._dangling(token)
                pending = token
                self._place += 1
                continue
            part = self._unary(depth)
            if part is not None:
                parts.append(part)
                pending = None
        if pending is not None and parts:
            self._dangling(pending)
        return _join(And, parts)

    def _unary(self, depth: int) -> Node | None:
        token = self._tokens[self._place]
        self._place += 1
        if token.kind == "not":
            return self._negation(token, depth)
        if token.kind == "(":
            return self._group(token, depth)
        node: Node = (
            Field(token.name, token.value, token.span, token.unfinished)
            if token.kind == "field"
            else Text(token.value, token.span, token.quoted, token.prefix)
        )
        return Not(node, token.span) if token.negated else node

    def _negation(self, token: _Token, depth: int) -> Node | None:
        first, ignored_to = token, 0
        # A loop, because a thousand of them in a row would be too deep to recurse.
        while (following := self._peek()) is not None and following.kind == "not":
            ignored_to = token.span.end
            token = following
            self._place += 1
        if ignored_to:
            self._dangling(first, Span(first.span.start, ignored_to))
        if following is None or following.kind in ("and", "or", ")"):
            self._dangling(token)
            return None
        part = self._unary(depth)
        return None if part is None else Not(part, Span(token.span.start, part.span.end))

    def _group(self, token: _Token, depth: int) -> Node | None:
        inside = self._or(depth + 1) if depth < MAX_DEPTH else None
        following = self._peek()
        if following is not None and following.kind == ")":
            self._place += 1
        elif depth < MAX_DEPTH:
            self._notes.append(Diagnostic("The parenthesis is not closed.", token.span))
        return inside

    def _dangling(self, token: _Token, span: Span | None = None) -> None:
        self._notes.append(
            Diagnostic(f"{token.value} has nothing to join and was ignored.", span or token.span)
        )


def _join(kind: type[And] | type[Or], parts: list[Node]) -> Node | None:
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return kind(tuple(parts), Span(parts[0].span.start, parts[-1].span.end))
