"""The categories of built-in tools, as users enable them (builtins.md section 1)."""

from collections.abc import Iterable, Mapping

from hilt.core.errors import ConfigError

CATEGORY_TOOLS: Mapping[str, tuple[str, ...]] = {
    "files": ("Read", "ListDir", "Glob", "Grep", "Write", "Edit", "Copy", "Move", "Remove"),
    "files.read": ("Read", "ListDir", "Glob", "Grep"),
    "shell": ("shell", "shell_jobs", "shell_job_status", "shell_job_cancel"),
    "tasks": ("task_create", "task_list", "task_get", "task_update"),
    "agents": ("agent_spawn", "agent_fork", "agent_status", "agent_cancel", "agent_list"),
    "delegation": (
        "Subagent",
        "InspectSubagent",
        "SubagentStatus",
        "Parallel",
        "Team",
        "InspectMember",
    ),
    "memory": (
        "memory_search",
        "Remember",
        "Recall",
        "SearchMemory",
        "InspectMemory",
        "ForgetMemory",
        "UndoMemory",
        "RememberUser",
        "RecallUser",
        "SearchUserModel",
        "InspectUserMemory",
        "ForgetUserMemory",
        "UndoUserMemory",
    ),
    "comms": ("send_message", "send_request", "send_response", "list_peers"),
    "skills": ("Skill", "SkillDraft"),
    "web": ("WebFetch", "WebSearch"),
}
"""Every category and its tools."""

PARTIAL = frozenset({"files.read"})
"""Categories that are part of another one."""


def checked_categories(names: Iterable[str], *, source: str = "", line: int = 0) -> frozenset[str]:
    """Return the categories as a set; `source` and `line` say where they were written.

    Raises:
        ConfigError: One is unknown; lists those that are known.
    """
    wanted = frozenset(names)
    unknown = sorted(wanted - set(CATEGORY_TOOLS))
    if unknown:
        raise ConfigError(
            f"unknown category {unknown[0]!r}; known are {', '.join(sorted(CATEGORY_TOOLS))}",
            key="tools.enable",
            source=source or None,
            line=line or None,
        )
    return wanted
