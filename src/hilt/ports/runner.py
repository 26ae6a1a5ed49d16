"""Running commands in the workspace."""

from collections.abc import Mapping
from typing import Protocol

from hilt.core.frozen import frozen


@frozen
class CommandResult:
    """What a command gave. `exit_code` is None after a signal or a timeout; the streams are raw bytes.

    Of each stream at most 1 MiB is kept. `*_dropped` counts the bytes that were thrown away; where it is not
    0 the stream is its first and its last half MiB, so that the gap lies in the middle of the bytes.
    """

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    timed_out: bool = False
    duration_s: float = 0.0


class StartedCommand(Protocol):
    """A command that runs. Whoever started it must await `finish` once; nothing else ends it or reads its streams."""

    def so_far(self) -> CommandResult:
        """Return what it gave until now; `exit_code` is None and `timed_out` False while it runs."""
        ...

    async def finish(self) -> CommandResult:
        """Wait for its end and return all it gave, as `CommandRunner.run` does; when cancelled everything is killed."""
        ...


class CommandStarter(Protocol):
    """Starts commands that go on while others are waited for."""

    async def start(self, command: str, *, timeout_s: float, working_dir: str = "") -> StartedCommand:
        """Start the text as `CommandRunner.run` does and return as soon as it runs.

        Raises:
            ToolError: As `CommandRunner.run`.
        """
        ...


class CommandRunner(Protocol):
    """Runs commands of a shell inside the workspace and leaves nothing behind."""

    async def run(
        self, command: str, *, timeout_s: float, working_dir: str = "", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run the text unchanged by `PROGRAM -c`, standard input empty, in a session of its own.

        At the timeout the group gets TERM, two seconds later KILL; the output so far is kept. When the
        command ends its remaining children are killed and the output is read for at most half a second more.
        When the caller is cancelled everything is killed. `env` is added to what a command may see.

        Raises:
            ToolError: `working_dir` is outside the workspace or no directory, the text cannot be given to a
                program, the number of processes is at its limit, or the program cannot be started.
        """
        ...
