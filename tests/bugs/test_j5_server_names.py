"""Kind j, case 5, the rules' half: a rule for one server's tools never covers a name of another server."""

import json
from pathlib import Path

import pytest

from hilt.core.permission import Effect, Subjects
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook

_CASES = json.loads((Path(__file__).parent / "inputs" / "j_rules.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.req("PRM-02")
def test_a_rule_covers_the_tools_of_its_server_alone() -> None:
    """Server names hold no `__`, so that `mcp__a__b__c` is the tool `b__c` of `a` and nothing else."""
    (case,) = [case for case in _CASES if case["case"] == "j5"]
    rules = RuleBook([parse_rule(text, effect=Effect.ALLOW) for text in case["allow"]])
    assert rules.decide("mcp__a__b__c", Subjects()).effect is Effect.ALLOW
    for other in ("mcp__a_b__c", "mcp__ab__c", "mcp__aa__b__c", "mcp__b__a__c", "mcp__A__c"):
        assert rules.decide(other, Subjects()).effect is Effect.ASK
