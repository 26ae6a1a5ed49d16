"""Makes a tool of a plain function: `@tool`, with the schema from the signature."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Generic, ParamSpec, TypeVar, overload

import anyio
import anyio.to_thread

from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.docstring import read_docstring
from hilt.engine.returned import to_result
from hilt.engine.signature import read_signature
from hilt.ports.tool import Environment

P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Generic[P, R]):
    """A tool that calls a function; called directly it is that function.

    `timeout_s` is the deadline of a call and `idle_timeout_s` how long it may go without progress, both in
    seconds; None leaves them to the settings.
    """

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        read_only: bool = False,
        timeout_s: float | None = None,
        idle_timeout_s: float | None = None,
    ) -> None:
        """Read the function.

        Raises:
            TypeError: A parameter has no annotation or no schema; the message names it.
            InvalidSpecError: The name breaks a rule.
        """
        functools.update_wrapper(self, function)
        doc = read_docstring(function.__doc__)
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        self._signature = read_signature(function, doc.parameters)
        self._spec = ToolSpec(name or function.__name__, doc.text, self._signature.schema)
        self.read_only = read_only
        self.timeout_s = timeout_s
        self.idle_timeout_s = idle_timeout_s

    @property
    def spec(self) -> ToolSpec:
        """What the model sees."""
        return self._spec

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as it is."""
        return self._function(*args, **kwargs)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Call the function with the call's arguments and make a result of what it returns.

        A plain function runs in a worker thread with the caller's context variables. A thread that outlives a
        cancellation is left behind and holds no place.

        Raises:
            ToolError: The arguments do not fit, or the value cannot become JSON.
        """
        positional, keyword = self._signature.bind(call, env)
        function: Callable[..., object] = self._function
        bound = functools.partial(function, *positional, **keyword)
        if self._is_async:
            returned = bound()
            value = await returned if isinstance(returned, Awaitable) else returned
        else:
            # One place of its own for each call: nothing waits for a thread that was left behind.
            place = anyio.CapacityLimiter(1)
            value = await anyio.to_thread.run_sync(bound, abandon_on_cancel=True, limiter=place)
        return to_result(call, value)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool = False,
    timeout_s: float | None = None,
    idle_timeout_s: float | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    read_only: bool = False,
    timeout_s: float | None = None,
    idle_timeout_s: float | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function, plain or async: `@tool`, or `@tool(read_only=True)`.

    The name is the function's unless given, the description its docstring without the `Args:` section, the
    schema its signature. A parameter annotated `Environment` or `ToolCall` receives that object instead.
    `read_only` is a promise that a call only reads: it may then run beside others.

    Raises:
        TypeError: A parameter has no annotation or no schema, or is `*args` or `**kwargs`.
        InvalidSpecError: The name breaks a rule.
    """

    def made(of: Callable[P, R]) -> FunctionTool[P, R]:
        return FunctionTool(of, name=name, read_only=read_only, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s)

    return made if function is None else made(function)
