"""config.yaml as typed settings.

The file is shared with the agent: keys that are not ours are left alone. A wrong value of ours
is refused with its key path and line. Every setting carries its explanation, from which the
documentation is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Literal, get_type_hints

from hermes_store.config.paths import hermes_home
from hermes_store.config.yaml_reader import PARSER_TROUBLE, Reader, key_of, rules, setting
from hermes_store.errors import ConfigError

__all__ = ["AGENT_KEYS", "FILE_NAME", "Config", "key_of", "known_keys", "load_config", "parse"]

FILE_NAME = "config.yaml"
AGENT_KEYS = frozenset(
    f"compression.{name}" for name in ("protect_first_n", "target_ratio", "in_place")
) | frozenset(f"model.{name}" for name in ("api_key", "api_mode", "max_tokens", "provider"))
"""Names in our sections that only the agent reads; they are not misspelt."""


def known_keys() -> tuple[str, ...]:
    """Return the full names of all settings, such as sessions.auto_prune."""
    return tuple(
        f"{section}.{key_of(each)}"
        for section, kind in get_type_hints(Config).items()
        for each in fields(kind)
    )


@dataclass(frozen=True, slots=True)
class SessionsConfig:
    """How the store looks after itself."""

    auto_prune: bool = setting(False, "Delete old, ended sessions now and then.")
    retention_days: int = setting(
        90, "How many days after its last activity an ended session is kept.", least=1
    )
    vacuum_after_prune: bool = setting(True, "Give the freed space back to the disk afterwards.")
    min_interval_hours: int = setting(24, "How many hours lie between two clean-ups.")
    synchronous: str = setting(
        "full",
        "'full' keeps every committed message through a power failure; 'normal' writes faster "
        "and may lose the last moments then. Neither loses anything in a crash of the program.",
        choices=("full", "normal"),
    )

    @property
    def durability(self) -> Literal["FULL", "NORMAL"]:
        """The same as SQLite names it."""
        return "NORMAL" if self.synchronous == "normal" else "FULL"


@dataclass(frozen=True, slots=True)
class DisplayConfig:
    """What is shown when a session is resumed."""

    resume_display: str = setting(
        "full",
        "'full' shows a recap of the conversation, 'minimal' one line.",
        choices=("full", "minimal"),
    )
    resume_exchanges: int = setting(10, "How many exchanges a recap shows.")
    resume_max_user_chars: int = setting(300, "Where a recap cuts what you said.", least=1)
    resume_max_assistant_chars: int = setting(200, "Where a recap cuts an answer.", least=1)
    resume_max_assistant_lines: int = setting(3, "How many lines of an answer it shows.", least=1)
    resume_skip_tool_only: bool = setting(
        False, "Leave answers out of a recap that only call tools."
    )


@dataclass(frozen=True, slots=True)
class ResumeConfig:
    """What takes a session over when you resume it."""

    with_: str = setting(
        "auto",
        "'auto' takes the Hermes Agent that is installed, and otherwise the built-in chat; "
        "'agent' and 'builtin' insist on one of them.",
        choices=("auto", "agent", "builtin"),
        name="with",
    )
    command: tuple[str, ...] = setting(
        (),
        "A command of your own instead, as a list; {session_id} stands for the session, "
        "for example [hermes, --resume, '{session_id}'].",
    )


@dataclass(frozen=True, slots=True)
class BrowseConfig:
    """How the browser looks and what its keys do."""

    theme: str = setting(
        "auto",
        "A theme by name, such as hermes-dark, hermes-light, nord or ansi-dark; 'auto' is "
        "hermes-dark, and the terminal's own colours where NO_COLOR is set.",
    )
    pane: str = setting(
        "recap",
        "What the right side shows first.",
        choices=("recap", "transcript", "lineage", "info"),
    )
    sort: str = setting(
        "activity",
        "The order of the list.",
        choices=("activity", "start", "messages", "title"),
    )
    group: str = setting(
        "none", "What the list has headings for.", choices=("none", "date", "source", "model")
    )
    show: tuple[str, ...] = setting(
        (), "What is not hidden: any of cron, sub-agents, archived and empty."
    )
    mouse: bool = setting(True, "Whether the mouse works; without it the terminal selects text.")
    keys: Mapping[str, str] = setting(
        {},
        "Other keys for actions, such as {delete: 'x,delete'}; the help screen (?) names all "
        "actions.",
    )


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """When a conversation on a messaging platform begins anew."""

    mode: str = setting(
        "both",
        "'idle' after a time without messages, 'daily' at an hour of the day, 'both' at "
        "whichever comes first, 'none' never.",
        choices=("both", "idle", "daily", "none"),
    )
    idle_minutes: int = setting(1440, "How long nothing is said before 'idle'.", least=1)
    at_hour: int = setting(4, "The hour of 'daily', 0 to 23.", most=23)


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """How bots for messaging platforms keep their conversations apart, see gateway.md."""

    group_sessions_per_user: bool = setting(
        True, "Everybody in a group or channel has a conversation of their own.", also_above=True
    )
    thread_sessions_per_user: bool = setting(
        False, "The same inside a thread, which otherwise all in it share.", also_above=True
    )
    session_reset: ResetPolicy = field(
        default_factory=ResetPolicy,
        metadata=rules("When conversations begin anew.", also_above=True),
    )
    reset_by_type: Mapping[str, ResetPolicy] = setting(
        {},
        "Other policies for kinds of chat, such as {group: {mode: daily, at_hour: 6}}.",
        also_above=True,
    )
    reset_by_platform: Mapping[str, ResetPolicy] = setting(
        {},
        "Other policies for platforms, such as {telegram: {mode: none}}; they count before "
        "those for kinds of chat.",
        also_above=True,
    )
    timezone: str = setting(
        "",
        "The zone of at_hour, such as Europe/Berlin; without one it is the machine's own.",
        also_above=True,
    )
    before_reset_seconds: int = setting(
        30, "How long a bot may take to save what it learned before a conversation begins anew."
    )


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The model that the built-in chat talks to, on any server with the OpenAI protocol."""

    SHORT: ClassVar[str] = "default"

    default: str = setting(
        "",
        "The model's name on its server, such as anthropic/claude-sonnet-4.5. May also be written "
        "as 'model: NAME'.",
        shared=True,
    )
    base_url: str = setting(
        "",
        "The server, such as http://localhost:11434/v1. Without one it is OpenRouter, or OpenAI "
        "if there is only a key for that.",
        shared=True,
    )
    auxiliary: str = setting(
        "",
        "A fast model for titles and summaries on the same server; without one it is the default.",
        shared=True,
    )
    key_env: str = setting(
        "",
        "The environment variable that holds the key. Otherwise it is HERMES_API_KEY, "
        "OPENROUTER_API_KEY (only for OpenRouter) or OPENAI_API_KEY (for all others), the first "
        "that is set there or in the .env file of the home folder. Servers in the local network "
        "need none.",
        shared=True,
    )
    timeout: int = setting(
        120, "How many seconds a server may be silent.", least=1, most=86_400, shared=True
    )
    retries: int = setting(
        3,
        "How often a request is sent again when a server is overloaded or cannot be reached, as "
        "long as nothing of the answer came and the timeout is not over.",
        most=20,
        shared=True,
    )
    context_length: int = setting(
        128_000, "How many tokens the model can take in.", least=1_000, shared=True
    )


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """When the built-in chat puts a summary in the place of what was said long ago."""

    enabled: bool = setting(
        True, "Whether that happens by itself; /compress always does it.", shared=True
    )
    threshold: float = setting(
        0.5,
        "How much of model.context_length is used before it happens, as a fraction.",
        least=0.01,
        most=1,
        shared=True,
    )
    protect_last_n: int = setting(
        20, "How many of the last messages stay as they are.", shared=True
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of this project, by section."""

    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    display: DisplayConfig = field(default_factory=DisplayConfig)
    resume: ResumeConfig = field(default_factory=ResumeConfig)
    browse: BrowseConfig = field(default_factory=BrowseConfig)
    gateway: GatewayConfig = field(default_factory=GatewayConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    compression: CompressionConfig = field(default_factory=CompressionConfig)


def load_config(home: Path | None = None) -> Config:
    """Read the settings of a home folder; without a file all have their defaults."""
    path = (home or hermes_home()) / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}. Check its rights and encoding."
        ) from error
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from the text of a config.yaml."""
    import yaml

    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, *PARSER_TROUBLE) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be understood"
        raise ConfigError(f"{path}{where} is not valid YAML: {problem}. Mend that line.") from error
    if document is None:
        return Config()
    if not isinstance(document, yaml.MappingNode):
        raise ConfigError(f"{path} must hold sections such as 'sessions:', not a single value.")
    reader = Reader(path)
    return Config(
        **{
            name: reader.section(name, kind, reader.child(document, name), document)
            for name, kind in get_type_hints(Config).items()
        }
    )
