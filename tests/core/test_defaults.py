import pytest

from hilt.core.defaults import builtin_defaults
from hilt.core.permission import Effect, Scope, Subjects
from tests.core.rules import book, named

ALLOWED = [
    "Read",
    "ListDir",
    "Glob",
    "Grep",
    "WebSearch",
    "shell_jobs",
    "shell_job_status",
    "task_list",
    "task_get",
    "agent_status",
    "agent_list",
    "Subagent",
    "Parallel",
    "InspectSubagent",
    "SubagentStatus",
    "InspectMember",
    "memory_search",
    "Recall",
    "RecallUser",
    "SearchMemory",
    "SearchUserModel",
    "InspectMemory",
    "InspectUserMemory",
    "list_peers",
    "Skill",
    "ToolSearch",
    "ReadResult",
    "ListMcpResources",
    "ReadMcpResource",
    "shell_job_cancel",
    "task_create",
    "task_update",
    "agent_cancel",
    "Remember",
    "RememberUser",
    "UndoMemory",
    "UndoUserMemory",
    "CallMcpWithQuery",
]
ASKED = [
    "WebFetch",
    "FetchMcpResource",
    "Write",
    "Edit",
    "Copy",
    "Move",
    "Remove",
    "shell",
    "agent_spawn",
    "agent_fork",
    "Team",
    "ForgetMemory",
    "ForgetUserMemory",
    "send_message",
    "send_request",
    "send_response",
    "SkillDraft",
    "mcp__any__tool",
    "my_own_tool",
]


@pytest.mark.req("PRM-25")
@pytest.mark.parametrize(("tool", "expected"), [*((t, "allow") for t in ALLOWED), *((t, "ask") for t in ASKED)])
def test_each_tool_has_the_default_of_the_table(tool: str, expected: str) -> None:
    assert book().decide(tool, Subjects()).effect is Effect(expected)


@pytest.mark.req("PRM-25")
@pytest.mark.parametrize("tool", ["Subagent", "Parallel"])
def test_children_that_may_write_are_asked(tool: str) -> None:
    assert book().decide(tool, named({"mode": "read-only"})).effect is Effect.ALLOW
    assert book().decide(tool, named({}, "mode")).effect is Effect.ALLOW
    assert book().decide(tool, named({"mode": "read-write"})).effect is Effect.ASK


@pytest.mark.req("PRM-25")
def test_no_default_is_a_glob_that_another_tool_could_slip_under() -> None:
    rules = builtin_defaults()
    assert {rule.scope for rule in rules} == {Scope.BUILTIN_DEFAULT}
    assert [rule.tool for rule in rules if "*" in rule.tool or "?" in rule.tool] == []
    assert book().decide("SearchAndDestroy", Subjects()).effect is Effect.ASK
