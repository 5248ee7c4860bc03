"""Turn a question in plain language into a query of its key words, and into wider queries.

"what did we decide about the docker deploy?" is about three words. If no message has all of them,
their forms and similar spellings count, then ever fewer of them, down to the rarest. A search
pane drops rare words first, to show something; recall keeps them, because they identify a memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from hermes_store.engines.sqlite.tokenizer import CJK, Tokenize
from hermes_store.records.search import Relaxation, Span
from hermes_store.search import query_language, relaxation
from hermes_store.search.matcher import Vocabulary
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from hermes_store.search.snippets import wanted_texts

MAX_COMBINED = 6
"""The most words to try in every combination; at most twenty of three."""

_SMALL_WORDS = """
    a about after again ago all already also am an and any anything are as asked at be because
    been before being but by can could did didn't do does doesn't doing don't done earlier else
    ever find for from had has have he her him his how how's i i'd i'll i'm i've if in into is
    isn't it it's its just last let let's like me my of on once or our out please previous
    previously really recall remember remind said say she should so some something tell than
    that that's the their them then there these they thing things this those time to told up us
    was wasn't we we'd we'll we're we've were what what's when when's where where's whether
    which while who who's whom whose why will with without would you you'd you're you've your
"""
_EMPTY = frozenset(_SMALL_WORDS.split())
_EMPTY_CJK = re.compile(
    "什么时候|什麼時候|为什么|為什麼|怎么样|怎麼樣|什么|什麼|怎么|怎麼|哪里|哪裡|哪个|哪個|"
    "我们|我們|你们|你們|他们|他們|之前|以前|上次|关于|關於|是不是|有没有|有沒有|记得|記得|如何|"
    "について|ました|ますか|ですか|何を|どう|"
    "[吗嗎呢吧的了我你他她是在把对對做]|[はがをにのでとも]|[　、。「」『』〈〉《》，？！；：（）]"
)
_RUNS = re.compile(rf"{CJK.pattern}+|(?!{CJK.pattern})[^\W_](?:(?!{CJK.pattern})[\w.+#/-])*")
_MARKS = "?!.,;:…？！。，、；：¿¡\"'()[]"


def understood(text: str) -> Node | None:
    """Return the query tree of a question; None if there is nothing to search for."""
    root = query_language.parse(text).root
    parts = root.parts if isinstance(root, And) else (root,)
    kept = [word for part in parts if part is not None for word in _carrying(part)]
    if not wanted_texts(_joined(kept)):
        return root  # only small words: then search for these
    return _joined(kept)


def _carrying(part: Node) -> list[Node]:
    """Return the meaningful words in a part of the question."""
    if not isinstance(part, Text) or part.quoted or part.prefix:
        return [part]
    if CJK.search(part.value):
        pieces = [
            piece
            for run in _RUNS.findall(part.value)
            for piece in (_EMPTY_CJK.split(run) if CJK.search(run) else [run])
        ]
        return [replace(part, value=piece) for piece in pieces if len(piece) > 1]
    word = _without_marks(part.value)
    if not word or word.lower().replace("’", "'") in _EMPTY:
        return []
    return [replace(part, value=word)]


def _without_marks(value: str) -> str:
    """Strip punctuation from a word, but not from a name such as .env or C#."""
    stripped = value.rstrip(_MARKS)
    return stripped if stripped[:1] == "." else stripped.lstrip(_MARKS)


def _joined(parts: list[Node]) -> Node | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return And(tuple(parts), Span(parts[0].span.start, parts[-1].span.end))


def ladder(
    root: Node,
    tokenize: Tokenize,
    index: Vocabulary | None,
    frequency: Callable[[Node], int],
) -> Iterator[tuple[Node, tuple[Relaxation, ...]]]:
    """Yield the tree itself, then ever wider ones, each with the step that led to it."""
    yield root, ()
    base, forms, spelled = root, root, root

    def of_word(word: str) -> int:
        return frequency(Text(word, Span(0, 0)))

    for wider in relaxation.ladder(root, tokenize, index, of_word):
        match wider.step.kind:
            case "signs":
                base = forms = spelled = wider.root
            case "forms":
                forms = wider.root
            case "typos":
                spelled = wider.root if wider.certain else spelled
            case _:
                break
        yield wider.root, (wider.step,)
    yield from _fewer(_widest(base, forms, spelled), frequency)


def _widest(base: Node, forms: Node, spelled: Node) -> Node:
    """Return a tree with corrected words where there are any, and all word forms elsewhere."""
    if not (isinstance(base, And) and isinstance(forms, And) and isinstance(spelled, And)):
        return spelled if spelled != base else forms
    parts = tuple(
        new if new != old else form
        for old, form, new in zip(base.parts, forms.parts, spelled.parts, strict=True)
    )
    return replace(base, parts=parts)


def _fewer(
    root: Node, frequency: Callable[[Node], int]
) -> Iterator[tuple[Node, tuple[Relaxation, ...]]]:
    """Ask for all words that occur, then for one fewer at a time, down to the rarest alone."""
    parts = root.parts if isinstance(root, And) else (root,)
    fixed = [part for part in parts if isinstance(part, Not | Field)]
    words = [part for part in parts if not isinstance(part, Not | Field)]
    counts = [(number, part) for part in words if (number := frequency(part))]
    known = [part for _, part in sorted(counts, key=lambda each: each[0])][:MAX_COMBINED]
    for size in range(min(len(known), len(words) - 1), 0, -1):
        step = Relaxation(
            "fewer words", f"No match has all {len(words)} words; showing {size} of {len(words)}."
        )
        if size == 1:
            for word in known:
                yield _with(word, fixed), (step,)
            return
        choices = tuple(And(some, root.span) for some in combinations(known, size))
        wanted = choices[0] if len(choices) == 1 else Or(choices, root.span)
        yield _with(wanted, fixed), (step,)


def _with(wanted: Node, fixed: Sequence[Node]) -> Node:
    return And((wanted, *fixed), wanted.span) if fixed else wanted
