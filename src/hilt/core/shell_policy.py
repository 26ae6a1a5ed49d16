"""The operator's list of commands, `shell.policy`: it holds whatever rules, grants and modes say."""

from collections.abc import Sequence
from typing import Final, Literal

from hilt.core.pattern import globs, matches, may_meet, tokens
from hilt.core.permission import Subject
from hilt.core.shell import Analysis

PolicyMode = Literal["unrestricted", "allow_list", "deny_list"]

PREFIX: Final = "Security policy violation: "
SHOWN_MAX_CHARS: Final = 200


def check_policy(analysis: Analysis, mode: PolicyMode, patterns: Sequence[str]) -> str | None:
    """Return why the command is refused, or None; patterns are those of rules.

    In `allow_list` every segment must match, as written, and what cannot be analysed is refused. In
    `deny_list` no segment may match, also behind the wrappers that rules see through.
    """
    if mode == "allow_list":
        for subject in analysis.subjects():
            if subject.opaque:
                return f"{PREFIX}the command cannot be analysed: {analysis.reason or 'a part of it is unclear'}"
            if not any(_covers(pattern, subject) for pattern in patterns):
                return f"{PREFIX}{_shown(subject.text)} is not on the list of allowed commands"
    elif mode == "deny_list":
        for subject in analysis.subjects():
            if any(matches(p, text) for p in patterns for text in (subject.text, *subject.also)):
                return f"{PREFIX}{_shown(subject.text)} is on the list of denied commands"
    return None


def policy_asks(analysis: Analysis, mode: PolicyMode, patterns: Sequence[str]) -> bool:
    """Tell whether the command is put to a person whatever rules, grants and modes say.

    So it is in `deny_list` mode with a command that cannot be analysed, or that an expansion may turn into a
    denied one.
    """
    if mode != "deny_list":
        return False
    return any(s.opaque or _may_match(patterns, s) for s in analysis.subjects())


def _covers(pattern: str, subject: Subject) -> bool:
    return (not subject.writes or ">" in pattern) and matches(pattern, subject.text)


def _may_match(patterns: Sequence[str], subject: Subject) -> bool:
    rows = [tokens(loose) for loose in subject.loose]
    return any(may_meet(own, row) for pattern in patterns for own in globs(pattern) for row in rows)


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_MAX_CHARS else text[:SHOWN_MAX_CHARS] + "…")
