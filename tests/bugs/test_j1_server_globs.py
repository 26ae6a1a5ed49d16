"""Kind j, case 1: a glob over the tools of one server matches them all and nothing else."""

import json
from pathlib import Path

import pytest

from hilt.core.permission import Effect, Subjects
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook

_CASES = [
    case
    for case in json.loads((Path(__file__).parent / "inputs" / "j_rules.json").read_text(encoding="utf-8"))["cases"]
    if case["case"] == "j1"
]


@pytest.mark.req("PRM-01", "PRM-02", "PRM-21")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['call']}-{case['want']}")
@pytest.mark.parametrize("deny_first", [True, False])
def test_a_server_glob_is_anchored_and_deny_wins_in_any_order(case: dict[str, list[str]], deny_first: bool) -> None:
    denied = [parse_rule(text, effect=Effect.DENY) for text in case["deny"]]
    allowed = [parse_rule(text, effect=Effect.ALLOW) for text in case["allow"]]
    rules = RuleBook([*denied, *allowed] if deny_first else [*allowed, *denied])
    decided = rules.decide(str(case["call"]), Subjects(named={"id": ()})).effect
    wanted = {"allow": {Effect.ALLOW}, "deny": {Effect.DENY}, "not allow": {Effect.ASK, Effect.DENY}}
    assert decided in wanted[str(case["want"])]


def test_there_are_five_cases() -> None:
    assert len(_CASES) == 5
