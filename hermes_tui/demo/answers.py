"""Scripted answers, titles and summaries of the demo model.

Pure functions from a request to text; `scripted_model` speaks them, `model_server` serves them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.records.safe_text import one_line, shorten

SEARCH_TOOL = "session_search"
MIN_ECHO = 3
"""The length of the shortest word that is looked for in the conversation."""


@dataclass(frozen=True, slots=True)
class Line:
    """What the scripted assistant does next: answer, or search first."""

    text: str = ""
    reasoning: str = ""
    tool: str = ""
    arguments: str = ""


_GREETING = """\
Hello, I am the demonstration assistant: a small script on your own machine. There is no model \
behind me, and nothing you type leaves this computer.

Ask me about **searching**, **resuming**, **titles**, **branches**, **exporting** or **pruning**. \
Or ask what we talked about earlier, and I will search the sample conversations.

To chat with a real model, install `hermes-sessions[chat]` and set a model in `config.yaml`:

```yaml
model:
  default: anthropic/claude-sonnet-4.5
```
"""

_SCRIPTED = """\
I am only the demonstration assistant, a small script, so I can't really answer that. A real model \
would have this whole conversation in front of it.
"""

_MORE = """\
Try “how do I search?”, “what did we say about docker earlier?” or `/help`.
"""

_THANKS = """\
You're welcome. Scripts don't get thanked often.
"""

_ANSWERS: tuple[tuple[str, str], ...] = (
    (r"^\W*(thanks|thank you|thx|cheers)\b", _THANKS),
    (
        r"search|find|look for|query",
        """\
Press `/` in the browser and type; results appear as you type.

| Type | To find |
|---|---|
| `docker compose` | both words, anywhere |
| `"out of memory"` | the exact phrase |
| `deploy*` | deploy, deploys, deployment … |
| `error -timeout` | the first word without the second |
| `source:telegram` | one source only |

Matches are highlighted in the transcript, and `n` goes to the next one.
""",
    ),
    (
        r"resum|continu|pick up",
        """\
There are three ways to resume a conversation:

1. **In the browser**: move to it and press `Enter`.
2. **By name**: `hermes -c "my project"`. If there is a `my project #2` or `#3`, you get the newest.
3. **The last one**: `hermes -c`.

A short recap shows where you left off.
""",
    ),
    (
        r"title|rename|call(ed)? (it|this)|name",
        """\
A session gets a title of three to seven words after the first exchange. To set your own:

- `/title my research project` in a chat,
- `r` in the list of the browser,
- `hermes sessions rename ID my research project` in a shell.

Titles are unique. A continuation gets the next number, as in `my research project #2`.
""",
    ),
    (
        r"branch|fork|lineage",
        """\
`/branch` continues in a copy, and the original session stays unchanged:

```
refactoring auth
├─ refactoring auth #2     compression
└─ try it with passkeys    branch
```

The *Lineage* page of the browser shows this tree; `Enter` opens any of its sessions.
""",
    ),
    (
        r"export|markdown|backup|share",
        """\
```bash
hermes sessions export notes.md
hermes sessions export everything.jsonl
```

Add `--redact` to mask keys and passwords. A JSON lines file can be imported again.
""",
    ),
    (
        r"prune|delete|clean|trash|remove|space",
        """\
- `d` in the list moves the current conversation to trash; `u` restores it.
- `hermes sessions prune --older-than 90d` shows what it would prune, then asks.
- `hermes sessions trash` lists the trash, and `restore` restores from it.

Nothing is permanently deleted until you empty the trash.
""",
    ),
    (
        r"compress|context|too long|token",
        """\
When a conversation fills half of the model's context, a summary replaces the older part and you \
continue in a continuation. `/compress` does it right away. The full text stays in the database, \
where search finds it.
""",
    ),
)
_HELLO = re.compile(r"\W*(hello|hi|hey|good (morning|evening)|who are you|what are you)\b", re.I)
_EARLIER = re.compile(
    r"\b(earlier|last (time|week|month)|yesterday|previous(ly)?|before|remember|did we|have we"
    r"|we (talked|discussed|spoke|decided|did)|past (session|conversation)s?)\b",
    re.I,
)
_FILLER = frozenset(
    re.findall(
        r"\w+",
        "a about again an and any anything are at before can conversation conversations could did "
        "discuss discussed do does earlier find for from had has have how i in is it last me my "
        "of on our past please previous previously remember said say session sessions spoke talk "
        "talked tell that the there this time to us was we week were what when where which who "
        "why with yesterday you your ",
    )
)


def next_line(messages: Sequence[Mapping[str, Any]], tools: Sequence[Any]) -> Line:
    """Return what the assistant does next in a conversation."""
    last = messages[-1] if messages else {}
    if last.get("role") == "tool":
        return Line(_from_results(_text(last)))
    question = _text(last)
    if _EARLIER.search(question) and _offers_search(tools):
        wanted = keywords(question) or question
        return Line(
            reasoning="This is about an earlier conversation, so I will search for it.",
            tool=SEARCH_TOOL,
            arguments=json.dumps({"query": wanted}, ensure_ascii=False),
        )
    for pattern, answer in _ANSWERS:
        if re.search(pattern, question, re.I):
            return Line(answer)
    if not question.strip() or _HELLO.match(question):
        return Line(_GREETING)
    return Line("\n".join(filter(None, (_SCRIPTED, _said_before(question, messages), _MORE))))


def _said_before(question: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about a word of the question that came up before, or ""."""
    before = [each for each in messages[:-1] if each.get("role") in ("user", "assistant")]
    for word in sorted(set(keywords(question).split()), key=len, reverse=True):
        name = word.strip("'.-")
        pattern = re.compile(rf"\b{re.escape(name)}\b", re.I)
        found = [(each, _text(each)) for each in before if pattern.search(_text(each))]
        if len(name) < MIN_ECHO or not found:
            continue
        first, text = found[0]
        line = next(line for line in text.splitlines() if pattern.search(line))
        who = "you" if first.get("role") == "user" else "Hermes"
        number = len(found)
        times = "in one message" if number == 1 else f"in {number} messages"
        return (
            f"But I can read: **{name}** came up {times} of this conversation. "
            f"The first time, {who} wrote:\n\n"
            f"> {shorten(one_line(line), 160)}\n"
        )
    return ""


def keywords(question: str) -> str:
    """Return the words of a question that are worth searching for."""
    words = re.findall(r"[\w'.-]+", question)
    return " ".join(word for word in words if word.lower().strip("'.-") not in _FILLER)


def whole_answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer to a request that is not streamed, usually a title or a summary."""
    order = " ".join(_text(each) for each in messages if each.get("role") == "system").lower()
    text = "\n".join(_text(each) for each in messages if each.get("role") == "user")
    if "title" in order:
        return _title(text)
    if "summar" in order:
        return _summary(text)
    return next_line(messages, ()).text


def pieces(text: str) -> Iterator[str]:
    """Yield a text word by word, with its white space."""
    yield from re.findall(r"\s*\S+\s*\Z|\s*\S+", text)


def _title(text: str) -> str:
    # Only the question, without the answer below it.
    parts = re.split(r"^\w+:\s", text.strip(), flags=re.M)
    said = next((part for part in parts if part.strip()), "")
    words = keywords(one_line(said)).split()[:6]
    title = " ".join(words).strip(" .,-'")
    if len(words) > 1:
        return title.capitalize()
    return f"A question about {title}" if title and "?" in said else "A short conversation"


def _summary(text: str) -> str:
    text = re.sub(r"\AQuestion: .*\n+Conversation:\n", "", text)
    lines = [one_line(line) for line in text.splitlines() if len(one_line(line)) > 3]
    kept = lines if len(lines) <= 5 else [*lines[:3], *lines[-2:]]
    return "\n".join(f"- {shorten(line.lstrip('-*# '), 160)}" for line in kept) or "- Nothing yet."


def _offers_search(tools: Sequence[Any]) -> bool:
    names = [
        tool["function"].get("name")
        for tool in tools
        if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping)
    ]
    return SEARCH_TOOL in names


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return " ".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _from_results(text: str) -> str:
    """Return an answer from the results of the search tool, in any form."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    results = next(
        (value for value in found.values() if isinstance(value, list)) if isinstance(found, dict)
        else iter(()),
        found if isinstance(found, list) else [],
    )  # fmt: skip
    lines = [_result(each) for each in results if isinstance(each, Mapping)]
    if not lines:
        return "I searched the earlier conversations and found nothing about that."
    return "\n".join(
        [
            f"I found {len(lines)} earlier conversation{'' if len(lines) == 1 else 's'} about it:",
            "",
            *lines,
            "",
            "Open one in the browser to read it in full.",
        ]
    )


def _result(found: Mapping[str, Any]) -> str:
    def first(*names: str) -> str:
        return next((str(found[name]) for name in names if found.get(name)), "")

    name = one_line(first("title", "session_title", "session_id", "id")) or "untitled"
    told = first("summary", "excerpt", "snippet", "preview", "text", "content", "transcript")
    # The first line is enough, without the mark of who said it.
    line = next((line for line in told.splitlines() if line.strip()), "")
    said = re.sub(r"^[-*\s]*(\[\w+\]\s*)?", "", one_line(line))
    return f"- **{name}**: {shorten(said, 160)}" if said else f"- **{name}**"
