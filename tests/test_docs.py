"""The documents tell the truth where a machine can see it: links, names and examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(
        (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "hermes_store/README.md")
    )
}
EXAMPLES = [
    pytest.param(code, id=f"{page}-{number}")
    for page, text in PAGES.items()
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL), 1)
    if "import" in code  # one that imports nothing continues another, or lists ways to call
    and "/srv/" not in code
]


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", PAGES[page]):
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.is_file(), link
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("code", EXAMPLES)
def test_every_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with SessionDB() as db:
        db.create_session("20260101_120000_abcdef12", "cli")
        db.append_message("20260101_120000_abcdef12", "user", "The docker deploy step fails.")
    code = code.replace("/tmp/sample", str(tmp_path / "sample")).replace("1_000", "20")
    left_open: dict[str, object] = {}
    exec(compile(code, "example", "exec"), left_open)
    for value in left_open.values():
        if isinstance(value, Store):
            value.close()


def _first_column(page: str, after: str) -> list[str]:
    """Return the names of functions in the table that follows a text."""
    table = PAGES[page].split(after, 1)[1].split("\n\n|", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"`(\w+)(?:\([^`]*\))?`", table)


def test_the_methods_that_are_named_exist() -> None:
    named = _first_column("docs/compatibility.md", "## The methods")
    assert len(named) > 30
    assert not [name for name in named if not callable(getattr(SessionDB, name, None))]


def test_the_typed_methods_that_are_named_exist(path: Path) -> None:
    table = PAGES["docs/store.md"].split("| Part of `Store` |", 1)[1].split("\n\n", 1)[0]
    named = re.findall(r"`(\w+)\.(\w+)\([^`]*\)`", table)
    assert len(named) > 10
    with Store(path) as store:
        assert not [
            each for each in named if not callable(getattr(getattr(store, each[0]), each[1]))
        ]
