"""`hermes chat`: chat with a model in the terminal or through a pipe.

An installed Hermes Agent opens instead, unless config.yaml or --builtin says otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.config.settings import Config
from hermes_store.errors import InvalidInput
from hermes_tui.cli.common import context as surroundings
from hermes_tui.cli.common import farewell, hermes_agent
from hermes_tui.cli.common.arguments import Parser
from hermes_tui.cli.common.builtin_chat import conversation_maker, demo_maker, uses_builtin
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.presentation.fit_text import plain

if TYPE_CHECKING:
    from hermes_tui.chat.streamed_reply import Delta
    from hermes_tui.chat.turn_loop import Conversation

TITLE_SECONDS = 5.0
"""How long a piped chat waits for a title after the answer."""


def describe(parser: argparse.ArgumentParser) -> None:
    parser.description = "Chat with a model. The conversation is stored like any other."
    parser.epilog = (
        "examples:\n  hermes chat --demo\n  echo 'why is the sky blue?' | hermes chat\n"
        "  hermes chat -c             resume the last session\n"
        "  hermes chat -r 'my project'\n\n"
        "config.yaml names the model (model.default) and the server (model.base_url); the key "
        "is read from\nthe environment. If a Hermes Agent is installed, it opens instead; "
        "--builtin opens this chat."
    )
    parser.add_argument("--builtin", action="store_true", help="open this chat, not the agent")
    parser.add_argument("--demo", action="store_true", help="use a scripted model; no key needed")
    parser.add_argument("--model", help="use this model instead of model.default")
    parser.add_argument("-q", "--query", help="send this, print the answer and exit")
    surroundings.add_options(parser, reports=False)


def run(arguments: Sequence[str]) -> int:
    """Open a new chat, or hand over to the agent."""
    parser = Parser("hermes chat")
    describe(parser)
    own, rest = parser.parse_known_args(list(arguments))
    context = surroundings.from_options(own)
    config = context.config()
    if not (own.builtin or own.demo or uses_builtin(config)):
        return hermes_agent.take_over(["chat", *_without_own(arguments)])
    if rest:
        raise InvalidInput(f"Unknown argument '{rest[0]}'. 'hermes chat --help' lists all options.")
    if own.model is not None:
        config = replace(config, model=replace(config.model, default=own.model))
    with _surroundings(own, context, config) as (place, maker):
        text = _said(own.query)
        if text is not None:
            return _pipe(maker, None, text, keeps=not own.demo)
        return _screen(place, config, None, maker, demo=own.demo)


def go_on(context: Context, config: Config, session_id: str) -> int:
    """Continue a session on a screen, or with piped input."""
    maker = conversation_maker(context.database, config, address=context.address)
    text = _said(None)
    if text is not None:
        return _pipe(maker, session_id, text)
    return _screen(context, config, session_id, maker)


def _without_own(arguments: Sequence[str]) -> list[str]:
    return [argument for argument in arguments if argument != "--builtin"]


def _said(query: str | None) -> str | None:
    """Return the message of `-q` or the pipe; None opens the screen."""
    if query is not None:
        return query
    if sys.stdin.isatty():
        if not sys.stdout.isatty() or not sys.stderr.isatty():
            raise InvalidInput("The chat needs a terminal. Pass a question with -q, or pipe it in.")
        return None
    text = sys.stdin.read().strip()
    if not text:
        raise InvalidInput("There is nothing to send. Pass a question with -q, or pipe it in.")
    return text


@contextmanager
def _surroundings(
    options: argparse.Namespace, context: Context, config: Config
) -> Iterator[tuple[Context, Callable[[str | None], Conversation]]]:
    """Yield the context and the conversation maker; a demo has its own of both."""
    if not options.demo:
        yield context, conversation_maker(context.database, config, address=context.address)
        return
    from hermes_tui.demo.sample import create

    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as folder:
        path = Path(folder) / "state.db"
        create(path, context.now)
        place = replace(context, home=Path(folder), database=path, address=None)
        yield place, demo_maker(path, config, options.model)


def _screen(
    context: Context,
    config: Config,
    session_id: str | None,
    make: Callable[[str | None], Conversation],
    *,
    demo: bool = False,
) -> int:
    from hermes_tui.cli.common import open_screen
    from hermes_tui.opening.start_options import State

    options = argparse.Namespace(
        source=None,
        workspace=None,
        limit=0,
        read_only=False,
        print_id=False,
        query="",
        demo=demo,
    )
    wanted = replace(
        open_screen.opening_for(options, context, config),
        open_chat=make,
        chat_first=True,
        state=State(session_id=session_id),
    )
    choice, code = open_screen.show(wanted, config)
    if choice is not None and not demo:
        farewell.say(context, choice)
    return code


class _Printing:
    """Prints an answer as it comes."""

    def piece(self, delta: Delta) -> None:
        from hermes_store.records.safe_text import clean

        sys.stdout.write(clean(delta.text))
        sys.stdout.flush()

    def saved(self, session_id: str) -> None:
        """Print nothing; a pipe has no use for it."""

    def looking_up(self, question: str) -> None:
        complain(f"searching earlier conversations for '{plain(question)}' …")


def _pipe(
    make: Callable[[str | None], Conversation],
    session_id: str | None,
    text: str,
    *,
    keeps: bool = True,
) -> int:
    conversation = make(session_id)
    try:
        conversation.say(text, _Printing(), lambda: False)
        print()
        sys.stdout.flush()
        conversation.wait_for_title(TITLE_SECONDS)
    finally:
        session_id = conversation.session_id
        conversation.end("cli_close")
        conversation.close()
        if session_id is not None and keeps:
            complain(f"session {session_id}; resume with: hermes -r {session_id}")
    return 0
