"""ToolSearch gives the full specs of the tools that are named."""

import json
from collections.abc import Collection, Mapping, Sequence

import pytest

from hilt.builtins.meta.tool_search import ToolSearch
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.tool import ToolCall, ToolSpec
from hilt.ports.search import ToolIndex
from hilt.ports.tool import Environment, Tool

NAMES = ("Read", "read", "Write", "ToolSearch", "mcp__git__log", "mcp__hub__log", "mcp__hub__Create_Issue")


class Index:
    """The tools of a session in which `Write` is listed in full."""

    def __init__(self) -> None:
        self.hydrated = ["Write"]

    def specs(self) -> Mapping[str, ToolSpec]:
        return {name: ToolSpec(name, f"about {name}") for name in NAMES}

    def hydrate(self, names: Sequence[str]) -> Collection[str]:
        fresh = [name for name in names if name not in self.hydrated]
        self.hydrated += fresh
        return fresh


async def search(index: Index, **arguments: object) -> list[dict[str, object]]:
    call = ToolCall("c1", "ToolSearch", arguments=arguments)
    result = await ToolSearch().execute(call, Environment(services={ToolIndex: index}))
    assert (result.call_id, result.is_error) == ("c1", False)
    found: list[dict[str, object]] = json.loads(result.content)
    return found


async def refusal(environment: Environment, **arguments: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await ToolSearch().execute(ToolCall("c1", "ToolSearch", arguments=arguments), environment)
    return caught.value


@pytest.mark.req("SRC-15")
async def test_it_is_a_read_only_tool_with_the_stated_arguments() -> None:
    tool: Tool = ToolSearch()
    assert tool.read_only is True
    properties = tool.spec.schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"query", "server", "limit"}
    limit = {key: properties["limit"].get(key) for key in ("default", "minimum", "maximum")}
    assert limit == {"default": 5, "minimum": 1, "maximum": 20}
    assert not tool.spec.schema.get("required")
    [entry] = await search(Index(), query="select:ToolSearch")  # never in its own results
    assert entry["state"] == "not_found"


async def test_select_gives_the_full_specs_in_the_order_asked_and_hydrates_them() -> None:
    index = Index()
    assert await search(index, query=" select: mcp__git__log , Read,") == [
        {
            "name": name,
            "description": f"about {name}",
            "schema": {"type": "object", "properties": {}},
            "state": "loaded",
        }
        for name in ("mcp__git__log", "Read")
    ]
    assert index.hydrated == ["Write", "mcp__git__log", "Read"]
    again = await search(index, query="select:Read,Write")
    assert again == [
        {"name": "Read", "state": "already_available"},
        {"name": "Write", "state": "already_available"},
    ]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Read", "Read"),
        ("read", "read"),
        ("WRITE", "Write"),
        ("Create_Issue", "mcp__hub__Create_Issue"),
        ("create_issue", "mcp__hub__Create_Issue"),
        ("MCP__hub__create_issue", "mcp__hub__Create_Issue"),
    ],
)
async def test_a_tool_is_named_by_catalog_name_or_own_name_and_case_counts_only_where_it_decides(
    asked: str, meant: str
) -> None:
    [entry] = await search(Index(), query=f"select:{asked}")
    assert entry["name"] == meant


@pytest.mark.parametrize("asked", ["log", "READ", "Raed"])
async def test_a_name_that_is_none_or_two_tools_is_said_with_the_nearest_and_the_others_are_given(
    asked: str,
) -> None:
    index = Index()
    entry, other = await search(index, query=f"select:{asked},mcp__git__log")
    assert (entry["name"], entry["state"]) == (asked, "not_found")
    nearest = entry["nearest"]
    assert isinstance(nearest, list)
    assert len(nearest) == 3
    assert set(nearest) < set(NAMES)
    assert other["state"] == "loaded"


@pytest.mark.parametrize("query", [None, "", "list files", "Read"])
async def test_any_other_query_says_that_search_is_not_available_yet(query: str | None) -> None:
    refused = await refusal(Environment(services={ToolIndex: Index()}), query=query)
    assert refused.code is ErrorCode.TOOL_UNAVAILABLE
    assert "search is not available yet" in refused.reason


async def test_select_without_a_name_and_a_session_without_an_index_are_refused() -> None:
    refused = await refusal(Environment(services={ToolIndex: Index()}), query="select: ,")
    assert refused.code is ErrorCode.INVALID_ARGUMENTS
    refused = await refusal(Environment(), query="select:Read")
    assert refused.code is ErrorCode.TOOL_UNAVAILABLE
