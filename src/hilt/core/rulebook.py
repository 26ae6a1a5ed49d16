"""The decision on a call: rules, mode and grants in, one effect and its reason out."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from hilt.core.frozen import frozen
from hilt.core.pattern import compile_name
from hilt.core.permission import Decision, Effect, PermissionRule, Scope, Subject, Subjects
from hilt.core.rule_index import NONE, Places, RuleIndex
from hilt.core.rule_text import grant_rule, mentioned_keys, rememberable
from hilt.core.session import Mode
from hilt.core.verdict import NO_RULE, Verdict, floor, judge, reason, risk

_SCOPES: Final = {scope: rank for rank, scope in enumerate(Scope)}
_UNRULED: Final = Decision(effect=Effect.ASK, reason=NO_RULE.reason)
_UNRULED_ONCE: Final = replace(_UNRULED, rememberable=False)
_NO_KEYS: Final = frozenset[str]()
_EFFECTS: Final = {effect: rank for rank, effect in enumerate(Effect)}


@frozen
class SubjectVerdict:
    """What the rules say of one subject; `lost` are the other rules that match it, strongest scope first."""

    subject: str
    effect: Effect
    rule: PermissionRule | None
    reason: str
    lost: tuple[PermissionRule, ...] = ()


@frozen
class Explanation:
    """A decision and what led to it, a verdict for each unnamed subject, or one for the whole call."""

    decision: Decision
    subjects: tuple[SubjectVerdict, ...]


class _Shelf(NamedTuple):
    """The rules that name a tool, the keys that they mention, and an index for each part of those it takes."""

    members: list[int]
    mentioned: frozenset[str]
    indexes: dict[frozenset[str], RuleIndex]


class RuleBook:
    """The rules of a session; decides calls by them. Rules never change, `with_rules` makes another book."""

    def __init__(
        self, rules: Iterable[PermissionRule], *, root: str = "", home: str = "", guarded: Iterable[str] = ()
    ) -> None:
        """Sort the rules by scope, in it as given; `root`, the workspace, and `home` are absolute.

        A change of a file in one of the `guarded` folders, absolute too, is asked at least.
        """
        self.rules = tuple(sorted(rules, key=lambda rule: _SCOPES[rule.scope]))
        self._names = [compile_name(rule.tool) for rule in self.rules]
        self._places = Places(root, home, guarded)
        self._shelves: dict[str, _Shelf] = {}

    def with_rules(self, more: Iterable[PermissionRule]) -> "RuleBook":
        """Return a book with further rules, each behind those of its scope."""
        places = self._places
        return RuleBook([*self.rules, *more], root=places.root, home=places.home, guarded=places.guarded)

    def decide(
        self,
        tool: str,
        subjects: Subjects,
        *,
        mode: Mode = Mode.DEFAULT,
        grants: Collection[PermissionRule] = (),
        read_only: bool = False,
    ) -> Decision:
        """Return whether the call runs, is put to a person, or is refused.

        `read_only` is the flag of this call.
        `grants` are rules of `grant_rule`; one answers an ask about the very call that it was made for.
        """
        if mode is Mode.PLAN and not read_only:
            return Decision(effect=Effect.DENY, reason="plan mode admits calls that only read")
        if mode is Mode.DEFAULT and not grants and not self._index(tool, subjects).members:
            return _UNRULED if rememberable(subjects) else _UNRULED_ONCE
        shown = self._spelled(subjects)
        verdicts = self._verdicts(tool, shown, mode)
        return self._settled(tool, shown, verdicts, grants)

    def explain(
        self,
        tool: str,
        subjects: Subjects,
        *,
        mode: Mode = Mode.DEFAULT,
        grants: Collection[PermissionRule] = (),
        read_only: bool = False,
    ) -> Explanation:
        """Return the decision of `decide` with the rules that won and lost for each subject."""
        decision = self.decide(tool, subjects, mode=mode, grants=grants, read_only=read_only)
        shown = self._spelled(subjects)
        verdicts = self._verdicts(tool, shown, mode)
        units = shown.unnamed or (None,)
        return Explanation(
            decision=decision,
            subjects=tuple(
                self._told(tool, shown, unit, verdict) for unit, verdict in zip(units, verdicts, strict=True)
            ),
        )

    # ------------------------------------------------------------ the parts of a decision

    def _index(self, tool: str, subjects: Subjects) -> RuleIndex:
        """Return the rules of a tool as they read with the arguments it takes; each form is built once."""
        shelf = self._shelves.get(tool)
        if shelf is None:
            members = [
                place
                for place, name in enumerate(self._names)
                if name.match(tool) and tool not in self.rules[place].spares
            ]
            keys = frozenset[str]().union(*(mentioned_keys(self.rules[p].body or "") for p in members))
            shelf = self._shelves[tool] = _Shelf(members, keys, {})
        keys = frozenset(key for key in shelf.mentioned if key in subjects.named) if shelf.mentioned else _NO_KEYS
        found = shelf.indexes.get(keys)
        if found is None:
            found = shelf.indexes[keys] = RuleIndex(shelf.members, self.rules, keys, self._places)
        return found

    def _spelled(self, subjects: Subjects) -> Subjects:
        """Return the subjects with each path as patterns see it."""
        unnamed = subjects.unnamed
        if not _has_paths(subjects):
            return subjects
        return Subjects(
            unnamed=None if unnamed is None else tuple(self._spelled_path(s) for s in unnamed),
            named={key: tuple(self._spelled_path(s) for s in group) for key, group in subjects.named.items()},
        )

    def _spelled_path(self, subject: Subject) -> Subject:
        if subject.kind != "path":
            return subject
        text = self._places.spelled(subject.text)
        others = dict.fromkeys(self._places.spelled(other) for other in subject.also)
        others.pop(text, None)
        return replace(subject, text=text, also=tuple(others))

    def _verdicts(self, tool: str, subjects: Subjects, mode: Mode) -> list[Verdict]:
        """Return a verdict for each unnamed subject, or one for the call as a whole."""
        index = self._index(tool, subjects)
        whole = index.whole(subjects)
        doubt = risk(index, subjects)
        if not subjects.unnamed:
            verdict = judge(tool, index, whole, None, mode)
            return [doubt if doubt is not None and verdict.effect is Effect.ALLOW else verdict]
        verdicts = []
        for unit in subjects.unnamed:
            verdict = judge(tool, index, whole, unit, mode)
            if verdict.effect is Effect.ALLOW or verdict is NO_RULE:
                verdict = floor(tool, index, subjects, unit, mode) or verdict
            if verdict.effect is Effect.ALLOW:
                verdict = doubt or verdict
            verdicts.append(verdict)
        return verdicts

    def _rule(self, verdict: Verdict) -> PermissionRule | None:
        return None if verdict.place == NONE else self.rules[verdict.place]

    def _settled(
        self, tool: str, subjects: Subjects, verdicts: list[Verdict], grants: Collection[PermissionRule]
    ) -> Decision:
        """Return the worst verdict as the decision, unless it is an ask that a grant answers."""
        chosen = min(verdicts, key=_severity) if len(verdicts) > 1 else verdicts[0]
        rule = self._rule(chosen)
        if chosen.effect is not Effect.ASK:
            return Decision(effect=chosen.effect, reason=reason(chosen, rule), rule=rule)
        lasting = rememberable(subjects) and all(self._is_lasting(verdict) for verdict in verdicts)
        if lasting and grants:
            wanted = grant_rule(tool, subjects)
            for grant in grants:
                if grant.tool == wanted.tool and grant.body == wanted.body:
                    return Decision(effect=Effect.ALLOW, reason="it was allowed for good", rule=grant)
        return Decision(effect=Effect.ASK, reason=reason(chosen, rule), rule=rule, rememberable=lasting)

    def _is_lasting(self, verdict: Verdict) -> bool:
        """Tell whether a grant may stand against the verdict: not against an ask of Managed scope."""
        rule = self._rule(verdict)
        managed = verdict.effect is Effect.ASK and rule is not None and rule.scope is Scope.MANAGED
        return verdict.lasting and not managed

    def _told(self, tool: str, subjects: Subjects, unit: Subject | None, verdict: Verdict) -> SubjectVerdict:
        """Return a verdict for people, with the rules that matched and did not decide."""
        index = self._index(tool, subjects)
        lost = [place for place in index.matching(unit, subjects) if place != verdict.place]
        rule = self._rule(verdict)
        return SubjectVerdict(
            subject=tool if unit is None else unit.text,
            effect=verdict.effect,
            rule=rule,
            reason=reason(verdict, rule),
            lost=tuple(self.rules[place] for place in lost),
        )


def _has_paths(subjects: Subjects) -> bool:
    for subject in subjects.unnamed or ():
        if subject.kind == "path":
            return True
    for group in subjects.named.values():
        for subject in group:
            if subject.kind == "path":
                return True
    return False


def _severity(verdict: Verdict) -> int:
    return _EFFECTS[verdict.effect]


def worst(decisions: Iterable[Decision]) -> Decision:
    """Return the worst of several decisions on one call: deny, then ask, then allow; the first among equals.

    Raises:
        ValueError: There is none.
    """
    every = list(decisions)
    chosen = min(every, key=lambda decision: _EFFECTS[decision.effect])
    lasting = all(decision.rememberable for decision in every if decision.effect is chosen.effect)
    return replace(chosen, rememberable=lasting) if chosen.rememberable != lasting else chosen
