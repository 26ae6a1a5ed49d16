"""Calls and tools that tests of modes, subjects and targets share."""

import json
from collections.abc import Sequence

from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.tool import Environment
from tests.flows.kit import FunctionTool, call


def error_of(result: ToolResult) -> str:
    """Return the code of an error result, "" of a good one."""
    return str(json.loads(result.content)["error"]) if result.is_error else ""


def write(path: str, id_: str | None = None) -> dict[str, object]:
    """Return a call of Write."""
    return call("Write", {"path": path, "content": "new"}, id_)


class Proxy(FunctionTool):
    """A tool that acts in the name of those that its argument `of` lists."""

    def __init__(self) -> None:
        async def body(call: ToolCall, env: Environment) -> str:
            return "done for others"

        super().__init__("Proxy", body)

    def targets(self, call: ToolCall) -> Sequence[ToolCall]:
        """Return a call of each."""
        of = call.arguments["of"]
        assert isinstance(of, list)
        return [ToolCall(call.id, str(item["name"]), json.dumps(item.get("args", {}))) for item in of]


def through(*targets: object) -> dict[str, object]:
    """Return a call of Proxy for these targets."""
    return call("Proxy", {"of": [{"name": one} if isinstance(one, str) else one for one in targets]})
