"""E-mail addresses, card numbers and IBANs in text.

What only looks like an address is left alone: `git@host:path`, `user@` in a URL, `package@1.2.3`,
`icon@2x.png` and `unit@name.service`. Numbers have to have the right check digits.
"""

from __future__ import annotations

import re

from hermes_store.transfer.secret_forms import AFTER_ESCAPE

MASK = "[redacted]"

_ADDRESS_START = rf"(?:(?<![\w.%+-])(?!(?<=\\)[bfnrtu])|{AFTER_ESCAPE})(?<!//)"
_NOT_A_NAME = r"(?!(?:git|hg|svn)@[\w.-]{1,255}[:/]|(?:this|super)@)"
_NOT_A_HOST = r"(?!v?[0-9]+\.[0-9])"
# Endings of files and units that are no top-level domains.
_NOT_A_DOMAIN = (
    r"(?!(?:service|socket|timer|target|slice|scope|mount|path|png|jpe?g|svg|gif|webp|avif|js|jsx"
    r"|bmp|ico|icns|tiff?|heic|pdf|psd|imageset|mjs|tsx?|json|ya?ml|toml|txt|html?|css|lock|tgz|tar"
    r"|gz|whl|log|conf)\b)"
)
# Full-width signs are how some keyboards type an address.
_AT = ("@", "%40", "\uff20", "\ufe6b")
_ADDRESS = re.compile(
    _ADDRESS_START
    + _NOT_A_NAME
    + rf"[\w.%+-]{{1,64}}?(?:{'|'.join(_AT)})"
    + _NOT_A_HOST
    +
    # Not possessive labels: the last one has to be letters.
    r"(?:[\w-]{1,63}[.\uff0e]){1,8}?"
    + _NOT_A_DOMAIN
    + r"(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})"
    # Neither the name of something longer, nor a call, nor a place on another machine.
    r"(?![\w-]|\.\w|\(|:[\w.~-]{0,64}/)",
    re.IGNORECASE,
)
_CARD = re.compile(
    rf"(?:(?<![\w.,/-])|{AFTER_ESCAPE})" r"[2-6][0-9]{3}(?:[ -]?[0-9]){9,12}(?![\w-]|[.,][0-9])"
)
_CARD_KIND = re.compile(
    r"4[0-9]{15}|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:6(?:011|5[0-9]{2})|35[2-8][0-9])[0-9]{12}"
)
_IBAN = re.compile(
    rf"(?:(?<![\w-])|{AFTER_ESCAPE})"
    r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])"
)


def masked(text: str) -> str:
    """Return text with addresses and numbers masked. Takes linear time on any text."""
    if any(sign in text for sign in _AT):
        text = _ADDRESS.sub(MASK, text)
    text = _CARD.sub(_card, text)
    return _IBAN.sub(_iban, text)


def _card(match: re.Match[str]) -> str:
    digits = re.sub("[ -]", "", match[0])
    return MASK if _CARD_KIND.fullmatch(digits) and _has_check_digit(digits) else match[0]


def _has_check_digit(digits: str) -> bool:
    """Tell whether the digits of a card number add up (Luhn)."""
    doubled = [int(each) * 2 for each in digits[-2::-2]]
    rest = sum(int(each) for each in digits[-1::-2])
    return (rest + sum(each - 9 if each > 9 else each for each in doubled)) % 10 == 0


def _iban(match: re.Match[str]) -> str:
    code = match[0].replace(" ", "")
    number = "".join(str(int(sign, 36)) for sign in code[4:] + code[:4])
    return MASK if 15 <= len(code) <= 34 and int(number) % 97 == 1 else match[0]
