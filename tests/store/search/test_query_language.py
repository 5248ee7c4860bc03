"""Every string is a query, and means what its parts say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store import Store
from hermes_store.errors import InvalidInput
from hermes_store.records.search import Order, Request, Severity
from hermes_store.search import query_language
from hermes_store.search.query_language import parse
from hermes_store.search.query_tree import And, Field, Node, Not, Or, Text
from tests.fuzzing import thorough
from tests.store.search import corpus
from tests.support import LONG_AGO

PIECES = (
    '"', "'", "(", ")", "-", "*", ":", " ", "AND", "OR", "NOT", "NEAR", "+", "^", "{", "}", "\0",
    "\ud800", "deploy", "前回", "source:", "role:user", "after:7d", "after:", "sort:", "is:", "-(",
    "title:", "😀", "\\", "%", "_", "~", "\n", "a", "é", "1", "--", "->", "tag:x", "id:",
)  # fmt: skip
anything = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(), max_size=20),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
)


def said(node: Node | None) -> str:
    """Write a tree down: words as they are, the rest with brackets."""
    match node:
        case None:
            return "nothing"
        case Text():
            shown = f"'{node.value}'" if node.quoted else node.value
            return shown + "*" * node.prefix
        case Field():
            return f"{node.name}={node.value}" + "…" * node.unfinished
        case Not():
            return f"not({said(node.part)})"
        case And() | Or():
            return f"{type(node).__name__.lower()}({', '.join(map(said, node.parts))})"


def nodes(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    yield node
    for part in node.parts if isinstance(node, And | Or) else ():
        yield from nodes(part)
    if isinstance(node, Not):
        yield from nodes(node.part)


MEANINGS = {
    "": "nothing",
    "   ": "nothing",
    "one": "one",
    "one two": "and(one, two)",
    "one AND two": "and(one, two)",
    "one OR two": "or(one, two)",
    "one two OR three": "or(and(one, two), three)",
    "one OR two three": "or(one, and(two, three))",
    "one (two OR three)": "and(one, or(two, three))",
    "((one))": "one",
    "one NOT two": "and(one, not(two))",
    "one -two": "and(one, not(two))",
    "NOT one": "not(one)",
    "NOT (one two)": "not(and(one, two))",
    "one -(two OR three)": "and(one, not(or(two, three)))",
    "one NOT two OR three": "or(and(one, not(two)), three)",
    '"one two"': "'one two'",
    '"one" "two"': "and('one', 'two')",
    'one"two three"': "and(one, 'two three')",
    '-"one two"': "not('one two')",
    '"AND"': "'AND'",
    "one and two": "and(one, and, two)",
    "dep*": "dep*",
    '"one tw"*': "'one tw'*",
    "*": "*",
    "source:cli": "source=cli",
    "Source:cli": "source=cli",
    "-source:cron deploy": "and(not(source=cron), deploy)",
    'title:"two words"': "title=two words",
    "(source:cli OR role:user) x": "and(or(source=cli, role=user), x)",
    "after:2026-01-01 deploy": "and(after=2026-01-01, deploy)",
    "colour:red": "colour:red",
    "source: cli": "and(source:, cli)",
    "docker source:": "and(docker, source:)",
    "(docker source:) one": "and(and(docker, source:), one)",
    'NOT tag:"" one': "one",
    'two OR tag:"" one': "or(two, one)",
    "https://example.org/a?b=c": "https://example.org/a?b=c",
    "C:\\Users\\Ann": "C:\\Users\\Ann",
    "12:30": "12:30",
    "f(x)": "f(x)",
    "(f(x) y)": "and(f(x), y)",
    "chat-send": "chat-send",
    "--force": "--force",
    "->": "->",
    "-": "-",
    "C#": "C#",
    "...": "...",
    "one ... two": "and(one, two)",
    "one ✓": "and(one, ✓)",
    "one)": "one)",
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_text_means(text: str) -> None:
    assert said(parse(text).root) == MEANINGS[text]


@pytest.mark.parametrize(
    ("text", "left", "remark", "place"),
    [
        ("one AND", "one", "AND has nothing to join", "AND"),
        ("OR one", "one", "OR has nothing to join", "OR"),
        ("one OR OR two", "or(one, two)", "OR has nothing to join", "OR"),
        ("one NOT", "one", "NOT has nothing to join", "NOT"),
        ("NOT NOT one", "not(one)", "NOT has nothing to join", "NOT"),
        ("NOT NOT NOT one", "not(one)", "NOT has nothing to join", "NOT NOT"),
        ('one "two', "and(one, 'two')", "The quote is not closed", '"two'),
        ("(one two", "and(one, two)", "The parenthesis is not closed", "("),
        ("one ... two", "and(one, two)", "'...' was ignored", "..."),
        ("suorce:cli", "suorce:cli", "did you mean 'source:'", "suorce:"),
        ("befor:7d", "befor:7d", "did you mean 'before:'", "befor:"),
        ("sort:best one", "one", "Unknown sort order 'best'", "sort:best"),
        ("sort:rel one", "one", "Unknown sort order 'rel'", "sort:rel"),
        ("one sort:rel", "one", "Unknown sort order 'rel'", "sort:rel"),
        ('one tag:""', "one", "tag: has no value and was ignored", 'tag:""'),
        ('one -on:" " two', "and(one, two)", "on: has no value and was ignored", '-on:" "'),
    ],
)
def test_what_was_repaired_is_said_and_pointed_at(
    text: str, left: str, remark: str, place: str
) -> None:
    query = parse(text)
    assert said(query.root) == left
    (found,) = [each for each in query.diagnostics if remark in each.message]
    assert text[found.span.start : found.span.end] == place


@pytest.mark.parametrize("text", ["one two", "https://a.b/c", 'a "b c" OR -d*', "x:y", "12:30"])
def test_nothing_is_remarked_where_nothing_is_odd(text: str) -> None:
    assert parse(text).diagnostics == ()


@pytest.mark.parametrize("order", query_language.SORTS)
def test_an_order_is_no_condition(order: str) -> None:
    query = parse(f"one sort:{order.upper()} two")
    assert (said(query.root), query.sort) == ("and(one, two)", order)


TYPED = {
    "docker source:": "docker",
    "docker -Source:": "docker",
    "docker source: ": "docker",
    "docker OR source:": "docker",
    "docker AND NOT source:": "docker",
    'docker OR tag:"': "docker",
    'docker NOT tag:""': "docker",
    'one OR tag:"" two': "or(one, two)",
    "source:": "nothing",
    "docker sort:rel": "docker",
    "docker sort:": "docker",
    "docker is:li": "and(docker, is=li…)",
    "docker -is:li": "and(docker, not(is=li…))",
    'title:"two wo': "title=two wo…",
    'title:"two words"': "title=two words",
    "docker is:li ": "and(docker, is=li)",
    "is:li docker": "and(is=li, docker)",
    "source: cli": "and(source:, cli)",
    "colour:": "colour:",
    "docker TODO:": "and(docker, TODO:)",
    "https:": "https:",
}


@pytest.mark.parametrize("text", TYPED)
def test_while_typing_a_text_means(text: str) -> None:
    query = parse(text, typing=True)
    assert said(query.root) == TYPED[text]
    assert query.diagnostics == ()


def test_a_field_in_an_open_quote_is_text_while_typing() -> None:
    query = parse('"the source:', typing=True)
    assert said(query.root) == "'the source:'"


def test_without_fields_a_name_at_the_end_is_text_while_typing() -> None:
    assert said(parse("docker source:", (), typing=True).root) == "and(docker, source:)"


def test_an_order_at_the_end_counts_while_typing() -> None:
    query = parse("docker sort:OLDEST", typing=True)
    assert (said(query.root), query.sort, query.diagnostics) == ("docker", "oldest", ())
    (problem,) = parse("docker sort:best", typing=True).diagnostics
    assert problem.severity is Severity.PROBLEM


def test_too_much_is_cut_and_said() -> None:
    long = parse("x" * (query_language.MAX_LENGTH + 1))
    many = parse(" ".join(f"w{number}" for number in range(query_language.MAX_TERMS + 5)))
    assert [each.severity for each in long.diagnostics] == [Severity.PROBLEM]
    assert isinstance(many.root, And)
    assert len(many.root.parts) == query_language.MAX_TERMS
    assert [each.severity for each in many.diagnostics] == [Severity.PROBLEM]


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("({} more)", 1),
        ("(a OR ({} more (and more) AND still)) OR more", 1),
        ("{} OR (more OR more)", 1),
        ("{} OR (", 1),
        ("({} (more)", 2),
        ("{} AND NOT more", 1),
    ],
)
def test_what_is_cut_off_is_not_called_wrong(query: str, notes: int) -> None:
    """Parentheses that are closed beyond the limit, and operators before it."""
    room = query_language.MAX_TERMS - query.startswith("(a")
    many = parse(query.format(" ".join(f"w{number}" for number in range(room))) + " more")
    assert len(many.diagnostics) == notes, many.diagnostics
    told = {note.message for note in many.diagnostics}
    assert f"Only the first {query_language.MAX_TERMS} terms are used." in told
    assert ("The parenthesis is not closed." in told) == (notes == 2)


def test_brackets_deeper_than_allowed_lose_no_word() -> None:
    deep = query_language.MAX_DEPTH + 10
    assert said(parse("(" * deep + "one" + ")" * deep + " two").root) == "and(one, two)"


@thorough(400)
@given(anything, st.booleans())
def test_parsing_never_fails_and_every_part_lies_in_the_text(text: str, typing: bool) -> None:
    query = parse(text, typing=typing)
    for part in (*nodes(query.root), *query.diagnostics):
        assert 0 <= part.span.start < part.span.end <= len(text)
    for node in nodes(query.root):
        if isinstance(node, Text) and not node.quoted:
            assert node.value in text[node.span.start : node.span.end]


# -- end to end --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("language") / "state.db") as store:
        with store.database.write() as tx:
            corpus.fill(tx, corpus.some_messages(5, 60))
        assert store.search.prepare()
        yield store


@thorough(250)
@given(text=anything, order=st.sampled_from((None, *Order)), grouped=st.booleans())
@example(text="NOT:NOT", order=None, grouped=False)  # only the same words in a row match
def test_every_string_can_be_searched_for(
    filled: Store, text: str, order: Order | None, grouped: bool
) -> None:
    request = Request(text, order=order, grouped=grouped, typing=grouped, limit=5)
    result = filled.search.run(request)
    assert not result.partial
    assert result.messages.number + result.weaker.number >= len(result.hits)


LONG = {
    "many words": "deploy " * 2_000,
    "a long word": "x" * 10_000,
    "brackets": "(" * 500 + "a" + ")" * 500,
    "deep groups": "a (b OR " * 60 + "c" + ")" * 60,
    "deep groups and negations": "a (b OR c -d -e NOT " * 60 + "f" + ")" * 60,
    "negations in a row": "NOT " * 900 + "a",
    "negations of groups in a row": "-( NOT " * 500 + "a",
    "negations of nothing": "NOT " * 900,
    "thousands of brackets": "(" * 2_000 + "a" + ")" * 1_990,
    "negations": " ".join(f"-w{n}" for n in range(63)) + " the",
    "negated groups": "the " + " ".join(f"NOT (w{n}" for n in range(40)) + ")" * 40,
    "prefixes": " OR ".join(f'"w {n}"*' for n in range(64)),
    "alternatives in Chinese": " OR ".join(f"前{n}" for n in range(64)),
    "alternative fields": " OR ".join(f"source:s{n}" for n in range(64)),
    "signs": "%" * 3_000,
    "Chinese": "中" * 3_000,
    "nothing": '"' + "\0" * 50 + '"',
    "a field": "title:" + "_%\\" * 900,
}


@pytest.mark.parametrize("name", LONG)
def test_long_and_deep_queries_can_be_searched_for(filled: Store, name: str) -> None:
    for grouped in (False, True):
        assert not filled.search.run(Request(LONG[name], grouped=grouped, limit=5)).partial
    filled.search.messages(LONG[name])
    with suppress(InvalidInput):  # there is nothing to ask about
        filled.recall.about(LONG[name], now=LONG_AGO)


@pytest.mark.parametrize(
    "text", ['0"\ud800', '"\ud800', "\ud800*", "%*", "(AFTER:0D) x", '0 (AFTER:0D":']
)
def test_texts_that_once_failed(filled: Store, text: str) -> None:
    for order in (None, *Order):
        filled.search.run(Request(text, order=order))
    filled.recall.about(text, now=1e9)
    filled.search.messages(text)
