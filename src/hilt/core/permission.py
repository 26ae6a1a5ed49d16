"""Rules: what they are, what they match, and what was decided (permissions-hooks.md sections 1 to 3)."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Literal

from hilt.core.frozen import frozen


class Effect(StrEnum):
    """What a rule says, strongest first."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class Scope(StrEnum):
    """Where a rule comes from, strongest first."""

    MANAGED = "Managed"
    CLI = "CLI"
    LOCAL_PROJECT = "LocalProject"
    SHARED_PROJECT = "SharedProject"
    USER = "User"
    BUILTIN_DEFAULT = "BuiltinDefault"


@frozen
class PermissionRule:
    """One rule as written: `tool` pattern, `body` between the brackets (None without any), effect, origin.

    `spares` are tools that it says nothing of, although its pattern matches their names.
    """

    effect: Effect
    tool: str
    body: str | None = None
    scope: Scope = Scope.CLI
    source: str = ""
    line: int = 0
    spares: frozenset[str] = frozenset()


SubjectKind = Literal["text", "path", "command"]


@frozen
class Subject:
    """One value of a call that patterns are held against.

    An allow must match `text`; denies and asks are held against `text` and each of `also`. `writes` marks a
    command segment that redirects output to a file (only an allow with `>` covers it). `opaque` marks what
    cannot be analysed: at least asked, and no allow with a pattern covers it. A path has its resolved
    spelling in `also`, and an allow must match that too. `loose` holds globs of what the
    shell may make of a segment with expansions in it: a deny or ask that could match one is not passed over for
    an allow.
    """

    text: str
    kind: SubjectKind = "text"
    also: tuple[str, ...] = ()
    writes: bool = False
    opaque: bool = False
    loose: tuple[str, ...] = ()


@frozen
class Subjects:
    """What a call shows to patterns: unnamed subjects (None: no unnamed pattern matches) and named ones.

    `named` has a key for each argument that the tool takes, with no subject where the call leaves it out.
    """

    unnamed: tuple[Subject, ...] | None = None
    named: Mapping[str, tuple[Subject, ...]] = field(default_factory=dict)


@frozen
class Decision:
    """The verdict on a call and the rule that caused it; `rule` None means the mode or the want of a rule."""

    effect: Effect
    reason: str
    rule: PermissionRule | None = None
    rememberable: bool = True
