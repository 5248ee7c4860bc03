"""config.yaml as typed settings.

The file is shared with the agent: keys that are not ours are ignored. An invalid value of ours
is rejected with its key path and line. The explanations become docs/configuration.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Literal, get_type_hints

from hermes_store.config.paths import CONFIG_NAME, MOST_CONFIG_BYTES, hermes_home
from hermes_store.config.yaml_reader import PARSER_TROUBLE, Reader, key_of, rules, setting
from hermes_store.errors import ConfigError

__all__ = ["AGENT_KEYS", "Config", "key_of", "known_keys", "load_config", "parse"]

AGENT_KEYS = frozenset(
    f"compression.{name}" for name in ("protect_first_n", "target_ratio", "in_place")
) | frozenset(f"model.{name}" for name in ("api_key", "api_mode", "max_tokens", "provider"))
AGENT_KEYS |= frozenset(
    f"sessions.{name}"
    for name in ("auto_archive", "auto_archive_days", "state", "state_backend", "postgres_dsn")
)
"""Keys in our sections that only the agent reads; they are not misspelled."""


def known_keys() -> tuple[str, ...]:
    """Return the full names of all settings, such as sessions.auto_prune."""
    return tuple(
        f"{section}.{key_of(each)}"
        for section, kind in get_type_hints(Config).items()
        for each in fields(kind)
    )


@dataclass(frozen=True, slots=True)
class SessionsConfig:
    """Automatic pruning, and how safely messages are written."""

    auto_prune: bool = setting(
        False,
        "Move old, ended conversations to trash automatically. Hermes Agent reads this, too, and "
        "deletes them without a trash.",
    )
    retention_days: int = setting(
        90, "Days to keep an ended session after its last activity.", least=1
    )
    vacuum_after_prune: bool = setting(True, "Return the freed space to the disk after pruning.")
    min_interval_hours: int = setting(24, "Minimum hours between two automatic prunes.")
    min_vacuum_interval_days: int = setting(
        30, "Minimum days between two returns of freed space to the disk."
    )
    synchronous: str = setting(
        "full",
        "'full' keeps every committed message through a power failure; 'normal' is faster but may "
        "lose the last moments before one. Neither loses anything if the program crashes.",
        choices=("full", "normal"),
    )

    @property
    def durability(self) -> Literal["FULL", "NORMAL"]:
        """The value of `synchronous` under SQLite's name."""
        return "NORMAL" if self.synchronous == "normal" else "FULL"


@dataclass(frozen=True, slots=True)
class DisplayConfig:
    """What you see when you resume a session."""

    resume_display: str = setting(
        "full",
        "'full' shows a recap of the conversation, 'minimal' a single line.",
        choices=("full", "minimal"),
    )
    resume_exchanges: int = setting(10, "Number of exchanges in recaps.")
    resume_max_user_chars: int = setting(300, "Maximum length of your messages in recaps.", least=1)
    resume_max_assistant_chars: int = setting(200, "Maximum length of answers in recaps.", least=1)
    resume_max_assistant_lines: int = setting(3, "Maximum lines of answers in recaps.", least=1)
    resume_skip_tool_only: bool = setting(
        False, "Leave answers that only call tools out of recaps."
    )


@dataclass(frozen=True, slots=True)
class ResumeConfig:
    """Which program continues a session when you resume it."""

    with_: str = setting(
        "auto",
        "'auto' uses Hermes Agent if it is installed and the built-in chat otherwise; "
        "'agent' and 'builtin' require one of them.",
        choices=("auto", "agent", "builtin"),
        name="with",
    )
    command: tuple[str, ...] = setting(
        (),
        "A command to run instead, as a list; {session_id} stands for the session's id, "
        "for example [hermes, --resume, '{session_id}'].",
    )


@dataclass(frozen=True, slots=True)
class BrowseConfig:
    """Appearance and keys of the browser."""

    theme: str = setting(
        "auto",
        "Name of a theme, such as hermes-dark, hermes-light, nord or ansi-dark; 'auto' is "
        "hermes-dark, or the terminal's own colors if NO_COLOR is set.",
    )
    pane: str = setting(
        "transcript",
        "The view that the right side shows first.",
        choices=("transcript", "recap", "lineage", "info"),
    )
    sort: str = setting(
        "activity",
        "Sort order of the list.",
        choices=("activity", "start", "messages", "title", "cost", "tokens"),
    )
    group: str = setting(
        "date",
        "How the list is grouped; by date only if it is sorted by time.",
        choices=("none", "date", "source", "model", "workspace", "host"),
    )
    scope: str = setting(
        "here",
        "'here' shows only the workspace in which the browser is opened, if it has conversations; "
        "'all' shows all workspaces.",
        choices=("here", "all"),
    )
    show: tuple[str, ...] = setting(
        (),
        "What to show that is hidden by default: cron, one-shot, kanban, sub-agents, archived, "
        "unlisted, empty.",
    )
    mouse: bool = setting(True, "Enable the mouse; turn it off to let the terminal select text.")
    keys: Mapping[str, str] = setting(
        {},
        "Custom keys for actions, such as {delete: 'x,delete'}; the help screen (?) lists all "
        "actions.",
    )


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """When a conversation on a messaging platform is reset."""

    mode: str = setting(
        "both",
        "'idle' resets after a time without messages, 'daily' at an hour of the day, 'both' at "
        "whichever comes first, 'none' never.",
        choices=("both", "idle", "daily", "none"),
    )
    idle_minutes: int = setting(1440, "Minutes without messages before an 'idle' reset.", least=1)
    at_hour: int = setting(4, "Hour of the 'daily' reset, 0 to 23.", most=23)


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """How bots on messaging platforms separate and reset conversations; see gateway.md."""

    group_sessions_per_user: bool = setting(
        True, "Give each user in a group or channel their own conversation.", also_above=True
    )
    thread_sessions_per_user: bool = setting(
        False, "Do the same in threads, which all their users share otherwise.", also_above=True
    )
    session_reset: ResetPolicy = field(
        default_factory=ResetPolicy,
        metadata=rules("When conversations are reset.", also_above=True),
    )
    reset_by_type: Mapping[str, ResetPolicy] = setting(
        {},
        "Policies for types of chat, such as {group: {mode: daily, at_hour: 6}}.",
        also_above=True,
    )
    reset_by_platform: Mapping[str, ResetPolicy] = setting(
        {},
        "Policies for platforms, such as {telegram: {mode: none}}; they take precedence over "
        "those for types of chat.",
        also_above=True,
    )
    timezone: str = setting(
        "",
        "Time zone of at_hour, such as Europe/Berlin; by default the machine's own.",
        also_above=True,
    )
    before_reset_seconds: int = setting(
        30, "Seconds a bot has to save what it learned before a conversation is reset."
    )


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The model behind the built-in chat, on any server that speaks the OpenAI protocol."""

    SHORT: ClassVar[str] = "default"

    default: str = setting(
        "",
        "Name of the model on its server, such as anthropic/claude-sonnet-4.5. Can also be written "
        "as 'model: NAME'.",
        shared=True,
    )
    base_url: str = setting(
        "",
        "URL of the server, such as http://localhost:11434/v1. The default is OpenRouter, or "
        "OpenAI if you only have a key for that.",
        shared=True,
    )
    auxiliary: str = setting(
        "",
        "A fast model on the same server for titles and summaries; by default model.default.",
        shared=True,
    )
    key_env: str = setting(
        "",
        "Environment variable that holds the API key. By default HERMES_API_KEY, "
        "OPENROUTER_API_KEY (only for OpenRouter) or OPENAI_API_KEY (for all others), the first "
        "that is set in the environment or in the .env file of the home folder. Servers on the "
        "local network need none.",
        shared=True,
    )
    timeout: int = setting(
        120, "Seconds to wait for a silent server.", least=1, most=86_400, shared=True
    )
    retries: int = setting(
        3,
        "How often to retry a request when the server is overloaded or unreachable, as long as "
        "no part of the answer has arrived and the timeout has not expired.",
        most=20,
        shared=True,
    )
    context_length: int = setting(
        128_000, "Size of the model's context window in tokens.", least=1_000, shared=True
    )


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """When the built-in chat replaces older messages with a summary."""

    enabled: bool = setting(
        True, "Compress automatically; /compress works either way.", shared=True
    )
    threshold: float = setting(
        0.5,
        "Compress when this fraction of model.context_length is used.",
        least=0.01,
        most=1,
        shared=True,
    )
    protect_last_n: int = setting(20, "Number of recent messages to keep unchanged.", shared=True)


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """Where the sessions are."""

    url: str = setting(
        "",
        "Address of a PostgreSQL server that holds the sessions, such as "
        "postgresql://me@db.example/hermes; empty for the file state.db. Leave the password out: "
        "libpq reads it from PGPASSWORD, ~/.pgpass or a service file.",
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
    database: DatabaseConfig = field(default_factory=DatabaseConfig)


def load_config(home: Path | None = None) -> Config:
    """Read the settings of a home folder; without a file, all have their defaults."""
    path = (home or hermes_home()) / CONFIG_NAME
    try:
        with path.open("rb") as file:
            content = file.read(MOST_CONFIG_BYTES + 1)
        text = None if len(content) > MOST_CONFIG_BYTES else content.decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}. Check its permissions and encoding."
        ) from error
    if text is None:
        raise ConfigError(
            f"{path} is larger than {MOST_CONFIG_BYTES:,} bytes, so it can hardly be settings. "
            "Check what is in it."
        )
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from the text of a config.yaml; `path` is for error messages."""
    import yaml

    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, *PARSER_TROUBLE) as error:
        raise ConfigError(f"{path}{_yaml_trouble(text, error)}") from error
    if document is None:
        return Config()
    if not isinstance(document, yaml.MappingNode):
        raise ConfigError(f"{path} must contain sections such as 'sessions:', not a single value.")
    reader = Reader(path)
    return Config(
        **{
            name: reader.section(name, kind, reader.child(document, name), document)
            for name, kind in get_type_hints(Config).items()
        }
    )


def _yaml_trouble(text: str, error: Exception) -> str:
    """Return the rest of a sentence that begins with the path: where and why it is not YAML."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        return f", line {mark.line + 1} is not valid YAML: {problem}. Fix that line."
    position = getattr(error, "position", None)
    if position is not None:
        line = text.count("\n", 0, position) + 1
        return f", line {line} is not valid YAML: it has a control character. Remove it."
    if isinstance(error, RecursionError):
        return " is not valid YAML: brackets are nested too deeply. Remove some of them."
    return " is not valid YAML: a \\U escape in double quotes stands for no character. Correct it."
