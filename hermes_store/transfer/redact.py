"""Mask secrets in text and in JSON values.

A secret is recognized by its form (the key prefixes of services, web tokens, key blocks,
credentials in a URL) or by the name in front of it (`password=…`, `"token": "…"`). Ids, dates,
paths and hashes without such a name are left alone. The first four characters of a long secret
stay, to tell which one it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "[redacted]"
KEPT = 4
TOO_DEEP = "[nested too deeply to be checked for secrets]"

# Below this length the first characters would give too much away.
_LONG = 12
_LONGEST_NAME = 200
_ROUNDS = 10

# Columns that other rows refer to; masking one would break the session.
_UNTOUCHED = frozenset(
    {"id", "session_id", "parent_session_id", "tool_call_id", "role", "source", "end_reason"}
)

_START = r"(?<![A-Za-z0-9_])"
_KNOWN = re.compile(
    _START + r"(?:"
    # Kebab-case words such as sk-learn-pipeline have no digit.
    r"sk-(?=[A-Za-z_-]{0,99}+[0-9])[A-Za-z0-9_-]{16,}"
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[a-z]-[A-Za-z0-9-]{12,}"
    r"|xapp-[0-9]-[A-Za-z0-9-]{12,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|ya29\.[A-Za-z0-9_-]{20,}"
    r"|(?:npm|hf|gsk)_[A-Za-z0-9]{30,}"
    r"|xai-[A-Za-z0-9]{30,}"
    r"|pypi-AgEI[A-Za-z0-9_-]{30,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"
    r"|(?<!-)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r")"
)
_BEARER = re.compile(
    r"(?P<before>\b(?:bearer|basic)[ \t]+)"
    r"(?P<secret>(?=[A-Za-z._~+/=-]{0,99}+[0-9])[A-Za-z0-9._~+/=-]{16,})",
    re.IGNORECASE,
)
_KEY_HEADER = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_WHOLE_KEY = re.compile(rf"(?P<before>{_KEY_HEADER})(?P<secret>(?:[^-]|-(?!----))++)(?=-----END )")
# A key that was cut off: base64 lines after the header, as text or escaped in JSON.
_CUT_KEY = re.compile(
    rf"(?P<before>{_KEY_HEADER})"
    r"(?P<secret>(?:(?:\s|\\[nr])*+[A-Za-z0-9+/]{16,}+={0,2})++)"
)
_ADDRESS = re.compile(r"(?P<before>://[^\s/:@\"'<>]{1,128}:)(?P<secret>[^\s/@\"'<>]{1,256})(?=@)")

_PASSWORD = r"passw(?:or)?d|passphrase|passwort"
_TOKEN = (
    r"token|secret|credential|api[_-]?key"
    r"|(?:access|secret|private|signing|encryption|auth|master|shared|account)[_-]?key"
)
_ASSIGNED = re.compile(
    rf"(?P<before>(?:(?P<password>{_PASSWORD})|{_TOKEN})"
    r"\\?[\"']?\]?[ \t]{0,3}(?P<sign>=>|:=|={1,3}|:)[ \t]{0,3})"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>(?:[^\"'`\\\n]|\\[^\"'`\n])++)"
    r"|(?P<bare>[^\s\"'`,;&<>(){}|\\]++))",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"(?P<before>--(?:[a-z]{{1,20}}-){{0,3}}(?:{_PASSWORD}|{_TOKEN})[ ]+)"
    r"(?P<secret>[^\s\"'`<>(){}|\\]++)"
)
_NAMED = re.compile(rf"(?:(?P<password>{_PASSWORD})|{_TOKEN})\Z", re.IGNORECASE)

# A text without any of these cannot match the pattern. Looking for them is a hundred times
# faster than matching, and most texts have none.
_KNOWN_HINTS = (
    *("sk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("xox", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "npm_", "hf_", "gsk_", "xai-", "pypi-"),
    *("SG.", ":AA", "eyJ"),
)
_NAME_HINTS = ("passw", "passphrase", "token", "secret", "credential", "key")
_BEARER_HINTS = ("bearer", "basic")

_PLACEHOLDER = re.compile(
    r"\$\{?\w+\}?|\$\(.*|%\w+%|<.*|\{.*|\*+|x+|•+|…+|\.+|.*[\[(]"
    r"|none|null|nil|true|false|str|string|text|bytes|int|required|optional|undefined|empty"
    r"|your[_-].*|(?:/|~/|\.{1,2}/).*|\d{4}-\d\d-\d\d.*"
    # A name in source code rather than a value.
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_.]*(?:passw|token|secret|key)[A-Za-z_.]*",
    re.IGNORECASE | re.DOTALL,
)
_LETTER = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_SIGN = re.compile(r"[!@#$%^&*+=?~]")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{24,}")


def redact_text(text: str) -> str:
    """Return text with every secret in it masked.

    Takes linear time on any text: each pattern bounds its runs or is possessive.
    """
    for _ in range(_ROUNDS):
        masked = _masked_once(text)
        if masked == text:
            break
        # A mask can expose the name in front of another secret.
        text = masked
    return text


def _masked_once(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _CUT_KEY.sub(_masked, _WHOLE_KEY.sub(_masked, text))
    if "://" in text and "@" in text:
        text = _ADDRESS.sub(_masked, text)
    lowered = text.lower()
    if _has(lowered, _NAME_HINTS):
        text = _FLAG.sub(_flag, _ASSIGNED.sub(_assigned, text))
    if _has(lowered, _BEARER_HINTS):
        text = _BEARER.sub(_masked, text)
    if _has(text, _KNOWN_HINTS):
        text = _KNOWN.sub(lambda match: _mask(match[0]), text)
    return text


def _has(text: str, hints: tuple[str, ...]) -> bool:
    return any(hint in text for hint in hints)


def redact_value(value: Any) -> Any:
    """Return a JSON value with every secret in its text masked."""
    try:
        return _value(value, "")
    except RecursionError:
        return TOO_DEEP


def redact_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a session or message with every secret masked, ids excepted."""
    return {
        name: value if name in _UNTOUCHED else redact_value(value) for name, value in row.items()
    }


def _value(value: Any, name: str) -> Any:
    if isinstance(value, str):
        named = _NAMED.search(name)
        if named is not None and _is_secret(value, bool(named["password"]), sure=True):
            return _mask(value)
        return redact_text(value)
    if isinstance(value, Mapping):
        return {redact_text(str(key)): _value(each, str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each, name) for each in value]
    if isinstance(value, bytes):
        return redact_text(value.decode("utf-8", "replace"))
    return value


def _mask(secret: str) -> str:
    if MASK in secret:
        return secret
    head = secret[:KEPT]
    # Half an escape sequence would break the surrounding JSON.
    keep = len(secret) >= _LONG and "\\" not in head and not head.isspace()
    return (head if keep else "") + MASK


def _masked(match: re.Match[str]) -> str:
    return match["before"] + _mask(match["secret"])


def _assigned(match: re.Match[str]) -> str:
    quoted, password = match["quoted"], bool(match["password"])
    if quoted is not None:
        secret = _is_secret(quoted, password, sure=True)
        return match["before"] + match["quote"] + (_mask(quoted) if secret else quoted)
    value = match["bare"]
    # A colon is often followed by prose: "Password: required". A call is not a value.
    sure = match["sign"] != ":"
    secret = match.string[match.end() : match.end() + 1] != "(" and _is_secret(
        value, password, sure=sure
    )
    return match["before"] + (_mask(value) if secret else value)


def _flag(match: re.Match[str]) -> str:
    value = match["secret"]
    return match["before"] + (_mask(value) if _is_secret(value, True, sure=False) else value)


def _is_secret(value: str, password: bool, *, sure: bool) -> bool:
    """Tell whether the value of a telling name is a secret; `sure` if it cannot be prose."""
    if len(value) < KEPT or MASK in value:
        return False
    if len(value) <= _LONGEST_NAME and _PLACEHOLDER.fullmatch(value):
        return False
    letter, digit = _LETTER.search(value), _DIGIT.search(value)
    if password:
        return sure or bool(letter and (digit or _SIGN.search(value)))
    if _ENCODED.fullmatch(value):
        return True
    return len(value) >= 8 and bool(letter and digit) and " " not in value
