"""Running the file tools as the dispatcher does: a call with JSON text, one environment, one ledger."""

import json
from pathlib import Path

import pytest

from hilt.adapters.workspace_local import LocalWorkspace
from hilt.builtins.files import files_tools
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.tool import Environment, Tool
from hilt.ports.workspace import ReadLedger, Workspace

TOOLS: dict[str, Tool] = {tool.spec.name: tool for tool in files_tools()}


class Files:
    """One session over a directory."""

    def __init__(self, workspace: Workspace | None, ledger: ReadLedger | None = None) -> None:
        self.ledger = ReadLedger() if ledger is None else ledger
        self.env = Environment(workspace=workspace, services={ReadLedger: self.ledger})

    @classmethod
    def at(cls, root: Path) -> "Files":
        return cls(LocalWorkspace(root))

    async def call(self, name: str, **args: object) -> ToolResult:
        result = await TOOLS[name].execute(ToolCall("c1", name, json.dumps(args, ensure_ascii=False)), self.env)
        assert result.call_id == "c1"
        assert not result.is_error
        return result

    async def text(self, name: str, **args: object) -> str:
        return (await self.call(name, **args)).content

    async def fails(self, name: str, **args: object) -> str:
        """Return why the call fails with `execution_failed`."""
        error = await self.error(name, **args)
        assert error.code is ErrorCode.EXECUTION_FAILED
        return error.reason

    async def error(self, name: str, **args: object) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await self.call(name, **args)
        return caught.value
