"""The built-in default of every tool, as rules of the weakest scope; a tool that is not here is asked."""

from typing import Final

from hilt.core.permission import Effect, PermissionRule, Scope

SOURCE: Final = "built-in default"

_ALLOWED: Final = """
    Read ListDir Glob Grep WebSearch shell_jobs shell_job_status task_list task_get agent_status agent_list
    Subagent Parallel InspectSubagent SubagentStatus InspectMember memory_search Recall RecallUser
    SearchMemory SearchUserModel InspectMemory InspectUserMemory list_peers Skill ToolSearch ReadResult ListMcpResources
    ReadMcpResource shell_job_cancel task_create task_update agent_cancel Remember RememberUser UndoMemory
    UndoUserMemory
"""

# It has the default of its target, which is decided beside it; its own rule only lets it through.
_TARGETED: Final = ("CallMcpWithQuery",)

_ASKED: Final = """
    WebFetch FetchMcpResource Write Edit Copy Move Remove shell agent_spawn agent_fork Team ForgetMemory
    ForgetUserMemory send_message send_request send_response SkillDraft
"""

# An ask beats an allow of the same scope: these are allowed but for calls that may write.
_ASKED_IN_READ_WRITE: Final = ("Subagent", "Parallel")


def builtin_defaults() -> list[PermissionRule]:
    """Return the defaults of all built-in tools, offered or not; names are written out, none is a glob."""
    rules = [_rule(Effect.ALLOW, tool) for tool in (*_ALLOWED.split(), *_TARGETED)]
    rules += [_rule(Effect.ASK, tool) for tool in _ASKED.split()]
    rules += [_rule(Effect.ASK, tool, "mode=read-write") for tool in _ASKED_IN_READ_WRITE]
    return rules


def _rule(effect: Effect, tool: str, body: str | None = None) -> PermissionRule:
    return PermissionRule(effect=effect, tool=tool, body=body, scope=Scope.BUILTIN_DEFAULT, source=SOURCE)
