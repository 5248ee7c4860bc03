"""Generates sample sessions: the same for the same seed, one conversation in memory at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from bench import sample_phrases, sample_texts
from bench.sample_phrases import Topic
from hermes_store.engines.base import Database, Transaction
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.sources import KNOWN
from hermes_store.sessions import messages, model_usage, session_rows, titles

DAY = 86_400.0
YEAR = 365 * DAY
BATCH_MESSAGES = 400

_WEIGHTS = {"cli": 30, "telegram": 12, "discord": 8, "cron": 8, "slack": 4, "whatsapp": 4}


@dataclass(frozen=True, slots=True)
class SampleSession:
    """A session to write, with its messages in order."""

    id: str
    source: str
    started_at: float
    model: str
    messages: tuple[dict[str, Any], ...]
    title: str | None = None
    parent_id: str | None = None
    edge: Edge = Edge.ROOT
    ended_at: float | None = None
    end_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)


class _Maker:
    """Draws everything from one random generator, so that the seed determines the result."""

    def __init__(self, seed: int, now: float, exchanges: float) -> None:
        self._random = random.Random(seed)
        self._now = now
        self._exchanges = exchanges
        self._serial = count()
        self._titles: set[str] = set()

    # -- words -----------------------------------------------------------------------------

    def _fill(self, template: str) -> str:
        draw = self._random
        word = draw.choice(sample_phrases.WORDS)
        service = draw.choice(sample_phrases.SERVICES)
        return template.format(
            path=f"{draw.choice(sample_phrases.FOLDERS)}/{word}{draw.choice(sample_phrases.SUFFIXES)}",
            url=f"https://docs.example.com/{service}/{word}?v={draw.randint(1, 9)}"
            f"#l{draw.randint(1, 400)}",
            mail=f"{draw.choice(('ops', 'maria', 'j.doe'))}@{service}.example.com",
            name=draw.choice(sample_phrases.NAMES),
            word=word,
            # Small enough for seconds, gigabytes and dollars; `lines` for what is larger.
            number=(drawn := draw.randint(2, 4800)) % 89 + 10,
            lines=drawn % 2_900 + 1_100,
            hash=f"{draw.getrandbits(28):07x}",
            service=service,
            month=draw.randint(1, 12),
            day=draw.randint(1, 28),
            hour=draw.randint(0, 23),
            minute=draw.randint(0, 59),
        )

    def _topic(self) -> Topic:
        draw = self._random.random()
        if draw < 0.07:
            return self._random.choice(sample_phrases.CHINESE)
        if draw < 0.10:
            return self._random.choice(sample_phrases.JAPANESE)
        if draw < 0.13:
            return self._random.choice(sample_phrases.KOREAN)
        return self._random.choice(sample_phrases.ENGLISH)

    def _prose(self, sentences: int) -> str:
        return " ".join(self._sentence() for _ in range(sentences))

    def _sentence(self) -> str:
        draw = self._random
        drawn = [draw.random() for _ in range(draw.randint(5, 18))]
        words = sample_texts.clauses(drawn)
        if draw.random() < 0.4:
            words += ["in", f"`{self._identifier()}`"]
        text = " ".join(words)
        return f"{text[0].upper()}{text[1:]}."

    def _identifier(self) -> str:
        """Return one of tens of thousands of made-up identifiers."""
        draw = self._random
        one, two = draw.choice(sample_phrases.COMMON), draw.choice(sample_phrases.WORDS)
        third = draw.choice(sample_phrases.COMMON)
        return draw.choice((f"{one}_{two}", f"{two}{third.title()}{one.title()}", f"{two}-{third}"))

    def _output(self, tool: str) -> str:
        draw = self._random
        if draw.random() < 0.3:
            said = self._prose(draw.choice((4, 20, 60))).split(". ")
            lines = [f"# {each}" for each in said] if tool in ("patch", "write_file") else said
        else:
            number = draw.choice((3, 8, 30, 60, 140, 300 if draw.random() < 0.3 else 60))
            lines = [self._fill(draw.choice(sample_phrases.LOG_LINES)) for _ in range(number)]
        return sample_texts.result(tool, lines)

    # -- messages --------------------------------------------------------------------------

    def _exchange(self, topic: Topic, moment: float) -> Iterator[dict[str, Any]]:
        """Yield one question, its tool calls and its answer, each a little later."""
        draw = self._random
        ask: Any = self._fill(draw.choice(topic.asks))
        if draw.random() < 0.03:
            picture = {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="},
            }
            ask = [{"type": "text", "text": ask}, picture]
        yield {"role": "user", "content": ask, "timestamp": moment}
        moment += draw.uniform(1, 6)
        if draw.random() < 0.5:
            yield from self._tools(moment)
            moment += 9
        yield {
            "role": "assistant",
            "content": self._answer(topic),
            "timestamp": moment,
            "finish_reason": "stop",
            "token_count": draw.randint(40, 900),
            "reasoning": "The user wants a short answer." if draw.random() < 0.2 else None,
        }

    def _answer(self, topic: Topic) -> str:
        answer = self._fill(self._random.choice(topic.answers))
        if self._random.random() < 0.5:
            return answer
        return f"{answer}\n\n{self._prose(self._random.randint(1, 6))}"

    def _tools(self, moment: float) -> Iterator[dict[str, Any]]:
        draw = self._random
        calls = []
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            name = draw.choice(sample_phrases.TOOLS)
            argument = self._fill(sample_phrases.ARGUMENTS[name])
            calls.append(
                {
                    "id": f"call_{draw.getrandbits(40):010x}",
                    "type": "function",
                    "function": {"name": name, "arguments": argument},
                }
            )
        yield {
            "role": "assistant",
            "content": "",
            "tool_calls": calls,
            "timestamp": moment,
            "finish_reason": "tool_calls",
        }
        for place, call in enumerate(calls):
            yield {
                "role": "tool",
                "content": self._output(call["function"]["name"]),  # type: ignore[index]
                "tool_name": call["function"]["name"],  # type: ignore[index]
                "tool_call_id": call["id"],
                "timestamp": moment + place + 1,
            }

    def _talk(self, topic: Topic, start: float, scale: float = 1.0) -> tuple[dict[str, Any], ...]:
        rounds = max(1, round(self._random.expovariate(1 / (self._exchanges * scale))))
        said: list[dict[str, Any]] = []
        moment = start + 1
        for _ in range(rounds):
            said += self._exchange(topic, moment)
            later = said[-1]["timestamp"] + self._random.uniform(5, 400)
            moment = later
        return tuple(said)

    # -- sessions --------------------------------------------------------------------------

    def _id(self, moment: float) -> str:
        stamp = session_rows.new_session_id(moment)[:16]
        return f"{stamp}{self._random.getrandbits(32):08x}"

    def _session(
        self, source: str, start: float, said: tuple[dict[str, Any], ...], **more: Any
    ) -> SampleSession:
        draw = self._random
        inputs, outputs = draw.randint(400, 90_000), draw.randint(100, 9_000)
        return SampleSession(
            id=self._id(start),
            source=source,
            started_at=start,
            model=draw.choice(sample_phrases.MODELS),
            messages=said,
            usage={
                "input_tokens": inputs,
                "output_tokens": outputs,
                "api_call_count": max(1, len(said) // 2),
                "estimated_cost_usd": round(inputs * 3e-6 + outputs * 15e-6, 6),
            },
            **more,
        )

    def conversation(self, number: int) -> Iterator[SampleSession]:
        """Yield the sessions of one conversation, parents before children."""
        draw = self._random
        names = list(KNOWN)
        if number < len(names):
            source = names[number]
        else:
            source = draw.choices(names, [_WEIGHTS.get(name, 1) for name in names])[0]
        topic = self._topic()
        # Squaring the draw puts most conversations into the last weeks, as with real users.
        start = self._now - 60 - draw.random() ** 2 * YEAR
        title = self._title(topic) if draw.random() < 0.6 else None
        # Two early ones are always chains, so that even a small sample has one.
        segments = draw.randint(2, 6) if number in (0, 7) or draw.random() < 0.08 else 1
        yield from _in_the_past(
            list(self._chain(source, topic, start, title, segments, number)), self._now
        )

    def _title(self, topic: Topic) -> str:
        """Return a title that no other session has; a repeated one names its ticket."""
        number = next(self._serial)
        wanted = self._fill(topic.title)
        if wanted not in self._titles:
            self._titles.add(wanted)
            return wanted
        return f"{wanted}, ticket {number + 100}"

    def _chain(
        self, source: str, topic: Topic, start: float, title: str | None, segments: int, number: int
    ) -> Iterator[SampleSession]:
        draw = self._random
        parent: str | None = None
        for place in range(1, segments + 1):
            said = self._talk(topic, start)
            end = said[-1]["timestamp"] + 1
            last = place == segments
            branches = last and (number == 3 or draw.random() < 0.04)
            reason = (
                "compression"
                if not last
                else "branched"
                if branches
                else draw.choice(sample_phrases.ENDINGS)
            )
            live = last and not branches and end > self._now - DAY and draw.random() < 0.5
            session = self._session(
                source,
                start,
                said,
                title=titles.numbered(title, place) if title else None,
                parent_id=parent,
                edge=Edge.COMPRESSION if parent else Edge.ROOT,
                ended_at=None if live else end,
                end_reason=None if live else reason,
            )
            yield session
            if number == 5 or draw.random() < 0.06:
                yield self._agent(session, topic)
            if branches:
                yield self._branch(session, topic, end)
            parent, start = session.id, end + draw.uniform(1, 600)

    def _agent(self, parent: SampleSession, topic: Topic) -> SampleSession:
        start = parent.started_at + 0.5
        said = self._talk(topic, start, scale=0.3)
        return self._session(
            parent.source, start, said, parent_id=parent.id, edge=Edge.AGENT,
            ended_at=said[-1]["timestamp"], end_reason="user_exit",
        )  # fmt: skip

    def _branch(self, parent: SampleSession, topic: Topic, end: float) -> SampleSession:
        said = self._talk(topic, end + 5, scale=0.5)
        return self._session(
            parent.source, end + 5, said, parent_id=parent.id, edge=Edge.BRANCH,
            title=self._title(topic), ended_at=said[-1]["timestamp"], end_reason="user_exit",
        )  # fmt: skip


def _in_the_past(made: list[SampleSession], now: float) -> Iterator[SampleSession]:
    """Yield the sessions of a conversation, moved back so far that it is over by now."""
    ends = max(each.ended_at or each.messages[-1]["timestamp"] for each in made)
    back = max(0.0, ends - (now - 60))
    ids: dict[str, str] = {}
    for each in made:
        start = each.started_at - back
        ids[each.id] = f"{session_rows.new_session_id(start)[:16]}{each.id[16:]}"
        yield replace(
            each,
            id=ids[each.id],
            started_at=start,
            parent_id=ids[each.parent_id] if each.parent_id else None,
            ended_at=each.ended_at - back if each.ended_at else None,
            messages=tuple({**m, "timestamp": m["timestamp"] - back} for m in each.messages),
        )


def sample_sessions(
    number: int, *, now: float, seed: int = 1, exchanges: float = 4.0
) -> Iterator[SampleSession]:
    """Yield about `number` sessions (a conversation is never cut), parents before children.

    `exchanges` is the mean number of questions in a session; `now` is the present.
    """
    maker = _Maker(seed, now, exchanges)
    made = 0
    for place in count():
        if made >= number:
            return
        for session in maker.conversation(place):
            made += 1
            yield session


def create(path: Path, number: int, *, now: float, seed: int = 1, exchanges: float = 4.0) -> None:
    """Create a database of sample sessions."""
    database = SqliteDatabase(path)
    try:
        fill(database, number, now=now, seed=seed, exchanges=exchanges)
    finally:
        database.close()


def fill(
    db: Database,
    number: int,
    *,
    now: float,
    seed: int = 1,
    exchanges: float = 4.0,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write sample sessions to a database in batches of messages; return how many sessions."""
    written = 0
    batch: list[SampleSession] = []
    waiting = 0
    for session in sample_sessions(number, now=now, seed=seed, exchanges=exchanges):
        batch.append(session)
        waiting += len(session.messages)
        if waiting >= BATCH_MESSAGES:
            written += _write(db, batch)
            batch, waiting = [], 0
            if progress is not None:
                progress(min(written, number), number)
    return written + _write(db, batch)


def _write(db: Database, batch: list[SampleSession]) -> int:
    with db.write() as tx:
        for session in batch:
            _write_one(tx, session)
    return len(batch)


def _write_one(tx: Transaction, session: SampleSession) -> None:
    session_rows.create(
        tx,
        session.id,
        session.source,
        model=session.model,
        parent_session_id=session.parent_id,
        edge=session.edge,
        started_at=session.started_at,
    )
    for message in session.messages:
        messages.append(tx, session.id, message, message["timestamp"])
    model_usage.add(tx, session.id, session.usage)
    if session.title:
        titles.assign(tx, session.id, session.title)
    if session.ended_at is not None:
        session_rows.end(tx, session.id, str(session.end_reason), session.ended_at)
