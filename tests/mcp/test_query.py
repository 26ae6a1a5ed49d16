"""CallMcpWithQuery over scripted connections: what it does where something is missing or odd."""

import json
from collections.abc import Mapping

import pytest

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.retained import Retained
from hilt.mcp.answer import read_answer
from hilt.mcp.manager import McpManager
from hilt.mcp.query import CallMcpWithQuery, query_tools
from hilt.ports.query import JsonQuery, QueryFailedError
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment
from hilt.testing.mcp import FakeConnection, FakeDialer
from tests.flows.kit import says
from tests.mcp.mount import LOOK, NOTE, managed

EMBEDDED = {"type": "resource", "resource": {"uri": "a:b", "text": "[3]"}}


class Echo:
    """A filter language with three words: `same`, `fails`, and everything else, which does not compile."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def check(self, program: str) -> None:
        """See `JsonQuery.check`."""
        if program not in ("same", "fails"):
            raise QueryFailedError("jq_filter does not compile: no such word")

    async def run(self, program: str, text: str) -> str:
        """See `JsonQuery.run`."""
        self.asked.append((program, text))
        if program == "fails":
            raise QueryFailedError("jq_filter failed: as it was told")
        return text


def connection(answer: Mapping[str, object]) -> FakeConnection:
    return FakeConnection({"tools/call": lambda params: answer}, tools=[LOOK, NOTE])


def asked(filter_: str = "same", tool: str = "look", **more: object) -> ToolCall:
    return ToolCall("c1", "CallMcpWithQuery", json.dumps({"server": "far", "tool": tool, "jq_filter": filter_, **more}))


def env(**services: object) -> Environment:
    known: dict[str, type] = {"query": JsonQuery, "retained": RetainedResults}
    return Environment(services={known[name]: service for name, service in services.items()})


async def run(manager: McpManager, call: ToolCall, where: Environment) -> ToolResult:
    return await CallMcpWithQuery(manager.tools()).execute(call, where)


async def refusal(manager: McpManager, call: ToolCall, where: Environment) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await run(manager, call, where)
    return caught.value


@pytest.mark.req("RES-43")
async def test_targets_are_named_by_the_catalog_whichever_name_the_model_used() -> None:
    async with managed(FakeDialer(connection({}))) as manager:
        tool = CallMcpWithQuery(manager.tools())
        for name in ("look", "mcp__far__look"):
            (target,) = tool.targets(asked(tool=name, args={"a": 1}))
            assert (target.id, target.name, target.arguments) == ("c1", "mcp__far__look", {"a": 1})
        with pytest.raises(ToolError, match="has no tool 'gone'; it has look, note"):
            tool.targets(asked(tool="gone"))
    assert query_tools([says("Look")]) == []
    assert query_tools([]) == []


async def test_the_first_of_two_tools_of_one_name_is_meant() -> None:
    first, second = connection({"structuredContent": 1}), connection({"structuredContent": 2})
    other = McpServerSpec(name="other", url="http://127.0.0.1:9/mcp")
    async with managed(FakeDialer(first)) as one, managed(FakeDialer(second), other) as two:
        tool = CallMcpWithQuery([*one.tools(), *two.tools()])
        assert (await tool.execute(asked(), env(query=Echo()))).content == "1"
        with pytest.raises(ToolError, match="there are far, other"):
            tool.targets(ToolCall("c", "x", '{"server": "none", "tool": "look", "jq_filter": "."}'))


@pytest.mark.req("RES-53")
async def test_where_filters_cannot_run_nobody_is_called() -> None:
    far = connection({"structuredContent": 1})
    async with managed(FakeDialer(far)) as manager:
        refused = await refusal(manager, asked(), env())
    assert refused.code is ErrorCode.TOOL_UNAVAILABLE
    assert far.calls() == []


@pytest.mark.req("RES-59")
async def test_an_answer_that_cannot_be_kept_is_said_to_be_lost() -> None:
    async with managed(FakeDialer(connection({"structuredContent": {"a": 1}}))) as manager:
        refused = await refusal(manager, asked("fails"), env(query=Echo()))
        assert "too large to keep" in refused.reason
        retained = Retained()
        refused = await refusal(manager, asked("fails"), env(query=Echo(), retained=retained))
    assert "do not call again" in refused.reason
    (kept,) = [retained.get(word.strip('",}')) for word in refused.reason.split() if word.startswith('"r1-')]
    assert (kept.text, kept.structured) == ('{"a": 1}', '{"a": 1}')


@pytest.mark.req("RES-52")
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"structuredContent": None}, "null"),
        ({"structuredContent": [1], "content": [{"type": "text", "text": "[2]"}]}, "[1]"),
        ({"content": [{"type": "text", "text": "no"}, {"type": "text", "text": " [2] "}]}, " [2] "),
        ({"content": [EMBEDDED]}, "[3]"),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "a:b", "text": "[3]"}},
                    {"type": "text", "text": "4"},
                ]
            },
            "4",
        ),
        ({"content": [{"type": "text", "text": json.dumps(["x" * 300_000])}]}, json.dumps(["x" * 300_000])),
    ],
)
async def test_what_is_filtered(answer: Mapping[str, object], text: str) -> None:
    echo = Echo()
    async with managed(FakeDialer(connection(answer))) as manager:
        assert (await run(manager, asked(), env(query=echo))).content == text
    assert echo.asked == [("same", text)]


@pytest.mark.req("RES-52")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": [7, {"type": "text"}, {"type": "resource", "resource": 1}, {"type": "resource"}]},
        {"content": [{"type": "text", "text": "["}]},
    ],
)
async def test_an_answer_without_json_is_an_error(answer: Mapping[str, object]) -> None:
    async with managed(FakeDialer(connection(answer))) as manager:
        refused = await refusal(manager, asked(), env(query=Echo(), retained=Retained()))
    assert "holds no JSON to filter" in refused.reason


async def test_content_that_is_no_list_is_the_error_that_a_direct_call_gives() -> None:
    async with managed(FakeDialer(connection({"content": "x"}))) as manager:
        result = await run(manager, asked(), env(query=Echo()))
    assert result.is_error
    assert "no MCP result" in result.content


async def test_content_nested_too_deeply_to_be_written_is_no_json() -> None:
    deep: object = 1
    for _ in range(50_000):
        deep = [deep]
    async with managed(FakeDialer(connection({"structuredContent": deep}))) as manager:
        refused = await refusal(manager, asked(), env(query=Echo(), retained=Retained()))
    assert "holds no JSON to filter" in refused.reason


@pytest.mark.req("RES-22")
async def test_an_output_schema_that_cannot_be_used_is_ignored_with_a_diagnostic(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schema: dict[str, object] = {"type": "object"}
    for _ in range(1_200):
        schema = {"allOf": [schema]}
    raw = {"structuredContent": {"a": 1}}
    result = await read_answer(raw, call_id="c", server="far", tool="look", schema=schema)
    assert result.content == '{"a": 1}'
    assert "mcp_output_schema server=far tool='look'" in caplog.text
