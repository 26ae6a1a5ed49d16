"""Makes catalog entries of a tool source: many tools behind one dispatch function."""

from collections.abc import Set

from hilt.core.errors import InvalidSpecError
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment, Tool, ToolSource


class SourceTool:
    """One tool of a source."""

    def __init__(self, spec: ToolSpec, source: ToolSource, *, read_only: bool) -> None:
        self._source = source
        self.spec = spec
        self.read_only = read_only

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Let the source run the call."""
        return await self._source.dispatch(call)


def source_tools(source: ToolSource) -> list[Tool]:
    """Return one tool for each spec of the source, in its order.

    A tool changes things unless its name is in the source's `read_only_tools`.

    Raises:
        InvalidSpecError: The source lists something that is no spec, or its `read_only_tools` is no set.
    """
    read_only: object = getattr(source, "read_only_tools", frozenset())
    kind = type(source).__qualname__
    if not isinstance(read_only, Set):
        raise InvalidSpecError("read_only_tools is a set of names", key=kind)
    tools: list[Tool] = []
    for spec in source.tools():
        if not isinstance(spec, ToolSpec):
            raise InvalidSpecError(f"tools() gave a {type(spec).__qualname__}, not a ToolSpec", key=kind)
        tools.append(SourceTool(spec, source, read_only=spec.name in read_only))
    return tools
