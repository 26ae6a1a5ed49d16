"""Finds in a text what looks like a credential, and masks it: well-known forms, and values that are named as secrets.

A net with wide meshes, beside `core/redaction`, which knows the exact values: a secret without a known form or a
telling name passes.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import re2

from hilt.core.redaction import MASK

CREDENTIALS: Final[Mapping[str, str]] = {
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "a model provider's key": r"\bsk-[A-Za-z0-9_-]{20,}",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
"""Forms of credentials in RE2's syntax, by what they are."""

_NAMES: Final = r"(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
_WHOLE: Final = (
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[^-]|-[^-])*(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----)?",
    *(pattern for what, pattern in CREDENTIALS.items() if what != "a private key"),
    r"\b(?:glpat-|npm_|pypi-|hf_|dop_v1_|shpat_|rk_live_|sk_live_|whsec_)[A-Za-z0-9_-]{16,}",
)
# What stands before the secret stays, so that one sees what was masked.
_BEHIND: Final = (
    r"(?i)(\bbearer\s+)[A-Za-z0-9+/=._~-]{16,}",
    r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?basic\s+)[A-Za-z0-9+/=]+",
    r"(\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?:@)",
)
_SAID: Final = (
    rf"(?i)({_NAMES}[\"']?\s*[:=]\s*)(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|[^\s,;\"'`]+)",
    rf"(?i)({_NAMES}\s+is\s+)[^\s,;\"'`]*[0-9][^\s,;\"'`]*",
)
_NAMED: Final = rf"(?i)(?:^|[/_-]){_NAMES}$"


def masked(text: str, *, name: str = "") -> str:
    """Return the text with what looks like a credential masked; all of it where its `name` says that it is one."""
    if name and text and _compiled(_NAMED).search(name) is not None:
        return MASK
    text = masked_forms(text)
    for pattern in _SAID:
        text = _compiled(pattern).sub(rf"\1{MASK}", text)
    return text


def masked_forms(text: str) -> str:
    """Return the text with well-known forms of credentials masked, and nothing for what its name says: fit for code."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # RE2 reads UTF-8 alone
        text = text.encode("utf-8", "replace").decode("utf-8")
    for pattern in _WHOLE:
        text = _compiled(pattern).sub(MASK, text)
    for pattern in _BEHIND:
        end = "@" if pattern.endswith("(?:@)") else ""
        text = _compiled(pattern).sub(rf"\1{MASK}{end}", text)
    return text


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> "re2._Regexp[str]":
    return re2.compile(pattern)
