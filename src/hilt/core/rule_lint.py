"""Rules that do nothing: they can never match, a deny shadows them, they stand twice, or lack trust."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hilt.core.pattern import compile_name, globs_include, includes, tokens
from hilt.core.permission import Effect, PermissionRule, Scope, SubjectKind
from hilt.core.rule_text import format_rule, pairs

FindingKind = Literal["no_such_tool", "no_such_key", "no_unnamed_subject", "shadowed", "duplicate", "withheld"]

_KEY_LIKE: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)=")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What lint knows of a tool: its arguments' names, and its unnamed subject's kind, None without one."""

    keys: frozenset[str] = frozenset()
    unnamed: SubjectKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule that does nothing, and why."""

    kind: FindingKind
    rule: PermissionRule
    message: str


def lint(
    rules: Sequence[PermissionRule],
    tools: Mapping[str, ToolFacts],
    *,
    withheld: Sequence[PermissionRule] = (),
) -> list[Finding]:
    """Return the findings in the order of the rules, then the allows `withheld` from a project without trust.

    Built-in defaults are passed over: most name tools that a session does not offer.
    """
    written = [rule for rule in rules if rule.scope is not Scope.BUILTIN_DEFAULT]
    found: list[Finding] = []
    for place, rule in enumerate(written):
        found += _never_matches(rule, tools)
        found += _shadowed(rule, written)
        found += _repeated(rule, written[:place])
    found += [_finding("withheld", rule, "counts only in a trusted project") for rule in withheld]
    return found


def _finding(kind: FindingKind, rule: PermissionRule, why: str) -> Finding:
    return Finding(kind=kind, rule=rule, message=f"{rule.effect} {format_rule(rule)!r} {why}")


def _never_matches(rule: PermissionRule, tools: Mapping[str, ToolFacts]) -> Iterator[Finding]:
    named = {name: facts for name, facts in tools.items() if compile_name(rule.tool).match(name)}
    if not named:
        yield _finding("no_such_tool", rule, "matches no tool")
        return
    body = rule.body
    if not body or any(_can_match(body, facts) for facts in named.values()):
        return
    key = _KEY_LIKE.match(body)
    if key is not None:
        yield _finding("no_such_key", rule, f"names {key.group(1)!r}, an argument of no tool that it matches")
    else:
        yield _finding("no_unnamed_subject", rule, "has a pattern, and its tools have no unnamed subject")


def _can_match(body: str, facts: ToolFacts) -> bool:
    """Tell whether some call may match; `key=` with no such argument is only taken for text in a command."""
    if pairs(body, facts.keys) is not None:
        return True
    if facts.unnamed is None:
        return False
    return facts.unnamed == "command" or _KEY_LIKE.match(body) is None


def _shadowed(rule: PermissionRule, rules: Iterable[PermissionRule]) -> Iterator[Finding]:
    if rule.effect is Effect.DENY:
        return
    for other in rules:
        if other.effect is Effect.DENY and _covers(other, rule):
            where = f"the deny {format_rule(other)!r} ({other.scope})"
            yield _finding("shadowed", rule, f"never counts: {where} matches all that it matches")
            return


def _covers(wide: PermissionRule, narrow: PermissionRule) -> bool:
    """Tell whether the first rule matches every call that the second does, as far as their texts show."""
    if not globs_include(tokens(wide.tool), tokens(narrow.tool)):
        return False
    if wide.body is None or wide.body == narrow.body:
        return True
    if narrow.body is None or _KEY_LIKE.match(wide.body) or _KEY_LIKE.match(narrow.body):
        return False
    return includes(wide.body, narrow.body)


def _repeated(rule: PermissionRule, earlier: Iterable[PermissionRule]) -> Iterator[Finding]:
    for other in earlier:
        if (other.effect, other.tool, other.body) == (rule.effect, rule.tool, rule.body):
            where = f"{other.source}:{other.line}" if other.line else other.source or str(other.scope)
            yield _finding("duplicate", rule, f"is written before, in {where}")
            return
