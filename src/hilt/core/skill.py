"""A skill: a named bundle of instructions with files beside them; the rules of its names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hilt.core.errors import HiltError

NAME_MAX: Final = 64
DESCRIPTION_MAX: Final = 1024
COMPATIBILITY_MAX: Final = 500
ASSET_NAME_MAX_BYTES: Final = 512
ASSET_MAX_BYTES: Final = 10 * 1024 * 1024
BODY_SHOWN_MAX_BYTES: Final = 25_000
DRAFT_BODY_MAX_BYTES: Final = 64 * 1024

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]")


class SkillNotFound(HiltError):
    """A source has no skill of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no skill {name[:80]!r}")
        self.name = name


class AssetNotFound(HiltError):
    """A skill has no asset of this name."""

    def __init__(self, skill: str, asset: str) -> None:
        super().__init__(f"skill {skill[:80]!r} has no asset {asset[:80]!r}")
        self.skill = skill
        self.asset = asset


class SkillUnavailableError(HiltError):
    """A source cannot give what it listed: it changed since, is too large, or the source does not answer."""


class SkillRuleError(HiltError):
    """A skill breaks a rule of the format; `line` is the line of its file, 0 where there is none."""

    def __init__(self, rule: str, *, line: int = 0) -> None:
        super().__init__(f"line {line}: {rule}" if line else rule)
        self.rule = rule
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillMeta:
    """What is known of a skill before it is activated.

    `other` holds keys that the format does not know, as texts; `notes` are oddities that a reader should know of.
    `allowed_tools` is the author's own list: it grants nothing and hides nothing.
    """

    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    other: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAsset:
    """A file that belongs to a skill; `size_bytes` None where the source does not say."""

    name: str
    size_bytes: int | None = None


def name_fault(name: str) -> str:
    """Return the rule that a skill's name breaks, "" when it is a good one."""
    if not 1 <= len(name) <= NAME_MAX:
        return f"name: it has 1 to {NAME_MAX} characters, this one {len(name)}"
    if _NAME.fullmatch(name) is None:
        return f"name: {name!r} is not made of a-z, 0-9, '-' and '_', with a letter or digit at its start and end"
    return f"name: {name!r} has '--'" if "--" in name else ""


def description_fault(description: str) -> str:
    """Return the rule that a description breaks, "" when it is a good one."""
    if not 1 <= len(description) <= DESCRIPTION_MAX or not description.strip():
        return f"description: it has 1 to {DESCRIPTION_MAX} characters, this one {len(description.strip())}"
    return "description: it is one line" if len(description.splitlines()) > 1 else ""


def meta_fault(meta: SkillMeta) -> str:
    """Return the first rule that a skill breaks, wherever it comes from, "" when it is a good one."""
    fault = name_fault(meta.name) or description_fault(meta.description)
    if not fault and len(meta.compatibility) > COMPATIBILITY_MAX:
        return f"compatibility: it has up to {COMPATIBILITY_MAX} characters, this one {len(meta.compatibility)}"
    return fault


def asset_name_fault(name: str) -> str:
    """Return why a name cannot be that of an asset, "" when it can."""
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        return "it is not valid text"
    if not 1 <= size <= ASSET_NAME_MAX_BYTES:
        return f"it has 1 to {ASSET_NAME_MAX_BYTES} bytes"
    if _UNSAFE.search(name):
        return "it has no backslash, control character or line separator"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "it is relative, in parts divided by '/', none of them empty, '.' or '..'"
    return ""


def valid_asset_name(name: str) -> bool:
    """Tell whether a text can be the name of an asset: relative, its parts divided by `/`, no way up or out."""
    return asset_name_fault(name) == ""
