"""Mask secrets and personal data in text and in JSON values.

A secret is recognized by its form (the key prefixes of services, web tokens, key blocks,
credentials in a URL) or by the name in front of it (`password=…`, `"token": "…"`). Ids, dates,
paths and hashes without such a name are left alone. The first four characters of a long secret
stay, to tell which one it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hermes_store.transfer import personal_data
from hermes_store.transfer.personal_data import MASK
from hermes_store.transfer.secret_forms import FORMS

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

_BEARER = re.compile(
    r"(?P<before>\b(?:bearer|basic)[ \t]+)"
    r"(?P<secret>(?=[A-Za-z._~+/=-]{0,99}+[0-9])[A-Za-z0-9._~+/=-]{16,})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?P<before>\bauthorization\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?"
    r"(?:basic|bearer|token|digest|apikey|bot|negotiate)[ \t]{1,3})"
    r"(?P<secret>[^\s\"'`<>\\${}]{6,}+)",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(?P<before>\b(?:set-)?cookie\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?)"
    r"(?P<secret>[\w.%-]{1,100}=[^\s\"'`\\][^\"'`\\\r\n]*+)",
    re.IGNORECASE,
)
_KEY_HEADER = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_WHOLE_KEY = re.compile(rf"(?P<before>{_KEY_HEADER})(?P<secret>(?:[^-]|-(?!----))++)(?=-----END )")
# A key that was cut off: base64 lines after the header, as text or escaped in JSON.
_CUT_KEY = re.compile(
    rf"(?P<before>{_KEY_HEADER})"
    r"(?P<secret>(?:(?:\s|\\[nr])*+[A-Za-z0-9+/]{16,}+={0,2})++)"
)
_PUTTY_KEY = re.compile(
    r"(?P<before>Private-Lines: ?[0-9]{1,4})"
    r"(?P<secret>(?:(?:\s|\\[nr])*+[A-Za-z0-9+/]{16,}+={0,2})++)"
)
# A password may contain an @ itself; the last one before the path ends it.
_ADDRESS = re.compile(r"(?P<before>://[^\s/:@\"'<>]{0,128}:)(?P<secret>[^\s/\"'<>]{1,256})(?=@)")
_KEY_IN_ADDRESS = re.compile(
    r"(?P<before>://)(?P<secret>(?=[A-Za-z_-]{0,99}+[0-9])[A-Za-z0-9_-]{16,256})(?=@)"
)
# Addresses that let anyone who knows them in.
_WEBHOOK = re.compile(
    r"(?P<before>hooks\.slack\.com/(?:services|workflows|triggers)/"
    r"|discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/"
    r"|\.webhook\.office\.com/webhookb2/)"
    r"(?P<secret>[A-Za-z0-9_/@-]{16,})"
)
_SIGNATURE = re.compile(
    r"(?P<before>[?&](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token"
    r"|x-goog-signature)=)(?P<secret>[A-Za-z0-9%+/=._-]{16,})",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    r"(?P<before>\bcurl [^\n]{0,300}?(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{1,64}:)"
    r"(?P<secret>[^\s\"'\\$]{4,}+)"
)

_PASSWORD = r"passw(?:or)?d|passphrase|passwort|(?<=_)(?:pass|pwd)|(?<=;)pwd"
# Also the name of the working folder.
_FOLDER = "pwd"
_TOKEN = (
    r"token|secret|credential|api[_-]?key|(?<=[_-])(?:pat|dsn)|(?<=_)auth"
    r"|(?:access|secret|private|signing|encryption|auth|master|shared|account)[_-]?key"
)
_ASSIGNED = re.compile(
    rf"(?P<before>(?:(?P<password>{_PASSWORD})|(?P<folder>{_FOLDER})|{_TOKEN})"
    r"\\?[\"']?\]?[ \t]{0,3}(?P<sign>=>|:=|={1,3}|:)[ \t]{0,3})"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>(?:[^\"'`\\\n]|\\[^\"'`\n])++)"
    r"|(?P<bare>[^\s\"'`,;&<>(){}|\\]++))",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"(?P<before>--(?:[a-z]{{1,20}}-){{0,3}}(?:{_PASSWORD}|{_TOKEN}|pass|pwd)[ ]+)"
    r"(?P<secret>[^\s\"'`<>(){}|\\]++)"
)
_NAMED = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<folder>{_FOLDER})|{_TOKEN})\Z", re.IGNORECASE
)

# A text without any of these cannot match the pattern.
_NAME_HINTS = (
    *("passw", "passphrase", "token", "secret", "credential", "key", "pass", "pwd", "_pat", "-pat"),
    *("_dsn", "-dsn", "_auth"),
)
_BEARER_HINTS = ("bearer", "basic")

_PLACEHOLDER = re.compile(
    r"\$\{?\w+\}?|\$\(.*|%\w+%|<.*|\{.*|\*+|x+|•+|…+|\.+|.*[\[(]"
    r"|none|null|nil|true|false|yes|str|string|text|bytes|int|required|optional|undefined|empty"
    r"|your[_-].*|(?:/|~/|\.{1,2}/|[A-Z]:[/\\]).*|\d{4}-\d\d-\d\d.*"
    # A name in source code rather than a value.
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_.]*(?:passw|token|secret|key)[A-Za-z_.]*",
    re.IGNORECASE | re.DOTALL,
)
_LETTER = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_SIGN = re.compile(r"[!@#$%^&*+=?~]")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
# Base64 rather than a path: padded, or long, of mixed letters and digits, with few slashes.
_SLASH_AND_ENCODED = re.compile(
    r"/[A-Za-z0-9+/]{20,}+={1,2}"
    r"|(?=.{40})(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])(?=[^0-9]*+[0-9])"
    r"/(?:[A-Za-z0-9+]*+/){0,2}+[A-Za-z0-9+]*+"
)
# Characters that show nothing, and so can hide a secret from every pattern.
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")


def redact_text(text: str) -> str:
    """Return text with every secret in it masked.

    Takes linear time on any text: each pattern bounds its runs or is possessive.
    """
    for _ in range(_ROUNDS):
        masked = _masked_once(text)
        if masked == text and not text.isascii():
            masked = "\n".join(map(_without_invisible, text.split("\n")))
        if masked == text:
            break
        # A mask can expose the name in front of another secret.
        text = masked
    return text


def _without_invisible(line: str) -> str:
    """Return a line masked and without invisible characters if they hide a secret."""
    visible = line if line.isascii() else _INVISIBLE.sub("", line)
    if visible == line:
        return line
    masked = _masked_once(visible)
    # Joiners of emoji and of Persian words stay where they hide nothing.
    return line if masked == visible else masked


def _masked_once(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _CUT_KEY.sub(_masked, _WHOLE_KEY.sub(_masked, text))
    if "Private-Lines" in text:
        text = _PUTTY_KEY.sub(_masked, text)
    lowered = text.lower()
    if "authorization" in lowered:
        text = _HEADER.sub(_header, text)
    if "cookie" in lowered:
        text = _COOKIE.sub(_masked, text)
    text = _without_addresses(text)
    if _has(lowered, _NAME_HINTS):
        text = _FLAG.sub(_flag, _ASSIGNED.sub(_assigned, text))
    if _has(lowered, _BEARER_HINTS):
        text = _BEARER.sub(_masked, text)
    for form in FORMS:
        if _has(text, form.hints):
            text = form.pattern.sub(lambda match: _mask(match[0]), text)
    return personal_data.masked(text)


def _without_addresses(text: str) -> str:
    """Mask credentials that are part of an address or go with one."""
    if "://" in text and "@" in text:
        text = _KEY_IN_ADDRESS.sub(_masked, _ADDRESS.sub(_masked, text))
    if ".com/" in text:
        text = _WEBHOOK.sub(_masked, text)
    if "=" in text and ("?" in text or "&" in text):
        text = _SIGNATURE.sub(_masked, text)
    if "curl " in text:
        text = _CURL_USER.sub(_masked, text)
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
        if named is not None and _is_named_secret(named, value, sure=True):
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


def _header(match: re.Match[str]) -> str:
    value = match["secret"]
    stays = len(value) <= _LONGEST_NAME and _PLACEHOLDER.fullmatch(value)
    return match["before"] + (value if stays else _mask(value))


def _assigned(match: re.Match[str]) -> str:
    value = match["quoted"]
    equals = match["sign"] != ":"
    if value is not None:
        secret = _is_named_secret(match, value, sure=True, quoted=equals)
        return match["before"] + match["quote"] + (_mask(value) if secret else value)
    value = match["bare"]
    # A colon is often followed by prose: "Password: required". A call is not a value.
    call = match.string[match.end() : match.end() + 1] == "("
    secret = not call and _is_named_secret(match, value, sure=equals)
    return match["before"] + (_mask(value) if secret else value)


def _is_named_secret(name: re.Match[str], value: str, *, sure: bool, quoted: bool = False) -> bool:
    if name["folder"]:
        return not value.startswith("/") and _is_secret(value, True, sure=False)
    return _is_secret(value, bool(name["password"]), sure=sure, quoted=quoted)


def _flag(match: re.Match[str]) -> str:
    value = match["secret"]
    return match["before"] + (_mask(value) if _is_secret(value, True, sure=False) else value)


def _is_secret(value: str, password: bool, *, sure: bool, quoted: bool = False) -> bool:
    """Tell whether the value of a telling name is a secret; `sure` if it cannot be prose.

    A value that is assigned in quotes, as in a program or a .env file, may have spaces or be short.
    """
    if len(value) < (KEPT - 1 if quoted else KEPT) or MASK in value:
        return False
    if len(value) <= _LONGEST_NAME and _PLACEHOLDER.fullmatch(value):
        return bool(_SLASH_AND_ENCODED.fullmatch(value))
    letter, digit = _LETTER.search(value), _DIGIT.search(value)
    if password:
        return sure or bool(letter and (digit or _SIGN.search(value)))
    if _ENCODED.fullmatch(value):
        return True
    return len(value) >= 8 and bool(letter and digit) and (quoted or " " not in value)
