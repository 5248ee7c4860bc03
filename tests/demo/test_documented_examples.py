"""Every example of a search in README and docs finds something in the demo."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from hermes_store.records.search import Request
from hermes_store.store import Store
from hermes_tui.demo.sample import EARLIER_SEARCHES, SAVED_SEARCHES, create
from tests import postgres

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
# A Wednesday noon, late enough in the year for all dates but one.
USUAL = datetime(2026, 6, 17, 12).timestamp()
AT = {"id:20250305": datetime(2025, 3, 6, 12).timestamp()}
_QUERY = re.compile(
    r"sessions search '([^']+)'|--query '([^']+)'|search\.run\(\"([^\"]+)\"\)"
    r"|Request\(\"([^\"]+)\""
)
_RECALL = re.compile(r"sessions recall ((?:'[^']+'|[^\n'\-|`…])+)")


def _code(text: str) -> list[str]:
    """Return what stands between backticks, outside of blocks of code."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [each.replace(r"\|", "|") for each in re.findall(r"`([^`\n]+)`", prose)]


def _searches() -> list[str]:
    """Return the examples in commands, in Python, and in the tables of the search language."""
    found = [next(filter(None, each)) for page in PAGES.values() for each in _QUERY.findall(page)]
    language = PAGES["search.md"].partition("## The language")[2]
    words, _, fields = language.partition("### Fields")
    for table, column in ((words, 1), (fields.partition("\n## ")[0], 2)):
        rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
        found += [each for row in rows for each in _code(row[column - 1].split("(")[0]
                  if column == 2 else row[0])]  # fmt: skip
    found += [each for each in _code(PAGES["browser.md"]) if re.search(r"\b\w+:\w", each)
              and "/" not in each and "--" not in each]  # fmt: skip
    return sorted(set(found))


def _recalls() -> list[str]:
    found = [each for page in PAGES.values() for each in _RECALL.findall(page)]
    return sorted({each.strip().strip("'") for each in found})


@pytest.fixture(scope="module")
def demo_at(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], Path]:
    """Return the demo at a time."""

    @cache
    def made(now: float) -> Path:
        path = tmp_path_factory.mktemp("demo") / "state.db"
        create(path, now)
        return path

    return made


@pytest.fixture(scope="module")
def hub() -> Iterator[Callable[[Path], str]]:
    """Return a server to which a laptop has sent a demo: only there, sessions have a host."""
    made: list[str] = []

    @cache
    def sent(file: Path) -> str:
        made.append(postgres.fresh_address())
        with Store(file, read_only=True) as source, Store(made[-1]) as server:
            source.transfer.push(server.database, host="laptop")
        return made[-1]

    yield sent
    for address in made:
        postgres.drop(address)


def test_the_examples_are_seen() -> None:
    assert {
        "docker deploy after:7d", "docker deploy source:telegram after:7d", "docker after:7d",
        '"exit code"', "(docker OR podman) network", "src/main.py", "C:\\Users", "don't", "C#",
        "on:yesterday", "tag:work", "is:compressed", "source:telegram after:7d is:live",
    } <= set(_searches())  # fmt: skip
    assert {"nginx OR caddy", "backup schedule"} <= set(_recalls())


ALSO = ('"exit code" source:telegram after:7d', "部署", "PR1137", *SAVED_SEARCHES.values(),
        *EARLIER_SEARCHES)  # fmt: skip


@pytest.mark.parametrize("text", [*_searches(), *ALSO])
def test_it_finds_something(
    text: str, demo_at: Callable[[float], Path], hub: Callable[[Path], str]
) -> None:
    now = AT.get(text, USUAL)
    file = demo_at(now)
    with Store(hub(file) if "host:" in text else file, read_only=True) as store:
        found = store.search.run(Request(text, now=now, relax=False))
        assert found.messages.number, found.diagnostics


@pytest.mark.parametrize("question", _recalls())
def test_it_recalls_something(question: str, demo_at: Callable[[float], Path]) -> None:
    with Store(demo_at(USUAL), read_only=True) as store:
        assert store.recall.about(question, now=USUAL).sessions
