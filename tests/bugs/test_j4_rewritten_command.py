"""Kind j, case 4, the rules' half: a rewritten or wrapped command is denied like the one it stands for."""

import json

import pytest

from hilt.core.permission import Effect, Subjects
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook, worst
from hilt.core.shell import analyse

_RULES = RuleBook([parse_rule("shell(rm:*)", effect=Effect.DENY), parse_rule("shell", effect=Effect.ALLOW)])


def _decide(arguments: str) -> Effect:
    segments = analyse(json.loads(arguments)["command"]).subjects()
    return _RULES.decide("shell", Subjects(unnamed=segments, named={"command": segments})).effect


@pytest.mark.req("PRM-62")
@pytest.mark.parametrize(
    ("asked", "rewritten"),
    [
        ('{"command": "echo hi"}', '{"command": "rm victim.txt"}'),
        ('{"command": "rm victim.txt"}', '{"command": "nice -n 5 rm victim.txt"}'),
    ],
)
def test_a_rewrite_to_a_denied_command_is_denied(asked: str, rewritten: str) -> None:
    assert _decide(rewritten) is Effect.DENY


@pytest.mark.req("PRM-21")
def test_the_worse_of_before_and_after_counts() -> None:
    before = analyse("rm victim.txt").subjects()
    after = analyse("echo hi").subjects()
    decisions = [_RULES.decide("shell", Subjects(unnamed=s, named={"command": s})) for s in (before, after)]
    assert worst(decisions).effect is Effect.DENY
