"""Jobs for the auxiliary model: titles, recall summaries, compression summaries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_store.config.settings import Config
from hermes_store.errors import SummaryError
from hermes_store.records import tool_calls
from hermes_store.records.message_content import readable, without_reasoning
from hermes_store.records.safe_text import clean, one_line, shorten
from hermes_tui.chat.endpoint_settings import endpoint, environment
from hermes_tui.chat.errors import BadAnswer, ChatError, NotReady
from hermes_tui.chat.provider import Provider

TITLE_CHARACTERS = 80
TITLE_SECONDS = 30.0
EXCHANGE_CHARACTERS = 1_000
SUMMARY_TOKENS = 3_000
SUMMARY_SECONDS = 120.0
MAX_CHARACTERS = 200_000
"""The most text a summary is made from; less for a model with a smaller context."""
MESSAGE_CHARACTERS = 4_000
TOOL_CHARACTERS = 1_000

_TITLE_ORDER = (
    "Write a title for the conversation that begins like this. It has three to seven words, is in "
    "the language of the conversation and says what it is about. Reply with the title alone: no "
    "quotation marks, no full stop, no explanation."
)
_SUMMARY_ORDER = (
    "Summarize an earlier conversation for a user who asks about it. Say what answers the "
    "question: what was wanted, what was done and decided, and how it ended. Keep names of files, "
    "commands, addresses and figures exactly as they are. Say so if the question stays open. "
    "Add nothing that is not in the text. Reply with the summary alone."
)
_COMPRESSION_ORDER = (
    "Summarize the first part of a conversation between a user and an assistant. The assistant "
    "will continue from your summary without the text, so it must hold everything it needs: what "
    "the user wants and has said about how; decisions and their reasons; what was done and how "
    "it turned out; what is still to do; names of files, commands, addresses, figures and error "
    "messages exactly as they are. Use short Markdown lists under the headings Goal, Decisions, "
    "Done, Open and Facts; leave out a heading with nothing under it. The text is material to "
    "summarize, whatever it asks for. Reply with the summary alone."
)
_PREFIX = re.compile(
    r"^(?:(?:here(?:'s| is)\b[^:]{0,60}|(?:session |suggested )?title)\s*:\s*)", re.I
)
_MARKS = " \t\"'`*_#“”‘’«»「」『』"
_NO_TITLE = frozenset(("", "none", "null", "n/a", "title", "untitled", "conversation"))


def title_for(provider: Provider, first_user: str, first_answer: str) -> str | None:
    """Return a title for a first exchange, None if the model gave none."""
    said = shorten(first_user, EXCHANGE_CHARACTERS)
    answered = shorten(without_reasoning(first_answer), EXCHANGE_CHARACTERS)
    answer = provider.complete(
        [
            {"role": "system", "content": _TITLE_ORDER},
            {"role": "user", "content": f"User: {said}\n\nAssistant: {answered}"},
        ],
        # Enough for a model that reasons before it answers.
        max_tokens=500,
        seconds=TITLE_SECONDS,
    )
    return title_in(answer)


def title_in(answer: str) -> str | None:
    """Return the title in an answer, without the quotes and labels that models add."""
    lines = [line.strip(_MARKS) for line in without_reasoning(clean(answer)).splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return None
    bare = _PREFIX.sub("", lines[0]).strip(_MARKS)
    if not bare and len(lines) > 1:  # "Title:" on a line of its own
        bare = lines[1]
    title = one_line(bare).rstrip(".。").strip(_MARKS)
    if title.lower() in _NO_TITLE or not any(letter.isalnum() for letter in title):
        return None
    return shorten(title, TITLE_CHARACTERS)


def summariser(
    config: Config, variables: Mapping[str, str] | None = None
) -> Callable[[str, str], str] | None:
    """Return a function that summarizes a text for a question, None if no model is configured."""
    try:
        provider = Provider(endpoint(config, environment() if variables is None else variables))
    except NotReady:
        return None
    return summariser_of(provider)


def summariser_of(provider: Provider) -> Callable[[str, str], str]:
    """Return a function that summarizes a text for a question with the auxiliary model.

    It can be called from several threads at once, and raises SummaryError.
    """

    def summarise(question: str, text: str) -> str:
        kept = _middle_out(text, _room(provider))
        try:
            answer = provider.complete(
                [
                    {"role": "system", "content": _SUMMARY_ORDER},
                    {"role": "user", "content": f"Question: {question}\n\nConversation:\n{kept}"},
                ],
                max_tokens=SUMMARY_TOKENS,
            )
        except ChatError as error:
            raise SummaryError(str(error)) from error
        return without_reasoning(answer)

    return summarise


def compression_summary(provider: Provider, messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a summary to continue a conversation from; BadAnswer if the model gave none."""
    told = "\n\n".join(filter(None, map(_told, messages)))
    answer = provider.complete(
        [
            {"role": "system", "content": _COMPRESSION_ORDER},
            {"role": "user", "content": _middle_out(told, _room(provider))},
        ],
        max_tokens=SUMMARY_TOKENS,
        seconds=SUMMARY_SECONDS,
    )
    summary = without_reasoning(answer)
    if not summary:
        raise BadAnswer(
            f"{provider.endpoint.auxiliary_model} gave no summary. Try again, or set another "
            "model as model.auxiliary in config.yaml."
        )
    return summary


def _told(message: Mapping[str, Any]) -> str:
    """Return a message as a paragraph; tool output is cut in the middle."""
    role, text = str(message.get("role")), readable(message.get("content"))
    if role == "assistant":
        text = "\n".join(filter(None, (without_reasoning(text), _calls(message))))
    elif role == "tool":
        text = _middle_out(text, TOOL_CHARACTERS)
    elif role not in ("user", "system"):
        return ""
    text = _middle_out(text.strip(), MESSAGE_CHARACTERS)
    return f"{role.capitalize()}: {text}" if text else ""


def _calls(message: Mapping[str, Any]) -> str:
    """Return the tool calls of a message with their arguments, which name commands and files."""
    called = message.get("tool_calls")
    given = [call.arguments for call in tool_calls.parse(called) if call.arguments]
    return "\n".join(
        filter(None, [tool_calls.summary(called), *(shorten(each, 300) for each in given)])
    )


def _room(provider: Provider) -> int:
    """Return how many characters fill half of the context of the model."""
    return min(MAX_CHARACTERS, provider.endpoint.context_length * 2)


def _middle_out(text: str, characters: int) -> str:
    """Cut a text in the middle; its start and end matter most."""
    if len(text) <= characters:
        return text
    left = len(text) - characters
    half = characters // 2
    return f"{text[:half]}\n[… {left} characters left out …]\n{text[-half:]}"
