"""The shell of an application: what runs commands, and the tools of the category."""

import os
from collections.abc import Sequence

from hilt.adapters.runner_process import ProcessPlaces, ProcessRunner, find_program, is_posix, passed_on
from hilt.app.config import Config
from hilt.builtins.shell import ShellPolicy, shell_tools
from hilt.ports.tool import Tool


def shell_of(config: Config, root: str, *, enabled: bool, given: bool) -> tuple[ProcessRunner | None, Sequence[Tool]]:
    """Return the runner and the tools, nothing where the category is off.

    `given` says that a configuration was: without one the environment is that of the process.

    Raises:
        ConfigError: The program is not there.
    """
    if not enabled:
        return None, ()
    shell = config.shell
    environ = config.environment if given else os.environ
    program = find_program(shell.program, environ)
    runner = ProcessRunner(
        root,
        program=program,
        environ=passed_on(environ, shell.pass_env),
        places=ProcessPlaces(shell.max_processes),
    )
    policy = ShellPolicy(mode=shell.policy.mode, patterns=shell.policy.patterns)
    return runner, shell_tools(policy=policy, posix=is_posix(program))
