"""The rules that name one tool, arranged so that a call is held against all of them at once."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hilt.core.path_text import path_text, pattern_path
from hilt.core.pattern import Tokens, globs, is_literal, may_meet, regex_source, tokens, unescape
from hilt.core.permission import Effect, PermissionRule, Subject, Subjects
from hilt.core.rule_text import pairs

NONE: Final = 1 << 30
"""Stands for "no rule": greater than the place of any rule."""

LOOSE_MAX_CHARS: Final = 1000
"""A longer segment with expansions in it counts as one that could match any pattern."""


class Places:
    """Where the workspace and the home directory are, for path patterns; both absolute, or empty.

    `guarded` are absolute folders whose files decide what is followed.
    """

    __slots__ = ("guarded", "home", "root")

    def __init__(self, root: str, home: str, guarded: Iterable[str] = ()) -> None:
        self.root = root.rstrip("/")
        self.home = home.rstrip("/")
        self.guarded = tuple(guarded)

    def spelled(self, path: str) -> str:
        """Return the path as patterns see it."""
        return path_text(path, root=self.root)

    def absolute(self, spelled: str) -> str:
        """Return the absolute form of a spelled path."""
        if spelled.startswith("/") or not self.root:
            return spelled
        return self.root if spelled == "." else f"{self.root}/{spelled}"


class PatternSet:
    """Patterns of several rules as one expression; the first rule that matches is told by its place."""

    __slots__ = ("_absolute", "_entries", "_relative", "_text", "places")

    def __init__(self, entries: Iterable[tuple[int, str]], places: Places) -> None:
        self._entries = tuple(entries)
        self.places = places
        self._text = _Alternatives(self._entries)
        self._relative: _Alternatives | None = None
        self._absolute: _Alternatives | None = None

    def first(self, text: str) -> int:
        """Return the place of the first rule whose pattern matches the text."""
        return self._text.first(text)

    def first_path(self, spelled: str) -> int:
        """Return the place of the first rule whose path pattern matches the spelled path."""
        if self._relative is None or self._absolute is None:
            home, root = self.places.home, self.places.root
            every = [(place, pattern_path(p, root=root, home=home)) for place, p in self._entries]
            self._relative = _Alternatives((place, p) for place, p in every if not p.startswith("/"))
            self._absolute = _Alternatives((place, p) for place, p in every if p.startswith("/"))
        return min(self._relative.first(spelled), self._absolute.first(self.places.absolute(spelled)))


class _Alternatives:
    __slots__ = ("_places", "_regex")

    def __init__(self, entries: Iterable[tuple[int, str]]) -> None:
        known = tuple(entries)
        self._places = tuple(place for place, _ in known)
        # The empty group at the end of each alternative tells which one matched.
        source = "|".join(f"(?:{regex_source(globs(pattern))})()" for _, pattern in known)
        self._regex = re.compile(source, re.DOTALL) if known else None

    def first(self, text: str) -> int:
        if self._regex is None:
            return NONE
        match = self._regex.match(text)
        return NONE if match is None else self._places[(match.lastindex or 1) - 1]


class Effects:
    """The patterns of one unnamed subject or one argument, apart by effect."""

    __slots__ = ("allow", "ask", "deny", "writing")

    def __init__(self, entries: Sequence[tuple[int, str]], rules: Sequence[PermissionRule], places: Places) -> None:
        def of(effect: Effect) -> list[tuple[int, str]]:
            return [(place, pattern) for place, pattern in entries if rules[place].effect is effect]

        self.deny = PatternSet(of(Effect.DENY), places)
        self.ask = PatternSet(of(Effect.ASK), places)
        self.allow = PatternSet(of(Effect.ALLOW), places)
        self.writing = PatternSet(((p, pattern) for p, pattern in of(Effect.ALLOW) if ">" in pattern), places)

    def stops(self, subject: Subject, patterns: PatternSet) -> int:
        """Return the first deny or ask that matches the subject in any of its spellings."""
        first = patterns.first_path if subject.kind == "path" else patterns.first
        found = first(subject.text)
        for other in subject.also:
            found = min(found, first(other))
        return found

    def lets(self, subject: Subject) -> int:
        """Return the first allow that covers the subject, a path in each of its spellings."""
        if subject.opaque:
            return NONE
        if subject.kind == "path":
            return max(self.allow.first_path(spelling) for spelling in (subject.text, *subject.also))
        return (self.writing if subject.writes else self.allow).first(subject.text)

    def by_argument(self, effect: Effect, group: Sequence[Subject]) -> int:
        """Return the first rule that matches an argument, all its subjects for an allow and else any."""
        if not group:
            return NONE
        if effect is Effect.ALLOW:
            return max(self.lets(subject) for subject in group)
        patterns = self.deny if effect is Effect.DENY else self.ask
        return min(self.stops(subject, patterns) for subject in group)


Part = tuple[str, str, Effects]
JointRule = tuple[int, tuple[Part, ...]]


class _Joint:
    """Rules of several pairs, found by the text of a pair without a glob where they have one."""

    __slots__ = ("_anchored", "_others", "known")

    def __init__(self) -> None:
        self.known: list[JointRule] = []
        self._anchored: dict[str, dict[str, list[JointRule]]] = {}
        self._others: list[JointRule] = []

    def add(self, place: int, parts: tuple[Part, ...]) -> None:
        rule = (place, parts)
        self.known.append(rule)
        for key, pattern, _ in parts:
            if is_literal(pattern):
                self._anchored.setdefault(key, {}).setdefault(unescape(pattern), []).append(rule)
                return
        self._others.append(rule)

    def near(self, subjects: Subjects) -> list[JointRule]:
        """Return the rules that may match, and some that do not."""
        found = list(self._others)
        for key, texts in self._anchored.items():
            group = subjects.named.get(key, ())
            if any(subject.kind == "path" or subject.also for subject in group):
                return self.known
            for subject in group:
                found += texts.get(subject.text, ())
        return found


class RuleIndex:
    """The rules of one tool whose arguments are `keys`; places count in the whole book, strongest first."""

    __slots__ = (
        "_joint",
        "_literal",
        "_loose",
        "_only_unnamed",
        "_patterned",
        "_singles",
        "bare",
        "fenced",
        "guarded",
        "keys",
        "members",
        "rules",
        "unnamed",
    )

    def __init__(
        self, members: Sequence[int], rules: Sequence[PermissionRule], keys: Iterable[str], places: Places
    ) -> None:
        self.rules = rules
        self.guarded = tuple(places.spelled(folder) for folder in places.guarded)
        self.members = tuple(members)
        self.keys = frozenset(keys)
        self.bare = dict.fromkeys(Effect, NONE)
        self._joint = _Joint()
        self._loose: list[tuple[int, str | None, tuple[Tokens, ...]]] = []
        unnamed: list[tuple[int, str]] = []
        singles: dict[str, list[tuple[int, str]]] = {}
        for place in members:
            rule = rules[place]
            if rule.body is None:
                self.bare[rule.effect] = min(self.bare[rule.effect], place)
                continue
            found = pairs(rule.body, self.keys)
            if found is None:
                unnamed.append((place, rule.body))
            elif len(found) == 1:
                singles.setdefault(found[0][0], []).append((place, found[0][1]))
            else:
                parts = tuple((key, p, Effects([(place, p)], rules, places)) for key, p in found)
                self._joint.add(place, parts)
            if rule.effect is not Effect.ALLOW:
                self._loose.extend((place, key, globs(p)) for key, p in found or ((None, rule.body),))
        self.unnamed = Effects(unnamed, rules, places)
        self._singles = {key: Effects(entries, rules, places) for key, entries in singles.items()}
        literal: dict[str | None, list[tuple[int, str]]] = {None: unnamed}
        literal.update(singles)
        self._literal = _only_literal(literal, rules, places)
        self._only_unnamed = not self._singles and not self._joint.known
        self._patterned = bool(unnamed)
        self.fenced = bool(self._loose)

    def whole(self, subjects: Subjects) -> dict[Effect, int]:
        """Return, by effect, the first rule that matches the call as a whole: by name or arguments."""
        if self._only_unnamed and (subjects.unnamed or not self._patterned):
            return self.bare
        found = dict(self.bare)
        for key, effects in self._singles.items():
            group = subjects.named.get(key, ())
            for effect in Effect:
                found[effect] = min(found[effect], effects.by_argument(effect, group))
        for place, parts in self._joint.near(subjects):
            effect = self.rules[place].effect
            if place < found[effect] and _all_match(parts, effect, subjects):
                found[effect] = place
        if not subjects.unnamed and not any(subjects.named.values()):
            for effect in Effect:
                found[effect] = min(found[effect], self.unnamed.by_argument(effect, (Subject(text=""),)))
        return found

    def matching(self, unit: Subject | None, subjects: Subjects) -> list[int]:
        """Return the places of all rules that match the call as a whole or this subject of it."""
        found = []
        for place in self.members:
            alone = RuleIndex([place], self.rules, self.keys, self.unnamed.deny.places)
            whole = min(alone.whole(subjects).values())
            own = NONE if unit is None else alone.unnamed.by_argument(self.rules[place].effect, (unit,))
            if min(whole, own) != NONE:
                found.append(place)
        return found

    def names(self, subject: Subject, subjects: Subjects) -> bool:
        """Tell whether an allow without a glob names this subject, unnamed or as one of the arguments."""
        for key, effects in self._literal.items():
            meant = key is None or subject in subjects.named.get(key, ())
            if meant and effects.lets(subject) != NONE:
                return True
        return any(
            any(is_literal(pattern) and subject in subjects.named.get(key, ()) for key, pattern, _ in parts)
            and _all_match(parts, Effect.ALLOW, subjects)
            for _, parts in self._joint.near(subjects)
        )

    def could_stop(self, subjects: Subjects) -> int:
        """Return the first deny or ask that an expansion in the call could make match."""
        if not self.fenced or not _has_loose(subjects):
            return NONE
        groups: dict[str | None, tuple[Subject, ...]] = {None: subjects.unnamed or ()}
        groups.update(subjects.named)
        for place, key, rows in self._loose:
            for subject in groups.get(key, ()):
                if any(_could_meet(loose, rows) for loose in subject.loose):
                    return place
        return NONE


def _has_loose(subjects: Subjects) -> bool:
    every = (subjects.unnamed or (), *subjects.named.values())
    return any(subject.loose for group in every for subject in group)


def _all_match(parts: Iterable[Part], effect: Effect, subjects: Subjects) -> bool:
    return all(effects.by_argument(effect, subjects.named.get(key, ())) != NONE for key, _, effects in parts)


def _only_literal(
    entries: Mapping[str | None, Sequence[tuple[int, str]]], rules: Sequence[PermissionRule], places: Places
) -> dict[str | None, Effects]:
    """Keep the allows that name one text; only their `lets` is asked."""
    kept = {
        key: [(place, p) for place, p in known if rules[place].effect is Effect.ALLOW and is_literal(p)]
        for key, known in entries.items()
    }
    return {key: Effects(known, rules, places) for key, known in kept.items() if known}


def _could_meet(loose: str, rows: tuple[Tokens, ...]) -> bool:
    if len(loose) > LOOSE_MAX_CHARS:
        return True
    other = tokens(loose)
    return any(may_meet(row, other) for row in rows)
