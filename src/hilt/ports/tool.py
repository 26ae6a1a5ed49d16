"""The tool interface and the world that a tool may touch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.runner import CommandRunner
from hilt.ports.workspace import Workspace

S = TypeVar("S")

ProgressSink = Callable[[float, float | None, str], None]


class Environment:
    """What one session lends to its tools: files, commands, services of the host.

    `workspace` is None in a session without files, `runner` None where commands cannot run.
    """

    __slots__ = ("_keep_alive", "_progress", "_services", "runner", "session_id", "workspace")

    def __init__(
        self,
        *,
        workspace: Workspace | None = None,
        runner: CommandRunner | None = None,
        services: Mapping[type, object] | None = None,
        session_id: str = "",
        progress: ProgressSink | None = None,
        keep_alive: Callable[[], None] | None = None,
    ) -> None:
        self.workspace = workspace
        self.runner = runner
        self.session_id = session_id
        self._services: Mapping[type, object] = {} if services is None else services
        self._progress = progress
        self._keep_alive = keep_alive

    def service(self, kind: type[S]) -> S:
        """Return the object that the host provided for `kind`.

        Raises:
            LookupError: Nothing was provided for it.
        """
        found = self._services.get(kind)
        if found is None:
            raise LookupError(f"no service of type {kind.__qualname__} was provided; pass it in services=")
        return found  # type: ignore[return-value]  # the mapping pairs each type with an object of it

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Emit one `tool.progress` event for the running call and restart its idle deadline."""
        if self._keep_alive is not None:
            self._keep_alive()
        if self._progress is not None:
            self._progress(done, total, text)

    def keep_alive(self) -> None:
        """Restart the idle deadline of the running call without an event."""
        if self._keep_alive is not None:
            self._keep_alive()

    def for_call(self, *, progress: ProgressSink | None, keep_alive: Callable[[], None] | None) -> "Environment":
        """Return the same environment as one call sees it."""
        return Environment(
            workspace=self.workspace,
            runner=self.runner,
            services=self._services,
            session_id=self.session_id,
            progress=progress,
            keep_alive=keep_alive,
        )


@runtime_checkable
class Tool(Protocol):
    """A tool: any object with these three; no base class is needed.

    `read_only` is a contract: True lets the call run beside other reads. Optional further members, each looked
    up by name: `advertised()` (Disclosable), `read_only_for(call)`, `targets(call)`, `subjects(call)`,
    `deadline_s(call)`, `timeout_s`, `idle_timeout_s`; see the small Protocols below.
    """

    @property
    def spec(self) -> ToolSpec:
        """What the model sees."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether a call only reads."""
        ...

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Run the call; return a result for success and for failures that the model can act on.

        Raises:
            ToolError: A failure with a code of its own.
            Exception: A fault of the host; becomes one `execution_failed` result.
        """
        ...


@runtime_checkable
class Disclosable(Protocol):
    """A tool with a cheap form for the tool list."""

    def advertised(self) -> ToolSpec:
        """Return name, one line of description and a minimal schema."""
        ...


@runtime_checkable
class ReadOnlyPerCall(Protocol):
    """A read-only tool that some calls turn into a mutating one."""

    def read_only_for(self, call: ToolCall) -> bool:
        """Return False for a call that changes something; True on a mutating tool has no effect."""
        ...


@runtime_checkable
class Targeted(Protocol):
    """A tool that acts in another tool's name."""

    def targets(self, call: ToolCall) -> Sequence[ToolCall]:
        """Return the calls it will make; rules, flag and deadline of each apply too."""
        ...


@runtime_checkable
class Subjected(Protocol):
    """A tool that says what permission patterns see of a call."""

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the subjects; called with decoded, validated arguments."""
        ...


@runtime_checkable
class DeadlinePerCall(Protocol):
    """A tool with a deadline of its own for each call."""

    def deadline_s(self, call: ToolCall) -> float:
        """Return seconds from the start of execution."""
        ...


class ToolSource(Protocol):
    """Many tools behind one dispatch function. Optional member: `read_only_tools`, a set of names."""

    def tools(self) -> Sequence[ToolSpec]:
        """Return the specs of all its tools."""
        ...

    async def dispatch(self, call: ToolCall) -> ToolResult:
        """Run one call of any of them."""
        ...
