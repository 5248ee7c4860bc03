"""Sessions made of real text with a large vocabulary, the same for a seed on the same machine.

The text is what any machine with Python has: sources, documentation and licence texts of the
standard library and of the installed packages, as slices of lines. Logs with hashes, times and ids
are composed of the words in them, Chinese, Japanese and Korean of ordinary sentences.
"""

from __future__ import annotations

import json
import random
import re
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench import cjk_sentences
from bench.corpus import NOW

SPAN = 180 * 86_400.0
"""How many seconds of life the sessions cover, up to now."""
FEW_SECONDS = 10.0
ENDINGS = {".py", ".pyi", ".md", ".rst", ".txt", ".json", ".toml", ".cfg", ".h", ".css", ".js"}
LICENCES = ("LICENSE", "COPYING", "NOTICE", "AUTHORS", "METADATA")
LARGEST_FILE = 400_000
LARGEST_READ = 120_000_000
TOOLS = ("terminal", "read_file", "search_files", "write_file", "web_search", "execute_code",
         "browser_navigate", "patch", "process", "session_search")  # fmt: skip
SOURCES = ["cli"] * 55 + ["telegram"] * 12 + ["discord"] * 8 + ["cron"] * 13 + ["subagent"] * 12
LANGUAGES = ["en"] * 79 + ["zh"] * 9 + ["ja"] * 7 + ["ko"] * 5
LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR")
_WORD = re.compile(r"[A-Za-z][A-Za-z]{2,15}")
_PROSE = re.compile(r"[A-Za-z\"'(][A-Za-z0-9 ,.;:'\"()/-]{40,}$")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a corpus is."""

    name: str
    sessions: int
    messages: int


SCALES = {
    "XS": Scale("XS", 60, 3_000),
    "S": Scale("S", 1_000, 70_000),
    "M": Scale("M", 10_000, 500_000),
}


@dataclass(slots=True)
class Message:
    """One row of `messages`."""

    role: str
    content: str
    timestamp: float
    tool_name: str | None = None
    tool_calls: str | None = None
    tool_call_id: str | None = None


@dataclass(slots=True)
class Session:
    """One row of `sessions` with its messages."""

    id: str
    source: str
    model: str
    title: str
    system_prompt: str
    parent_session_id: str | None
    started_at: float
    ended_at: float = 0.0
    messages: list[Message] = field(default_factory=list)


def _files() -> list[Path]:
    """Return the text files of the standard library and of the installed packages."""
    packages = Path(sysconfig.get_path("purelib"))
    library = Path(sysconfig.get_path("stdlib"))
    found = []
    for root in (library, packages):
        for path in root.rglob("*"):
            inner = path.relative_to(root).parts
            if root == library and inner[0] in ("site-packages", "dist-packages"):
                continue
            wanted = path.suffix in ENDINGS or path.name.startswith(LICENCES)
            if wanted and path.is_file() and 200 < path.stat().st_size < LARGEST_FILE:
                found.append(path)
    return sorted(found)


@dataclass(slots=True)
class Material:
    """The lines that messages are cut from."""

    lines: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @classmethod
    def read(cls) -> Material:
        """Read every text file once."""
        self = cls()
        words: dict[str, int] = {}
        size = 0
        for path in _files():
            try:
                text = path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            if "\0" in text:
                continue
            size += len(text)
            if size > LARGEST_READ:
                break
            self.paths.append("/".join(path.parts[-4:]))
            lines = [line[:400] for line in text.splitlines()]
            self.lines += lines
            for line in lines:
                bare = line.strip().lstrip("#* ")
                if _PROSE.match(bare) and bare.count(" ") > 5:
                    self.prose.append(bare)
            for word in _WORD.findall(text):
                words[word] = words.get(word, 0) + 1
        self.words = sorted(word for word, number in words.items() if number > 1)
        return self


class Writer:
    """Writes messages of every kind, by chance that a seed decides."""

    def __init__(self, material: Material, seed: int) -> None:
        self.material = material
        self.rng = random.Random(seed)
        self._prompts = [self._slice(material.prose, 6_600) for _ in range(12)]

    def _slice(self, lines: list[str], size: int) -> str:
        """Return about `size` characters of lines in a row."""
        place = self.rng.randrange(len(lines))
        taken: list[str] = []
        while size > 0:
            line = lines[place % len(lines)]
            taken.append(line[: size + 20])
            size -= len(line) + 1
            place += 1
        return "\n".join(taken)

    def word(self) -> str:
        return self.rng.choice(self.material.words)

    def identifier(self) -> str:
        parts = [self.word() for _ in range(self.rng.choice((2, 2, 3)))]
        if self.rng.random() < 0.5:
            return "_".join(part.lower() for part in parts)
        return parts[0].lower() + "".join(part.capitalize() for part in parts[1:])

    def digest(self, length: int = 0) -> str:
        length = length or self.rng.choice((7, 8, 12, 16, 32, 40, 64))
        return f"{self.rng.getrandbits(length * 4):0{length}x}"

    def address(self) -> str:
        host = f"{self.word().lower()}.{self.rng.choice(('com', 'org', 'io', 'dev', 'example'))}"
        if self.rng.random() < 0.5:
            return f"{self.word().lower()}@{host}"
        return f"https://{host}/{self.word().lower()}/{self.word().lower()}?id={self.digest(8)}"

    def path(self) -> str:
        if self.rng.random() < 0.6:
            return self.rng.choice(self.material.paths)
        return f"/srv/{self.word().lower()}/{self.identifier()}/{self.word().lower()}.log"

    def _log_line(self, clock: float) -> str:
        rng = self.rng
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(clock + rng.random() * 3_600))
        head = f"{when},{rng.randrange(1000):03d} {rng.choice(LEVELS)} {self.word().lower()}."
        kind = rng.randrange(6)
        if kind == 0:
            tail = f"request {self.digest(16)} from 10.{rng.randrange(256)}.{rng.randrange(256)}.7"
        elif kind == 1:
            tail = f"{self.identifier()}={rng.randrange(100_000)} took {rng.randrange(9_000)} ms"
        elif kind == 2:
            tail = f"cannot open {self.path()}: {self.word()} {self.word()} ({self.digest(7)})"
        elif kind == 3:
            tail = f"sent to {self.address()}"
        elif kind == 4:
            tail = f"commit {self.digest(40)} {self.word()} {self.word()} {self.word()}"
        else:
            tail = self.rng.choice(self.material.prose)[:90]
        return f"{head}{self.word().lower()}[{rng.randrange(65_536)}]: {tail}"

    def _log(self, size: int, clock: float) -> str:
        lines: list[str] = []
        while size > 0:
            lines.append(self._log_line(clock + len(lines)))
            size -= len(lines[-1]) + 1
        return "\n".join(lines)

    def _matches(self, size: int) -> str:
        """Return lines such as grep prints."""
        lines: list[str] = []
        while size > 0:
            place = self.rng.randrange(len(self.material.lines))
            lines.append(f"{self.path()}:{place % 2_000}:{self.material.lines[place].strip()}")
            size -= len(lines[-1]) + 1
        return "\n".join(lines)

    def _listing(self, size: int) -> str:
        """Return what a listing of files with their checksums prints."""
        lines: list[str] = []
        while size > 0:
            lines.append(f"{self.digest(32)}  {self.rng.randrange(999_999)} {self.path()}")
            size -= len(lines[-1]) + 1
        return "\n".join(lines)

    def eastern(self, language: str, size: int) -> str:
        """Return Chinese, Japanese or Korean sentences with numbers and names between them."""
        rng, parts = self.rng, []
        while size > 0:
            sentence = rng.choice(cjk_sentences.SENTENCES[language])
            sentence = sentence.replace("#", str(rng.randrange(1, 10_000)))
            if "@" in sentence:
                maker = rng.choice((self.identifier, self.path, self.address, self.word))
                sentence = sentence.replace("@", maker())
            chance = rng.random()
            if chance < 0.4:  # a common word beside a made-up one, somewhere inside
                cut = rng.randrange(len(sentence) + 1)
                made = "".join(rng.choices(cjk_sentences.CHARACTERS[language], k=2))
                word = rng.choice(cjk_sentences.COMMON[language])
                sentence = sentence[:cut] + word + made + sentence[cut:]
            elif chance < 0.55:
                sentence = rng.choice(cjk_sentences.NAMES[language]) + sentence
            parts.append(sentence + rng.choice(cjk_sentences.JOINTS[language]))
            size -= len(parts[-1])
        return "".join(parts).strip()

    def said(self, language: str) -> str:
        """Return what a person or the assistant says."""
        size = int(min(12_000, max(15, self.rng.lognormvariate(5.5, 1.05))))
        if language != "en" and self.rng.random() < 0.8:
            return self.eastern(language, size // 2)
        text = self._slice(self.material.prose, size).replace("\n", " ")
        extra = self.rng.random()
        if extra < 0.25:
            text += f" {self.rng.choice((self.identifier, self.path, self.address))()}"
        elif extra < 0.35:
            text += "\n```\n" + self._slice(self.material.lines, size // 2) + "\n```"
        return text

    def printed(self, language: str, clock: float) -> str:
        """Return what a tool prints."""
        size = int(min(60_000, max(12, self.rng.lognormvariate(6.64, 1.3))))
        kind = self.rng.random()
        if language != "en" and kind < 0.3:
            return self.eastern(language, size // 2)
        if kind < 0.62:
            return self._slice(self.material.lines, size)
        if kind < 0.80:
            return self._log(size, clock)
        if kind < 0.90:
            return self._matches(size)
        if kind < 0.95:
            return self._listing(size)
        body = {"output": self._slice(self.material.lines, size), "exit_code": 0, "error": None}
        return json.dumps(body, ensure_ascii=False)

    def call(self, tool: str, call_id: str) -> dict[str, object]:
        """Return one tool call as an assistant's message holds it."""
        what = {"path": self.path()} if self.rng.random() < 0.5 else {"query": self.identifier()}
        if self.rng.random() < 0.3:
            what["command"] = self.rng.choice(self.material.lines).strip()[:200]
        return {
            "id": call_id,
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(what)},
        }

    def prompt(self) -> str:
        return f"{self.rng.choice(self._prompts)}\nWorking folder: {self.path()} {self.digest(40)}"

    def conversation(self, number: int, language: str, clock: float) -> list[Message]:
        """Return that many messages, some seconds apart."""
        rng, done = self.rng, list[Message]()

        def say(role: str, content: str) -> Message:
            nonlocal clock
            clock += rng.random() * 2 * FEW_SECONDS
            done.append(Message(role, content, clock))
            return done[-1]

        while len(done) < number:
            say("user", self.said(language))
            for _ in range(rng.randrange(2, 7)):
                asked = say("assistant", self.said(language) if rng.random() < 0.35 else "")
                calls = []
                for _ in range(rng.choice((1, 1, 2, 2))):
                    tool, call_id = rng.choice(TOOLS), f"call_{self.digest(12)}"
                    calls.append(self.call(tool, call_id))
                    answer = say("tool", self.printed(language, clock))
                    answer.tool_name, answer.tool_call_id = tool, call_id
                asked.tool_calls = json.dumps(calls)
            say("assistant", self.said(language))
        return done[:number]


def sessions(scale: Scale, seed: int = 1) -> Iterator[Session]:
    """Write the sessions of a corpus, one after the other in time."""
    writer = Writer(Material.read(), seed)
    rng = writer.rng
    weights = [rng.lognormvariate(0, 0.9) for _ in range(scale.sessions)]
    spare = scale.messages - 2 * scale.sessions
    total, given, taken = sum(weights), 0.0, 0
    clock = NOW - SPAN
    gap = (SPAN - scale.messages * FEW_SECONDS) / scale.sessions
    last_human: str | None = None
    for place, weight in enumerate(weights):
        given += weight
        number = 2 + int(spare * given / total) - taken
        taken += number - 2
        source, language = rng.choice(SOURCES), rng.choice(LANGUAGES)
        clock += rng.random() * 2 * gap * 0.98
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(clock))
        words = [writer.word() for _ in range(4)]
        session = Session(
            id=f"{stamp}_{writer.digest(6)}",
            source=source,
            model=rng.choice(("hermes-4-405b", "claude-sonnet-4", "gpt-5", "qwen3-coder")),
            title=f"{' '.join(words)} {place}",
            system_prompt=writer.prompt(),
            parent_session_id=last_human if source == "subagent" else None,
            started_at=clock,
            messages=writer.conversation(number, language, clock),
        )
        clock = session.ended_at = session.messages[-1].timestamp
        if source == "cli":
            last_human = session.id
        yield session
