"""Runs commands in a local folder by a shell program, each as a process tree of its own."""

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from anyio import to_thread

from hilt.adapters._process import KEPT_BYTES, Completed, HeadTail, ProcessTree, follow, run_process, start_process
from hilt.core.errors import ConfigError, ToolError
from hilt.ports.runner import CommandResult

MAX_PROCESSES: Final = 10

_SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_OWN_PREFIXES: Final = ("HILT_", "MCP_")
# What a shell runs or defines before the command; the text that was decided must be all that runs.
_START_UP: Final = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS"})
_START_UP_PREFIX: Final = "BASH_FUNC_"
_POSIX: Final = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "yash"})


def find_program(configured: str | None, environ: Mapping[str, str]) -> str:
    """Return the path of the shell program: the configured one and no other, else `bash`, else `sh`.

    Raises:
        ConfigError: It is not there.
    """
    path = environ.get("PATH")
    for name in (configured,) if configured else ("bash", "sh"):
        found = shutil.which(name, path=path)
        if found:
            return found
    missing = f"no program {configured!r} is on PATH" if configured else "neither bash nor sh is on PATH"
    raise ConfigError(missing, key="shell.program")


def is_posix(program: str) -> bool:
    """Whether the program reads POSIX shell text, so that its commands can be analysed."""
    return os.path.basename(program) in _POSIX


def passed_on(environ: Mapping[str, str], pass_env: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that a command may see; `pass_env` names some that would be held back."""
    kept = {name: value for name, value in environ.items() if name in pass_env or not _held_back(name)}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}


def _held_back(name: str) -> bool:
    upper = name.upper()
    return (
        upper.startswith((*_OWN_PREFIXES, _START_UP_PREFIX))
        or upper in _START_UP
        or any(word in upper for word in _SECRET_WORDS)
    )


class ProcessPlaces:
    """How many commands run and how many may; one object may serve several runners."""

    def __init__(self, limit: int = MAX_PROCESSES) -> None:
        self._limit = limit
        self._taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place.

        Raises:
            ToolError: Every place is taken.
        """
        if self._taken >= self._limit:
            raise ToolError.execution_failed(
                f"Concurrency limit exceeded: {self._taken} processes, limit is {self._limit}"
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class ProcessRunner:
    """Runs commands below `root`; see `CommandRunner`.

    `program` is the path of the shell, `environ` the variables as `passed_on` gives them.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        program: str,
        environ: Mapping[str, str],
        places: ProcessPlaces | None = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._program = program
        self._environ = dict(environ)
        self._places = places if places is not None else ProcessPlaces()

    async def run(
        self, command: str, *, timeout_s: float, working_dir: str = "", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """See `CommandRunner.run`."""
        _check_text(command)
        with self._places.place():
            folder = await to_thread.run_sync(self._open_folder, working_dir)
            try:
                return await self._run(command, timeout_s=timeout_s, folder=folder, env=env or {})
            finally:
                os.close(folder)

    async def _run(self, command: str, *, timeout_s: float, folder: int, env: Mapping[str, str]) -> CommandResult:
        started = time.monotonic()
        try:
            done = await run_process(
                [self._program, "-c", command],
                timeout_s=timeout_s,
                cwd=_path_of(folder),
                env={**self._environ, **env},
            )
        except OSError as exc:
            raise self._not_started(exc) from exc
        return _result(done, time.monotonic() - started)

    async def start(self, command: str, *, timeout_s: float, working_dir: str = "") -> "RunningCommand":
        """See `CommandStarter.start`; its place is held until it has ended."""
        _check_text(command)
        with ExitStack() as held:
            held.enter_context(self._places.place())
            folder = await to_thread.run_sync(self._open_folder, working_dir)
            try:
                tree = await start_process(
                    [self._program, "-c", command],
                    cwd=_path_of(folder),
                    env=self._environ,
                    streams=("null", "pipe", "pipe"),
                )
            except OSError as exc:
                raise self._not_started(exc) from exc
            finally:
                os.close(folder)
            return RunningCommand(tree, held.pop_all(), timeout_s=timeout_s)

    def _not_started(self, exc: OSError) -> ToolError:
        name = os.path.basename(self._program)
        return ToolError.execution_failed(f"cannot start {name!r}: {exc.strerror}")

    def _open_folder(self, working_dir: str) -> int:
        """Open the folder first and judge what was opened, so that no link can be changed in between."""
        path = os.path.join(self._root, working_dir)
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, ValueError):
            if not self._holds(os.path.realpath(path) if "\0" not in path else "/"):
                raise _outside(working_dir) from None
            raise ToolError.execution_failed(f"working_dir {working_dir!r} is no directory") from None
        if self._holds(os.path.realpath(_path_of(folder))):
            return folder
        os.close(folder)
        raise _outside(working_dir)

    def _holds(self, real: str) -> bool:
        return Path(real).is_relative_to(self._root)


class RunningCommand:
    """A command that runs; see `StartedCommand`."""

    def __init__(self, tree: ProcessTree, held: ExitStack, *, timeout_s: float) -> None:
        self._tree = tree
        self._held = held
        self._timeout_s = timeout_s
        self._started = time.monotonic()
        self._sinks = (HeadTail(KEPT_BYTES), HeadTail(KEPT_BYTES))

    def so_far(self) -> CommandResult:
        """See `StartedCommand.so_far`."""
        stdout, stderr = (sink.kept() for sink in self._sinks)
        done = Completed(returncode=None, stdout=stdout, stderr=stderr)
        return _result(done, time.monotonic() - self._started)

    async def finish(self) -> CommandResult:
        """See `StartedCommand.finish`."""
        with self._held:
            done = await follow(self._tree, self._sinks, timeout_s=self._timeout_s)
        return _result(done, time.monotonic() - self._started)


def _path_of(folder: int) -> str:
    """Return a path that leads to the opened folder itself, wherever its name points by now."""
    if sys.platform == "darwin":  # pragma: no cover - there is no /proc there
        return fcntl.fcntl(folder, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    return f"/proc/self/fd/{folder}"


def _outside(working_dir: str) -> ToolError:
    return ToolError.access_denied(f"working_dir {working_dir!r} is outside the workspace")


def _check_text(command: str) -> None:
    try:
        usable = b"\0" not in command.encode()
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise ToolError.invalid_arguments("command: a command has no NUL and no half of a surrogate pair")


def _result(done: Completed, duration_s: float) -> CommandResult:
    natural = not done.timed_out and done.returncode is not None and done.returncode >= 0
    return CommandResult(
        exit_code=done.returncode if natural else None,
        stdout=done.stdout.content,
        stderr=done.stderr.content,
        stdout_dropped=done.stdout.dropped,
        stderr_dropped=done.stderr.dropped,
        timed_out=done.timed_out,
        duration_s=duration_s,
    )
