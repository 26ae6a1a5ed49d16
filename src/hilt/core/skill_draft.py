"""What a reviewer of a drafted skill should look at, and which skill it resembles."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"\w+")
_URL: Final = re.compile(r"\b(?:https?|ftp|file|data|javascript):[^\s<>\"')\]]+", re.IGNORECASE)
_ENCODED: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{80,}={0,2}|(?:\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}){20,})")
_RULES: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|circumvent|disable|skip|turn off)\b[^.\n]{0,60}"
    r"\b(?:instructions?|rules?|polic(?:y|ies)|permissions?|prompts?|guardrails?|safety|safeguards?|restrictions?"
    r"|approvals?|confirmations?|checks?|warnings?)\b"
    r"|\bwithout\s+(?:asking|confirmation|confirming|permission|approval|telling)\b"
    r"|\b(?:do\s+not|don't|never)\s+(?:ask|tell|inform|mention|warn|show|reveal)\b"
    r"|\byou\s+are\s+now\b|\bsystem\s+prompt\b|\bdeveloper\s+mode\b|\bjailbreak|\bno\s+restrictions\b",
    re.IGNORECASE,
)
_SHOWN: Final = 80
_FINDINGS_MAX: Final = 50
_PATTERNS: Final = (
    ("instructions about the reader's rules", _RULES),
    ("long encoded text", _ENCODED),
    ("URL", _URL),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to look at; `line` counts from 1."""

    what: str
    line: int
    shown: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Where a draft comes from: its session and model, the time (UTC, ISO 8601), and the SHA-256 of its text."""

    session: str
    model: str
    time: str
    sha256: str


def digest(text: bytes) -> str:
    """Return the SHA-256 of a draft's text as hexadecimal digits."""
    return hashlib.sha256(text).hexdigest()


def findings(text: str) -> list[Finding]:
    """Return what a reviewer should look at, in the order of the lines, at most 50."""
    found: list[Finding] = []
    for number, line in enumerate(text.split("\n"), start=1):
        hidden = sorted({char for char in line if _is_hidden(char)})
        if hidden:
            shown = ", ".join(f"U+{ord(char):04X}" for char in hidden[:5])
            found.append(Finding(what="hidden characters", line=number, shown=shown))
        for what, pattern in _PATTERNS:
            found += [Finding(what=what, line=number, shown=_shown(match[0])) for match in pattern.finditer(line)]
        if len(found) >= _FINDINGS_MAX:
            return found[:_FINDINGS_MAX]
    return found


def _is_hidden(char: str) -> bool:
    """Tell whether a character changes what is read without being seen."""
    if char in "\t\r":
        return False
    kind = unicodedata.category(char)
    return kind in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") or 0xFE00 <= ord(char) <= 0xFE0F or ord(char) >= 0xE0100


def _shown(text: str) -> str:
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"


def most_similar(body: str, others: Mapping[str, str]) -> tuple[str, float]:
    """Return the name of the text most like `body` and how alike they are from 0 to 1, ("", 0.0) without one."""
    mine = word_pairs(body)
    best, share = "", 0.0
    for name in sorted(others):
        alike = jaccard(mine, word_pairs(others[name]))
        if alike > share:
            best, share = name, alike
    return best, share


def word_pairs(text: str) -> Set[tuple[str, str]]:
    """Return the pairs of words that follow one another, letter case aside; a lone word is paired with nothing."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {(words[0], "")} if len(words) == 1 else set(pairwise(words))


def jaccard(one: Set[tuple[str, str]], other: Set[tuple[str, str]]) -> float:
    """Return the share of what is in both in what is in either, 0.0 where both are empty."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0
