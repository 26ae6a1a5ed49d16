"""A hilt client for the official conformance suite: mounts the server at the address given last, calls every tool.

The suite says in MCP_CONFORMANCE_CONTEXT which calls it wants; without that each tool is called once with arguments
made from its schema.
"""

import json
import os
import sys
from collections.abc import Mapping

import anyio

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.tool import ToolCall
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.mcp.tools import RemoteTool
from hilt.ports.elicitation import ElicitAnswer, Elicitation, Elicitor
from hilt.ports.tool import Environment

LISTS = ("resources", "prompts")
ECHO = "json_schema_echo"


class Agreeing:
    """A person who accepts every form as it is proposed."""

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        """See `Elicitor.elicit`."""
        return ElicitAnswer(action="accept")


def arguments_of(schema: Mapping[str, object]) -> dict[str, object]:
    """Return an object that fits a simple schema: every required property, with a plain value."""
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    wanted = required if isinstance(required, list) else []
    return {name: _value(known[name]) for name in wanted if isinstance(known.get(name), Mapping)}


def _echoed(tools: list[RemoteTool]) -> dict[str, object]:
    """Return the schema that a scenario wants to have sent back, as it was listed."""
    focal = [tool.spec.schema for tool in tools if tool.name_on_server != ECHO]
    return {"schema": dict(focal[0])} if focal else {}


def _value(schema: Mapping[str, object]) -> object:
    if "default" in schema:
        return schema["default"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    plain: Mapping[object, object] = {"integer": 5, "number": 3, "boolean": True, "array": [], "object": {}}
    return plain.get(schema.get("type"), "text")


def wanted_calls(tools: list[RemoteTool]) -> list[tuple[RemoteTool, dict[str, object]]]:
    """Return the calls of the context, or one for each tool."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    asked = context.get("toolCalls") if isinstance(context, dict) else None
    if not asked:
        echo = _echoed(tools)
        return [(t, echo if t.name_on_server == ECHO else arguments_of(t.spec.schema)) for t in tools]
    by_name = {tool.name_on_server: tool for tool in tools}
    return [(by_name[call["name"]], call.get("arguments") or {}) for call in asked if call["name"] in by_name]


async def main(url: str) -> int:
    """Mount, call, close; the exit code is 1 where the server could not be mounted."""
    env = Environment(services={Elicitor: Agreeing()}, session_id="conformance")
    spec = McpServerSpec(name="suite", url=url, connect_timeout_s=10.0)
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks, version="conformance", elicits=True)
        manager = McpManager([spec], dialer, limits=McpLimits(), lists=LISTS)
        await manager.start(tasks)
        report = manager.reports()[0]
        print(f"{report.state} {report.facts.era} {report.facts.revision} {report.cause}")
        for number, (tool, arguments) in enumerate(wanted_calls(manager.tools())):
            result = await tool.execute(ToolCall(f"call_{number}", tool.spec.name, json.dumps(arguments)), env)
            print(f"{tool.name_on_server}: {result.content[:200]}")
        await manager.close()
    return 0 if report.state == "ready" else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[-1]))
