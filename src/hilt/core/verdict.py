"""What the rules say of one subject of a call, and the floors below which no allow goes."""

from collections.abc import Mapping
from typing import Final

from hilt.core.frozen import frozen
from hilt.core.permission import Effect, PermissionRule, Scope, Subject, Subjects
from hilt.core.protected import protected
from hilt.core.rule_index import NONE, RuleIndex
from hilt.core.rule_text import format_rule
from hilt.core.session import Mode

_EDITS: Final = frozenset({"Write", "Edit"})
_SAYS: Final = {Effect.DENY: "denies it", Effect.ASK: "asks", Effect.ALLOW: "allows it"}


@frozen(kw_only=False)
class Verdict:
    """Effect on one subject, the place of the rule behind it (or NONE), words to go before the rule's.

    `lasting` False: a grant neither answers the ask nor comes of it.
    """

    effect: Effect
    place: int = NONE
    reason: str = ""
    lasting: bool = True


NO_RULE: Final = Verdict(Effect.ASK, NONE, "no rule allows it")
_AUTO: Final = Verdict(Effect.ALLOW, NONE, "auto mode allows what no rule decides")
_EDIT: Final = Verdict(Effect.ALLOW, NONE, "accept-edits mode allows edits in the workspace")
_OPAQUE: Final = Verdict(Effect.ASK, NONE, "the command cannot be analysed")


def judge(tool: str, index: RuleIndex, whole: Mapping[Effect, int], unit: Subject | None, mode: Mode) -> Verdict:
    """Return what rules and mode say of one subject, given the rules that match the call as a whole."""
    deny, ask, allow = whole[Effect.DENY], whole[Effect.ASK], whole[Effect.ALLOW]
    if unit is not None:
        own = index.unnamed
        deny = min(deny, own.stops(unit, own.deny))
        ask = min(ask, own.stops(unit, own.ask))
        if unit.writes and allow != NONE and not _covers_writes(index.rules[allow]):
            allow = index.bare[Effect.ALLOW]
        allow = min(allow, own.lets(unit))
    if deny != NONE:
        return Verdict(Effect.DENY, deny)
    if ask != NONE and index.rules[ask].scope is not Scope.BUILTIN_DEFAULT:
        return Verdict(Effect.ASK, ask)
    if allow != NONE and (ask == NONE or index.rules[allow].scope is not Scope.BUILTIN_DEFAULT):
        return Verdict(Effect.ALLOW, allow)
    if mode is Mode.AUTO:
        return _AUTO
    if mode is Mode.ACCEPT_EDITS and tool in _EDITS and unit is not None and _in_workspace(unit):
        return _EDIT
    return NO_RULE if ask == NONE else Verdict(Effect.ASK, ask)


def _covers_writes(rule: PermissionRule) -> bool:
    """Tell whether an allow of the whole call covers a segment that redirects its output to a file."""
    return rule.body is None or ">" in rule.body


def _in_workspace(unit: Subject) -> bool:
    """Tell whether every spelling of a path lies in the workspace: those alone are written relative."""
    return unit.kind == "path" and not any(p.startswith(("/", "../")) or p == ".." for p in (unit.text, *unit.also))


def floor(tool: str, index: RuleIndex, subjects: Subjects, unit: Subject, mode: Mode) -> Verdict | None:
    """Return the ask that stands in place of an allow for this subject, or None."""
    if unit.opaque and (mode is not Mode.AUTO or index.fenced):
        return _OPAQUE
    if protected(tool, unit, index.guarded) and not index.names(unit, subjects):
        return Verdict(Effect.ASK, NONE, f"{unit.text!r} decides what may run, and no rule names it without a glob")
    return None


def risk(index: RuleIndex, subjects: Subjects) -> Verdict | None:
    """Return the ask for a call whose expansions could make a deny or ask match, or None."""
    place = index.could_stop(subjects)
    if place == NONE:
        return None
    return Verdict(Effect.ASK, place, "what an expansion becomes may be what a rule forbids: ", False)


def reason(verdict: Verdict, rule: PermissionRule | None) -> str:
    """Return why, for the model: names rule and scope, but never the text of a managed rule."""
    if rule is None:
        return verdict.reason
    if rule.scope is Scope.MANAGED:
        return f"{verdict.reason}a managed rule {_SAYS[rule.effect]}"
    return f"{verdict.reason}the rule {format_rule(rule)!r} ({rule.scope}) {_SAYS[rule.effect]}"
