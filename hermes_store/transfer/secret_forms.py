"""The forms of secrets that can be recognized without a name in front of them.

Each form has the prefix that a text must contain to be looked at. Looking for the prefixes is a
hundred times faster than matching, and most texts have none.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """How the secrets of a service look."""

    hints: tuple[str, ...]
    """A secret of this form contains one of these."""
    pattern: re.Pattern[str]


_WORD = "A-Za-z0-9_-"
# Text may be JSON, in which \n stands for a line break and does not belong to what follows.
AFTER_ESCAPE = r"(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})"


def _form(hints: tuple[str, ...] | str, pattern: str) -> Form:
    hints = (hints,) if isinstance(hints, str) else hints
    return Form(hints, re.compile(rf"(?:(?<![A-Za-z0-9_])|{AFTER_ESCAPE})(?:{pattern})"))


def _keys(length: int, *prefixes: str) -> Form:
    """Return the form of keys that are a prefix and a run of letters and digits."""
    return _prefixed(rf"(?=[A-Za-z]{{0,99}}+[0-9])[A-Za-z0-9]{{{length},}}", prefixes)


def _dashed(length: int, *prefixes: str) -> Form:
    """Return the form of keys that have dashes or underscores as well."""
    # Kebab-case words such as sk-learn-pipeline have no digit.
    return _prefixed(rf"(?=[A-Za-z_-]{{0,99}}+[0-9])[{_WORD}]{{{length},}}", prefixes)


def _hex(length: int, *prefixes: str) -> Form:
    """Return the form of keys that are a prefix and a hexadecimal number."""
    return _prefixed(rf"[0-9a-f]{{{length},}}(?![A-Za-z0-9])", prefixes)


def _prefixed(run: str, prefixes: tuple[str, ...]) -> Form:
    names = "|".join(map(re.escape, prefixes))
    return _form(prefixes, f"(?:{names}){run}")


FORMS = (
    # Models
    _dashed(16, "sk-"),
    _dashed(30, "lsv2_pt_", "lsv2_sk_", "pcsk_", "tvly-", "nvapi-", "wandb_v1_"),
    _keys(30, "r8_", "xai-", "gsk_", "pplx-"),
    # Most of these are letters only.
    _prefixed("[A-Za-z0-9]{30,}", ("hf_", "api_org_")),
    _keys(20, "fw_"),
    _hex(40, "sk_", "e2b_"),
    _hex(32, "fc-"),
    # Code hosts and registries
    _keys(20, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _dashed(20, "github_pat_", "dckr_pat_", "dckr_oat_", "CCIPAT_"),
    _dashed(16, "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glimt-", "glagent-"),
    _dashed(30, "pypi-Ag", "ATATT3", "ATCTT3"),
    _keys(20, "npm_", "ATBB", "bkua_"),
    _hex(40, "rubygems_", "sgp_"),
    # Clouds and hosting
    _form(("AKIA", "ASIA", "ABIA", "ACCA"), r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _dashed(30, "AIza"),
    _prefixed(rf"[{_WORD}]{{20,}}", ("GOCSPX-",)),
    _dashed(20, "ya29.", "1//0", "HRKU-", "sb_secret_", "tskey-"),
    _form("Q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    _keys(16, "LTAI"),
    _hex(40, "doo_v1_", "dop_v1_", "dor_v1_", "sbp_", "pul-"),
    _form("v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    _keys(24, "nfp_", "vcp_", "vck_", "rnd_"),
    _dashed(30, "fo1_", "fm2_", "pscale_tkn_", "pscale_pw_"),
    _hex(32, "dapi"),
    _form(".atlasv1.", rf"[A-Za-z0-9]{{14}}\.atlasv1\.[{_WORD}]{{40,}}"),
    _form(("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.[{_WORD}]{{20,}}"),
    _form("dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[{_WORD}]{{2,35}}\.)?[A-Za-z0-9]{{20,}}"),
    # Chat and mail
    _form("xox", rf"xox[a-z](?:\.xox[a-z])?-(?=[A-Za-z_-]{{0,99}}+[0-9])[{_WORD}]{{12,}}"),
    _form("xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{12,}"),
    _form(":AA", rf"[0-9]{{8,10}}:AA[{_WORD}]{{32,}}"),
    _form(".", rf"[MNO][{_WORD}]{{23,27}}\.[{_WORD}]{{6}}\.[{_WORD}]{{27,45}}(?![{_WORD}])"),
    _form("SG.", rf"SG\.[{_WORD}]{{16,}}\.[{_WORD}]{{16,}}"),
    _hex(32, "SK", "key-", "pubkey-"),
    _form("-", r"[0-9a-f]{32}-(?:us[0-9]{1,2}|[0-9a-f]{8}-[0-9a-f]{8})(?![A-Za-z0-9-])"),
    # Shops and payment
    _keys(16, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"),
    _keys(24, "whsec_", "shpat_", "shpca_", "shppa_", "shpss_"),
    _dashed(20, "sq0atp-", "sq0csp-", "sq0idp-"),
    _dashed(50, "EAAA"),
    # Operations and teamwork
    _keys(20, "NRAK-", "NRII-", "NRJS-", "lin_api_", "lin_oauth_", "ntn_"),
    _form("NRAL", r"[0-9a-f]{36}NRAL(?![A-Za-z0-9])"),
    _dashed(30, "glsa_", "glc_", "sntrys_", "sntryu_", "figd_", "PMAK-"),
    _form("secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    _form("pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    # Keys of no service
    _keys(50, "AGE-SECRET-KEY-1"),
    _form("eyJ", rf"(?<!-)eyJ[{_WORD}]{{8,}}\.[{_WORD}]{{8,}}\.[{_WORD}]*"),
)
