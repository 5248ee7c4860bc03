"""The platforms a conversation can come from, with their display names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Source:
    """A platform: the name stored in the database, a label, and a form for narrow columns."""

    name: str
    label: str
    short: str


_SOURCES = (
    Source("cli", "Terminal", "cli"),
    Source("telegram", "Telegram", "tele"),
    Source("discord", "Discord", "disc"),
    Source("slack", "Slack", "slack"),
    Source("whatsapp", "WhatsApp", "whats"),
    Source("signal", "Signal", "signl"),
    Source("matrix", "Matrix", "matrx"),
    Source("mattermost", "Mattermost", "matte"),
    Source("email", "E-mail", "email"),
    Source("sms", "SMS", "sms"),
    Source("dingtalk", "DingTalk", "ding"),
    Source("feishu", "Feishu / Lark", "feish"),
    Source("wecom", "WeCom", "wecom"),
    Source("weixin", "Weixin", "weixn"),
    Source("bluebubbles", "iMessage", "imsg"),
    Source("qqbot", "QQ", "qq"),
    Source("homeassistant", "Home Assistant", "home"),
    Source("webhook", "Webhook", "hook"),
    Source("api-server", "API server", "api"),
    Source("acp", "Editor (ACP)", "acp"),
    Source("cron", "Scheduled job", "cron"),
    Source("batch", "Batch run", "batch"),
)

KNOWN: dict[str, Source] = {source.name: source for source in _SOURCES}


def known_name(text: str | None) -> str | None:
    """Return the stored name of a source that the user typed: its name, label or short form."""
    if text is None:
        return None
    wanted = text.strip().lower()
    for source in _SOURCES:
        if wanted in (*spellings(source.name), source.short, source.label.lower()):
            return source.name
    return text


def labelled(start: str) -> list[str]:
    """Return the sources whose label begins with a text."""
    wanted = start.strip().lower()
    if not wanted:
        return []
    return [each.name for each in _SOURCES if each.label.lower().startswith(wanted)]


def spellings(name: str) -> tuple[str, ...]:
    """Return the spellings that a source may have in a database.

    Hermes Agent itself writes api_server where its documentation says api-server.
    """
    known = name.replace("_", "-")
    return (known, known.replace("-", "_")) if known in KNOWN and "-" in known else (name,)


def all_spellings(names: Iterable[str]) -> list[str]:
    """Return the spellings that any of these sources may have in a database."""
    return [spelling for name in names for spelling in spellings(name)]


def of_source(column: str, name: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that a column names a source, and its values; None means any."""
    if name is None:
        return "TRUE", ()
    names = spellings(name)
    # With one value, an index that begins with this column also gives the order.
    return f"{column} = ?" if len(names) == 1 else f"{column} IN (?, ?)", names


def describe(name: str) -> Source:
    """Return a source's names; an unknown source keeps its own."""
    known = KNOWN.get(spellings(name)[0])
    return replace(known, name=name) if known else Source(name, name, name[:5])
