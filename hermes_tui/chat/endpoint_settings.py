"""Finds the server, model and key in the settings and the environment.

Keys come from the environment or from the .env file of the home folder, where Hermes Agent
keeps its own; they are never part of config.yaml, and no message shows one.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hermes_store.config.paths import hermes_home
from hermes_store.config.settings import Config
from hermes_store.records.safe_text import clean_line, shorten
from hermes_tui.chat.errors import NoKey, NotReady

OPENROUTER = "https://openrouter.ai/api/v1"
OPENAI = "https://api.openai.com/v1"
_KEYS = {"HERMES_API_KEY": OPENROUTER, "OPENROUTER_API_KEY": OPENROUTER, "OPENAI_API_KEY": OPENAI}
_ENV_FILE = ".env"
_NO_HOST = re.compile(r"""[\s<>"'`{}|\\^]""")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Local servers need no key, but the client requires one.
_NO_KEY_NEEDED = "not-needed"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, the models to use there, and the key."""

    base_url: str
    model: str
    auxiliary_model: str
    key: str = field(repr=False)
    timeout: float
    retries: int
    context_length: int

    @property
    def place(self) -> str:
        """The name of the server for messages, without secrets from the address."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or self.base_url
        return f"{host}:{parts.port}" if parts.port else host


def environment(home: Path | None = None) -> Mapping[str, str]:
    """Return the environment variables and, where unset, those of the home folder's .env file."""
    from dotenv import dotenv_values

    # Invalid lines are skipped; a warning would be printed across the screen.
    logging.getLogger("dotenv").addHandler(logging.NullHandler())
    try:
        found = dotenv_values((home or hermes_home()) / _ENV_FILE, interpolate=False)
    except (OSError, UnicodeDecodeError):
        found = {}
    named = {name: value for name, value in found.items() if value is not None}
    return {**named, **os.environ}


def endpoint(config: Config, environment: Mapping[str, str]) -> Endpoint:
    """Return the endpoint; raise NotReady or NoKey if a setting is missing."""
    wanted = config.model
    model = _filled_in("model.default", wanted.default, environment)
    if not model:
        raise NotReady(
            "No model is set. Set one in config.yaml, for example "
            "'model: {default: anthropic/claude-sonnet-4.5}'."
        )
    given = _filled_in("model.base_url", wanted.base_url, environment)
    base_url = _checked(given) if given else ""
    key, home_of_key = _key(wanted.key_env, base_url, environment)
    return Endpoint(
        base_url=base_url or home_of_key,
        model=model,
        auxiliary_model=_filled_in("model.auxiliary", wanted.auxiliary, environment) or model,
        key=key,
        timeout=float(wanted.timeout),
        retries=wanted.retries,
        context_length=wanted.context_length,
    )


def _filled_in(setting: str, text: str, environment: Mapping[str, str]) -> str:
    for name in _VARIABLE.findall(text):
        if name not in environment:
            raise NotReady(f"{setting} uses ${{{name}}}, which is not set. Set that variable.")
    return _VARIABLE.sub(lambda found: environment[found[1]], text).strip()


def not_an_address(address: str) -> NotReady:
    """Return the error for a model.base_url that no server can have."""
    shown = clean_line(shorten(address, _SHOWN))
    return NotReady(
        f"model.base_url is '{shown}', which is not a server address. Use one such as {OPENAI}."
    )


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or _NO_HOST.search(parts.hostname or ""):
        raise not_an_address(address)
    return address.rstrip("/")


def _key(key_env: str, base_url: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the key and the server it is for."""
    names = _names(key_env, base_url)
    for name in names:
        key = environment.get(name, "").strip()
        if key:
            # A header cannot hold these; most often a dash or quote copied from a web page.
            if not key.isascii() or not key.isprintable():
                raise NoKey(f"The key in {name} has invalid characters. Copy it again.")
            return key, _KEYS.get(name, OPENROUTER)
    if base_url and _is_near(base_url):
        return _NO_KEY_NEEDED, base_url
    raise NoKey(
        f"There is no key for the model: {' and '.join(names)} "
        f"{'are' if len(names) > 1 else 'is'} not set. Set one in the environment or in the .env "
        "file of the home folder, or set model.key_env in config.yaml to another variable."
    )


def _names(key_env: str, base_url: str) -> tuple[str, ...]:
    """Return the variables that may hold the key, best first.

    A key for one of the two known services is never sent to the other.
    """
    host = urlsplit(base_url).hostname or ""
    usual = ["HERMES_API_KEY"]
    if not base_url or _belongs(host, OPENROUTER):
        usual.append("OPENROUTER_API_KEY")
    if not base_url or not _belongs(host, OPENROUTER):
        usual.append("OPENAI_API_KEY")
    return tuple(dict.fromkeys(filter(None, (key_env.strip(), *usual))))


def _belongs(host: str, service: str) -> bool:
    home = urlsplit(service).hostname or ""
    return host == home or host.endswith("." + home)


def _is_near(base_url: str) -> bool:
    """Return whether a server is on this machine or in the local network."""
    host = urlsplit(base_url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local")) or "." not in host
    return address.is_private or address.is_loopback
