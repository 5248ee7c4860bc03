"""Completions: valid in every shell, right in a real bash, and never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.workspace import Place
from hermes_tui.cli.completions import KINDS, SESSIONS, SHELLS
from hermes_tui.cli.verb_table import VERBS
from tests.cli.command import PATIENCE, environment, hermes
from tests.e2e.terminal import Terminal

COMMANDS = Path(sys.executable).parent
"""Where `hermes-sessions` is, which the scripts ask for values."""

PROJECT, QUOTED = "20260101_120000_aaaa", "20260101_120001_bbbb"

HOSTILE = (
    "a $(touch ran)",
    "a `touch ran`",
    'a"; touch ran; "',
    "a'; touch ran; '",
    "a \\$(touch ran)",
    "a !! b",
    "a * b",
)

# Calls the function that is registered for a command, as bash does when Tab is pressed.
PRESS_TAB = r"""
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
registered=($(complete -p "$1"))
for place in "${!registered[@]}"; do
  [ "${registered[place]}" != -F ] || "${registered[place + 1]}" "$1"
done
[ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with titles that need quotes, tags, a saved search and a profile."""
    home = tmp_path / "home"
    with SessionDB(home / "state.db") as db:
        for session_id, source, title in (
            (PROJECT, "cli", "my project"),
            (QUOTED, "telegram", "it's $HOME"),
            ("20260101_120002_cccc", "telegram", "--yes"),
        ):
            db.store.sessions.start(session_id, source, place=Place("/src/shop-api"))
            db.append_message(session_id, "user", "hello")
            db.set_session_title(session_id, title)
        db.store.marks.tag(PROJECT, "work", "later")
        db.store.saved_searches.save("deploys", "docker after:7d")
    (home / "profiles" / "coder").mkdir(parents=True)
    return home


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("scripts")
    made = {shell: folder / f"script.{shell}" for shell in SHELLS}
    for shell, path in made.items():
        path.write_text(hermes(folder, "sessions", "completions", shell).out, encoding="utf-8")
    return made


def _run(*command: str | Path, home: Path, path: str = f"{COMMANDS}:/usr/bin:/bin") -> list[str]:
    done = subprocess.run(
        [str(part) for part in command],
        env=environment(home, {"PATH": path}),
        cwd=home,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


# -- the scripts -------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_valid_in_its_shell(shell: str, scripts: dict[str, Path]) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell} on this machine")
    subprocess.run([found, "-n", str(scripts[shell])], check=True, timeout=PATIENCE)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_verb_and_hides_what_is_hidden(
    shell: str, scripts: dict[str, Path]
) -> None:
    text = scripts[shell].read_text(encoding="utf-8")
    assert all(name in text for name in VERBS)
    # It is called in a few places and offered in none.
    assert text.count("--values") == text.count("completions --values")
    assert "-l values" not in text


@pytest.mark.parametrize(
    ("line", "some"),
    [
        (["hermes", ""], ["sessions", "chat", "insights"]),
        (["hermes", "se"], ["sessions"]),
        (["hermes", "--"], ["--continue", "--resume", "--version", "--help"]),
        (["hermes", "sessions", ""], list(VERBS)),
        (["hermes-sessions", ""], [*VERBS, "chat"]),
        (["hermes", "sessions", "un"], ["unarchive", "unpin", "untag"]),
        (["hermes-sessions", "prune", "--include"], [
            "--include-archived", "--include-pinned", "--include-open"
        ]),
        (["hermes", "sessions", "list", "--"], ["--source", "--limit", "--json", "--home"]),
        (["hermes", "insights", "--d"], ["--days", "--db"]),
        (["hermes", "chat", "--b"], ["--builtin"]),
        (["hermes", "sessions", "export", "--format", ""], ["jsonl", "md", "html"]),
        (["hermes", "sessions", "list", "--source", ""], ["cli", "telegram"]),
        (["hermes-sessions", "list", "--limit", "5", "--source", "te"], ["telegram"]),
        (["hermes", "sessions", "show", ""], [r"my\ project", PROJECT, QUOTED]),
        (["hermes", "sessions", "show", r"my\ p"], [r"my\ project"]),
        (["hermes", "sessions", "show", '"my p'], ["my project"]),
        (["hermes-sessions", "show", "it"], [r"it\'s\ \$HOME"]),
        (["hermes-sessions", "delete", PROJECT, "20260101_120001"], [QUOTED]),
        (["hermes-sessions", "export", "a.md", "--session-id", "20260101_120000"], [PROJECT]),
        (["hermes", "-r", "my"], [r"my\ project"]),
        (["hermes", "-c", "20260101_120000"], [PROJECT]),
        (["hermes", "chat", "-r", "my"], [r"my\ project"]),
        (["hermes", "sessions", "tag", PROJECT, ""], ["later", "work"]),
        (["hermes", "sessions", "search", "do"], [r"docker\ after:7d"]),
        (["hermes", "sessions", "browse", "--query", ""], [r"docker\ after:7d"]),
        (["hermes", "sessions", "list", "--profile", ""], ["coder", "default"]),
        (["hermes", "sessions", "import", "state"], ["state.db"]),
        (["hermes", "sessions", "list", "--tag", "wo"], ["work"]),
        (["hermes", "sessions", "list", "--sort", ""], ["activity", "cost", "tokens", "title"]),
        (["hermes-sessions", "list", "--query", ""], [r"docker\ after:7d"]),
        (["hermes-sessions", "search", "docker", "--so"], ["--source", "--sort"]),
        (["hermes-sessions", "search", "--source", "te"], ["telegram"]),
        (["hermes-sessions", "search", "--workspace", ""], ["shop-api"]),
        (["hermes-sessions", "export", "a.md", "--session", "20260101_120000"], [PROJECT]),
    ],
)  # fmt: skip
def test_bash_offers(
    line: list[str], some: list[str], home: Path, scripts: dict[str, Path]
) -> None:
    offered = _run("bash", "--norc", "-c", PRESS_TAB, "bash", scripts["bash"], *line, home=home)
    assert set(some) <= set(offered)
    typed = line[-1].lstrip('"')
    assert all(each.startswith(typed) for each in offered)


def test_bash_offers_nothing_wrong_where_there_is_no_database(
    tmp_path: Path, scripts: dict[str, Path]
) -> None:
    press = ("bash", "--norc", "-c", PRESS_TAB, "bash", scripts["bash"], "hermes", "sessions")
    assert _run(*press, "show", "", home=tmp_path) == []
    assert _run(*press, "unp", home=tmp_path) == ["unpin"]
    # Without the command itself there are no values, but still verbs and flags.
    assert _run(*press, "show", "", home=tmp_path, path="/usr/bin:/bin") == []
    assert _run(*press, "unp", home=tmp_path, path="/usr/bin:/bin") == ["unpin"]


@pytest.mark.parametrize(
    ("quote", "some"),
    [
        ("", {*HOSTILE, "my project"}),
        ('"', {"my project", "a'; touch ran; '"}),
        ("'", {"my project", "a $(touch ran)", 'a"; touch ran; "', "a !! b"}),
    ],
)
def test_bash_never_evaluates_what_it_offers(
    quote: str, some: set[str], home: Path, scripts: dict[str, Path]
) -> None:
    _add_hostile(home)
    press = ("bash", "--norc", "-c", PRESS_TAB, "bash", scripts["bash"], "hermes-sessions", "show")
    offered = _run(*press, quote, home=home)
    # The rest of the line, as it would run after Enter.
    read = "".join(f"printf '%s\\n' {quote}{each}{quote}\n" for each in offered)
    found = _run("bash", "--norc", "-c", read, home=home)
    assert some <= set(found) <= {*HOSTILE, "my project", "it's $HOME", *_ids(home)}
    assert not (home / "ran").exists()
    # An interactive bash replaces this within double quotes, and nothing there can prevent it.
    assert quote != '"' or not any("!" in each for each in offered)


@pytest.mark.parametrize("word", ['a"', "a'", 'a" $(', "$'a", '"a""', "'a''", "'a'\""])
def test_bash_offers_nothing_inside_a_quotation_within_a_word(
    word: str, home: Path, scripts: dict[str, Path]
) -> None:
    with SessionDB(home / "state.db") as db:
        db.create_session("hostile", "cli")
        db.append_message("hostile", "user", "hello")
        db.set_session_title("hostile", f"{word} $(touch ran)")
    press = ("bash", "--norc", "-c", PRESS_TAB, "bash", scripts["bash"], "hermes-sessions", "show")
    assert _run(*press, word, home=home) == []


def _add_hostile(home: Path) -> None:
    with SessionDB(home / "state.db") as db:
        for number, title in enumerate(HOSTILE):
            db.create_session(f"hostile{number}", "cli")
            db.append_message(f"hostile{number}", "user", "hello")
            db.set_session_title(f"hostile{number}", title)


def _ids(home: Path) -> list[str]:
    with SessionDB(home / "state.db") as db:
        return [each["id"] for each in db.list_sessions_rich(limit=100)]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish on this machine")
@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("hermes sessions un", ["unarchive", "unpin", "untag"]),
        ("hermes-sessions un", ["unarchive", "unpin", "untag"]),
        ("hermes sessions list --source te", ["telegram"]),
        ("hermes-sessions show my", ["my project"]),
        ("hermes -r 20260101_120000", [PROJECT]),
        ("hermes-sessions list --tag wo", ["work"]),
        ("hermes sessions search docker --source te", ["telegram"]),
        ("hermes-sessions list --workspace sh", ["shop-api"]),
        ("hermes-sessions list --sort co", ["cost"]),
        ("hermes-sessions show it", ["it's $HOME"]),
    ],
)
def test_fish_offers(line: str, some: list[str], home: Path, scripts: dict[str, Path]) -> None:
    fish = shutil.which("fish") or "fish"
    code = "source $argv[1]; complete -C $argv[2]"
    offered = _run(fish, "--no-config", "-c", code, scripts["fish"], line, home=home)
    assert [each.partition("\t")[0] for each in offered] == some


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish on this machine")
def test_fish_never_evaluates_what_it_offers(home: Path, scripts: dict[str, Path]) -> None:
    _add_hostile(home)
    fish = shutil.which("fish") or "fish"
    # Fish escapes what it inserts; this is how it does so.
    code = (
        "source $argv[1]; for each in (complete -C 'hermes-sessions show a'); "
        "eval printf '%s\\\\n' (string escape -- (string split -f1 \\t -- $each)); end"
    )
    assert set(_run(fish, "--no-config", "-c", code, scripts["fish"], home=home)) == set(HOSTILE)
    assert not (home / "ran").exists()


# A widget that prints the line as it stands, in place of running it.
ZSH = (
    "PROMPT='%# '; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; "
    "show() {{ zle -I; print -r -- \"<$BUFFER>\" END$((1 + 1)); BUFFER=''; }}; zle -N show; "
    "bindkey '^X' show; print READY$((1 + 1))\n"
)


def _zsh(home: Path, script: Path, line: str) -> str:
    """Type a line into an interactive zsh, press Tab, and return what the line is then."""
    (script.parent / "_hermes").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    surroundings = environment(
        home, {"PATH": f"{COMMANDS}:/usr/bin:/bin", "TERM": "xterm-256color"}
    )
    zsh = shutil.which("zsh") or "zsh"
    terminal = Terminal([zsh, "-f", "-i"], surroundings, size=(180, 60), folder=home)
    try:
        terminal.type(ZSH.format(folder=script.parent))
        terminal.wait_for("READY2", seconds=PATIENCE)
        terminal.type(f"{line}\t")
        terminal.send("ctrl+x")
        terminal.wait_for("END2", seconds=PATIENCE)
        shown = next(each for each in terminal.lines if "> END2" in each)
        return shown[shown.index("<") + 1 : shown.rindex("> END2")]
    finally:
        terminal.close()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh on this machine")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("hermes sessions unp", "hermes sessions unpin "),
        ("hermes-sessions sea", "hermes-sessions search "),
        ("hermes sessions list --source te", "hermes sessions list --source telegram "),
        ("hermes-sessions search docker --sou", "hermes-sessions search docker --source "),
        ("hermes-sessions list --tag wo", "hermes-sessions list --tag work "),
        ("hermes-sessions list --workspace sh", "hermes-sessions list --workspace shop-api "),
        ("hermes-sessions list --sort co", "hermes-sessions list --sort cost "),
        ("hermes sessions show my", r"hermes sessions show my\ project "),
        ("hermes-sessions show it", r"hermes-sessions show it\'s\ \$HOME "),
        ("hermes -r 20260101_120000", f"hermes -r {PROJECT} "),
    ],
)
def test_zsh_completes(line: str, completed: str, home: Path, scripts: dict[str, Path]) -> None:
    assert _zsh(home, scripts["zsh"], line) == completed


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh on this machine")
def test_zsh_never_evaluates_what_it_offers(home: Path, scripts: dict[str, Path]) -> None:
    _add_hostile(home)
    for title, start in ((HOSTILE[0], r"a\ \$"), (HOSTILE[1], r"a\ \`"), (HOSTILE[2], r"a\"")):
        line = _zsh(home, scripts["zsh"], f"hermes-sessions show {start}")
        word = line.removeprefix("hermes-sessions show ").rstrip(" ")
        zsh = shutil.which("zsh") or "zsh"
        assert _run(zsh, "-f", "-c", f"print -r -- {word}", home=home) == [title]
    assert not (home / "ran").exists()


# -- the values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("sessions", {"my project", "it's $HOME", PROJECT, QUOTED, "20260101_120002_cccc"}),
        ("sources", {"cli", "telegram"}),
        ("tags", {"work", "later"}),
        ("searches", {"docker after:7d"}),
        ("profiles", {"default", "coder"}),
    ],
)
def test_values_are_one_on_each_line(kind: str, values: set[str], home: Path) -> None:
    done = hermes(home, "sessions", "completions", "--values", kind)
    assert (done.code, done.err) == (0, "")
    assert set(done.out.splitlines()) == values


def test_only_the_sessions_used_last_are_offered(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        for number in range(SESSIONS + 20):
            db.create_session(f"s{number:04}", "cli")
            db.append_message(f"s{number:04}", "user", "hello", timestamp=1_790_000_000 + number)
    offered = hermes(tmp_path, "sessions", "completions", "--values", "sessions").out.splitlines()
    assert len(offered) == SESSIONS
    assert offered[0] == f"s{SESSIONS + 19:04}"


def test_what_could_not_be_typed_back_is_left_out(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        db.create_session("20260101_120000_aaaa", "cli")
        db.append_message("20260101_120000_aaaa", "user", "hello")
        with db.store.database.write() as tx:
            tx.run("UPDATE sessions SET title = ?", ("two\nlines \x1b[31m",))
    done = hermes(tmp_path, "sessions", "completions", "--values", "sessions")
    assert done.out == "20260101_120000_aaaa\n"


def _content(folder: Path) -> Iterator[tuple[str, int]]:
    for path in sorted(folder.rglob("*")):
        yield str(path), path.stat().st_size if path.is_file() else -1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", ["nothing", "no folder", "damaged", "a folder", "whole"])
def test_values_are_silent_about_trouble_and_leave_no_file(
    kind: str, state: str, tmp_path: Path, home: Path
) -> None:
    place = home if state == "whole" else tmp_path / "elsewhere"
    if state not in ("whole", "no folder"):
        place.mkdir()
    if state == "damaged":
        (place / "state.db").write_bytes(os.urandom(5000))
        (place / "config.yaml").write_text("sessions: [", encoding="utf-8")
    elif state == "a folder":
        (place / "state.db").mkdir()
    before = list(_content(tmp_path))
    done = hermes(place, "sessions", "completions", "--values", kind)
    assert (done.code, done.err) == (0, "")
    if state != "whole":
        assert done.out == ("default\n" if kind == "profiles" else "")
    assert list(_content(tmp_path)) == before


def test_values_are_not_mentioned(tmp_path: Path) -> None:
    assert "values" not in hermes(tmp_path, "sessions", "completions", "--help").out
    done = hermes(tmp_path, "sessions", "completions")
    assert done.code == 2
    assert "values" not in done.err
