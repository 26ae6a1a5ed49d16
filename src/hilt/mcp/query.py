"""CallMcpWithQuery: calls a remote tool and returns only what a jq filter makes of its answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import anyio.to_thread
from pydantic import Field

from hilt.core.args import Args
from hilt.core.content import StructuredPart
from hilt.core.errors import ToolError
from hilt.core.json_reader import read_shape
from hilt.core.json_value import json_text
from hilt.core.origin import HEAVY, outweighs
from hilt.core.schema import ArgumentCheck, decode_arguments
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.mcp.answer import read_answer
from hilt.mcp.failure import CallFailedError
from hilt.mcp.tools import RemoteTool
from hilt.ports.query import JsonQuery, QueryFailedError
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment, Tool

_EXAMPLE: Final = '{"city": "Oslo"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMcpWithQueryArgs:
    """Arguments of `CallMcpWithQuery`."""

    server: Annotated[str, Field(description="Name of the MCP server, as in mcp__SERVER__TOOL.")]
    tool: Annotated[str, Field(description="The server's own name of the tool; its full name is accepted too.")]
    jq_filter: Annotated[
        str, Field(min_length=1, description="jq filter over the JSON answer, such as `.items[:10] | map({id, name})`.")
    ]
    args: Annotated[
        dict[str, object] | str | None, Field(description="The tool's arguments as an object; none by default.")
    ] = None


class CallMcpWithQuery:
    """Acts for the tools of MCP servers: the target's rules, flag, schema and deadline hold too."""

    _args = Args(CallMcpWithQueryArgs)
    read_only = True
    spec = ToolSpec(
        name="CallMcpWithQuery",
        description=(
            "Call a tool of an MCP server and return only what a jq filter makes of its JSON answer. "
            "Use it when a result was or would be too large, or when a few fields of it are enough. "
            "Do not use it for answers that are plain text; call the tool itself for a whole answer. "
            "Limits: 20 MiB of answer, 100,000 bytes of output, 5 s for the filter."
        ),
        schema=_args.schema,
    )

    def __init__(self, tools: Sequence[RemoteTool]) -> None:
        self._tools: dict[tuple[str, str], RemoteTool] = {}
        self.include(tools)

    def include(self, tools: Sequence[RemoteTool]) -> None:
        """Take further tools; a session that does not list one cannot call it this way either."""
        for tool in tools:
            self._tools.setdefault((tool.server, tool.name_on_server), tool)
        for tool in tools:
            self._tools.setdefault((tool.server, tool.spec.name), tool)

    def targets(self, call: ToolCall) -> Sequence[ToolCall]:
        """Return the call that will be made of the remote tool, under its catalog name.

        Raises:
            ToolError: There is no such tool, or `args` are no arguments.
        """
        args = self._args.decode(call)
        return [ToolCall(call.id, self._target(args).spec.name, arguments=_object(args.args))]

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Compile the filter, call the tool, filter its answer."""
        args = self._args.decode(call)
        target = self._target(args)
        query = _query(env)
        try:
            await query.check(args.jq_filter)
        except QueryFailedError as exc:
            raise ToolError.invalid_arguments(f"{exc}. The tool was not called") from None
        checked = ArgumentCheck.of(target.spec.name, target.spec.schema_json, strict_keys=False)
        try:
            raw = await target.ask(checked.check(_object(args.args)).arguments, env)
        except CallFailedError as exc:
            return ToolResult.error(call.id, exc.text)
        result = await read_answer(
            raw, call_id=call.id, server=target.server, tool=target.name_on_server, schema=target.output_schema
        )
        if result.is_error:
            return result
        text = await _json_of(raw)
        if text is None:
            raise _kept("the tool was called, and its answer holds no JSON to filter", result, None, env)
        try:
            return _filtered(call.id, await query.run(args.jq_filter, text))
        except QueryFailedError as exc:
            raise _kept(f"the tool was called, but {exc}", result, text, env) from None

    def _target(self, args: CallMcpWithQueryArgs) -> RemoteTool:
        found = self._tools.get((args.server, args.tool))
        if found is not None:
            return found
        servers = sorted({server for server, _ in self._tools})
        if args.server not in servers:
            raise ToolError.invalid_arguments(f"no MCP server is named {args.server!r}; there are {', '.join(servers)}")
        known = sorted({tool.name_on_server for tool in self._tools.values() if tool.server == args.server})
        shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
        raise ToolError.invalid_arguments(f"MCP server {args.server!r} has no tool {args.tool!r}; it has {shown}")


def query_tools(tools: Sequence[Tool]) -> list[Tool]:
    """Return CallMcpWithQuery over the remote tools among `tools`, nothing where there is none."""
    remote = [tool for tool in tools if isinstance(tool, RemoteTool)]
    return [CallMcpWithQuery(remote)] if remote else []


def _object(args: object) -> dict[str, object]:
    """Return the arguments of the target: none for null, an object as it is or as JSON text.

    Raises:
        ToolError: They are something else.
    """
    if args is None:
        return {}
    if isinstance(args, dict):
        return args
    if isinstance(args, str):
        try:
            return decode_arguments(args).arguments
        except ToolError:
            pass
    raise ToolError.invalid_arguments(f"args must be a JSON object such as {_EXAMPLE}, or absent")


def _query(env: Environment) -> JsonQuery:
    try:
        return env.service(JsonQuery)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        raise ToolError.unavailable("filters cannot be run on this system") from None


async def _json_of(raw: Mapping[str, object]) -> str | None:
    """Return the JSON text that is filtered: the structured content, else the first text that is JSON.

    Text blocks come before the texts of embedded resources.
    """
    if outweighs(dict(raw), HEAVY):
        return await anyio.to_thread.run_sync(_find_json, raw)
    return _find_json(raw)


def _find_json(raw: Mapping[str, object]) -> str | None:
    if "structuredContent" in raw:
        try:
            return json_text(raw["structuredContent"])
        except (ValueError, RecursionError):
            return None
    content = raw.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    inside = [block.get("resource") for block in blocks if block.get("type") == "resource"]
    texts += [resource.get("text") for resource in inside if isinstance(resource, Mapping)]
    return next((text for text in texts if isinstance(text, str) and read_shape(text) is not None), None)


def _filtered(call_id: str, text: str) -> ToolResult:
    return ToolResult.with_parts(call_id, text, [StructuredPart(value=json.loads(text))])


def _kept(why: str, result: ToolResult, text: str | None, env: Environment) -> ToolError:
    """Return the error of an answer that could not be filtered; the answer itself is kept for ReadResult."""
    try:
        retained = env.service(RetainedResults)  # type: ignore[type-abstract]  # named by its Protocol
        handle = retained.keep(result.content, structured=text)
    except LookupError:
        handle = ""
    if not handle:
        return ToolError.execution_failed(f"{why}. The answer is too large to keep")
    way = f'ReadResult {{"handle": "{handle}"}}'
    if text is not None:
        way = f'ReadResult {{"handle": "{handle}", "jq_filter": …}} with another filter'
    return ToolError.execution_failed(f"{why}. The answer is kept, do not call again: {way} reads it")
