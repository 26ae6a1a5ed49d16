"""The category `shell`: run commands, in the foreground and as jobs."""

from hilt.builtins.shell.shell import Shell, ShellPolicy
from hilt.builtins.shell.shell_job_cancel import ShellJobCancel
from hilt.builtins.shell.shell_job_status import ShellJobStatus
from hilt.builtins.shell.shell_jobs import ShellJobsTool
from hilt.ports.tool import Tool

__all__ = ["ShellPolicy", "shell_tools"]


def shell_tools(*, policy: ShellPolicy, posix: bool = True) -> list[Tool]:
    """Return all tools of the category; `posix` says whether the program reads POSIX text."""
    return [Shell(policy=policy, posix=posix), ShellJobsTool(), ShellJobStatus(), ShellJobCancel()]
