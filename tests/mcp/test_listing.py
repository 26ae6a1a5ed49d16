from collections.abc import Mapping

import pytest

from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.tool import EMPTY_SCHEMA
from hilt.mcp.listing import Ask, list_all, read_tools
from hilt.ports.mcp import Fault, McpFault

SERVER = McpServerSpec(name="s")
OBJECT = {"type": "object"}


def _pages(*pages: Mapping[str, object] | McpFault) -> tuple[Ask, list[object]]:
    given, cursors = list(pages), list[object]()

    async def ask(method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        cursors.append(params.get("cursor"))
        page = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(page, McpFault):
            raise page
        return page

    return ask, cursors


async def _list(ask: Ask, limits: McpLimits | None = None) -> list[object]:
    return await list_all(ask, "tools/list", "tools", server="s", limits=limits or McpLimits())


@pytest.mark.req("MCP-55")
async def test_a_list_is_read_until_the_cursor_is_absent_or_null() -> None:
    ask, cursors = _pages({"tools": [1], "nextCursor": ""}, {"tools": [2], "nextCursor": "b"}, {"tools": [3]})
    assert await _list(ask) == [1, 2, 3]
    assert cursors == [None, "", "b"]
    ask, cursors = _pages({"tools": [1], "nextCursor": None})
    assert await _list(ask) == [1]


@pytest.mark.req("MCP-56")
async def test_a_cursor_seen_before_ends_the_list_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    ask, cursors = _pages({"tools": [1], "nextCursor": "a"})
    assert await _list(ask) == [1, 1]
    assert cursors == [None, "a"]
    assert [record.getMessage() for record in caplog.records] == [
        "mcp_list_cut server=s method=tools/list kept=2 next='a'"
    ]


@pytest.mark.req("MCP-56")
async def test_pages_and_entries_are_bounded_and_what_came_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    count = 0

    async def endless(method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        nonlocal count
        count += 1
        return {"tools": [count], "nextCursor": str(count)}

    assert len(await _list(endless)) == 1000
    count = 0
    assert await _list(endless, McpLimits(entries_max=3)) == [1, 2, 3]
    ask, _ = _pages({"tools": list(range(20_000)), "nextCursor": "more"})
    assert len(await _list(ask)) == 10_000
    assert len(caplog.records) == 3


@pytest.mark.req("MCP-57")
async def test_a_method_that_is_not_there_is_an_empty_list() -> None:
    ask, _ = _pages(McpFault(Fault.DECLARED, "no", code=-32601))
    assert await _list(ask) == []


@pytest.mark.parametrize(
    "answer", [McpFault(Fault.DECLARED, "no", code=-32000), {"tools": {}}, {}, McpFault(Fault.CUT, "gone")]
)
async def test_any_other_failure_fails_the_listing(answer: Mapping[str, object] | McpFault) -> None:
    ask, _ = _pages(answer)
    with pytest.raises(McpFault):
        await _list(ask)


@pytest.mark.req("PRV-16")
def test_a_root_of_which_no_branch_is_an_object_is_withheld() -> None:
    text, number, thing = {"type": "string"}, {"type": ["integer", "null"]}, {"type": ["object", "null"]}
    none = [{"anyOf": [text, number]}, {"oneOf": [text, False]}, {"type": "object", "anyOf": [text]}]
    some = [{"anyOf": [text, thing]}, {"oneOf": [text, {}]}, {"oneOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": OBJECT}}]
    entries = [{"name": str(number), "inputSchema": schema} for number, schema in enumerate([*none, *some])]
    listing = read_tools(entries, SERVER)
    assert {tool.name: tool.reason for tool in listing.withheld} == dict.fromkeys(
        ("0", "1", "2"), "no branch of the input schema describes an object"
    )
    assert [tool.name for tool in listing.tools] == ["3", "4", "5"]


@pytest.mark.req("MCP-07", "MCP-58", "MCP-62")
def test_one_tool_that_cannot_be_used_is_withheld_alone_with_a_reason() -> None:
    deep: dict[str, object] = {"type": "object"}
    for _ in range(5000):
        deep = {"properties": {"x": deep}, "type": "object"}
    entries: list[object] = [
        {"name": "good", "inputSchema": OBJECT},
        {"inputSchema": OBJECT},
        "nothing",
        {"name": "", "inputSchema": OBJECT},
        {"name": "list", "inputSchema": []},
        {"name": "array", "inputSchema": {"type": "array"}},
        {"name": "false", "inputSchema": False},
        {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}},
        {"name": "bell\a", "inputSchema": OBJECT},
        {"name": "end ", "inputSchema": OBJECT},
        {"name": "x" * 300, "inputSchema": OBJECT},
        {"name": "deep", "inputSchema": deep},
        {"name": "long", "inputSchema": {"type": "object", "description": "x" * 300_000}},
    ]
    listing = read_tools(entries, SERVER)
    assert [tool.name for tool in listing.tools] == ["good"]
    assert {tool.name for tool in listing.withheld} == {
        "",
        "list",
        "array",
        "false",
        "broken",
        "bell\a",
        "end ",
        "x" * 300,
        "deep",
        "long",
    }
    assert all(tool.reason for tool in listing.withheld)


@pytest.mark.req("MCP-62")
@pytest.mark.parametrize("schema", [None, True, {}])
def test_a_schema_that_is_missing_or_admits_anything_becomes_an_open_object(schema: object) -> None:
    entry = {"name": "t"} if schema is None else {"name": "t", "inputSchema": schema}
    (tool,) = read_tools([entry], SERVER).tools
    assert tool.spec.schema["type"] == "object"
    assert tool.repaired
    if schema != {}:
        assert tool.spec.schema == EMPTY_SCHEMA


@pytest.mark.req("MCP-62")
@pytest.mark.parametrize(
    "schema", [{"properties": {"a": {}}}, {"type": ["object", "null"]}, {"anyOf": [{"required": ["a"]}]}]
)
def test_a_root_that_does_not_say_object_is_repaired_and_told(schema: dict[str, object]) -> None:
    (tool,) = read_tools([{"name": "t", "inputSchema": schema}], SERVER).tools
    assert tool.spec.schema == {**schema, "type": "object"}
    assert tool.repaired == ('"type": "object" was added to the input schema',)


@pytest.mark.req("MCP-59")
def test_equal_tools_become_one_and_different_ones_of_one_name_are_both_withheld() -> None:
    same = {"name": "a", "inputSchema": OBJECT}
    other = {"name": "b", "inputSchema": OBJECT}
    listing = read_tools([same, other, dict(same), {**other, "description": "else"}, other], SERVER)
    assert [tool.name for tool in listing.tools] == ["a"]
    assert [(tool.name, tool.reason) for tool in listing.withheld] == [("b", "two different tools have this name")]


@pytest.mark.req("MCP-60", "MCP-61")
@pytest.mark.parametrize(
    ("hints", "trusted", "expected"),
    [
        ({"readOnlyHint": True}, True, (True, False)),
        ({"readOnlyHint": True, "idempotentHint": True}, True, (True, True)),
        ({"readOnlyHint": True, "destructiveHint": False}, True, (True, False)),
        ({"readOnlyHint": True, "idempotentHint": True, "destructiveHint": True}, True, (False, False)),
        ({"readOnlyHint": True, "idempotentHint": True}, False, (False, False)),
        ({"readOnlyHint": "true"}, True, (False, False)),
        ({"readOnlyHint": 1}, True, (False, False)),
        ({}, True, (False, False)),
        ([], True, (False, False)),
        (None, True, (False, False)),
    ],
)
def test_only_the_json_value_true_makes_a_tool_read_only(
    hints: object, trusted: bool, expected: tuple[bool, bool]
) -> None:
    server = McpServerSpec(name="s", trust_annotations=trusted)
    (tool,) = read_tools([{"name": "t", "inputSchema": OBJECT, "annotations": hints}], server).tools
    assert (tool.read_only, tool.idempotent) == expected


@pytest.mark.req("MCP-63")
def test_a_description_is_cleaned_and_cut_and_that_is_told() -> None:
    entries = [
        {"name": "a", "inputSchema": OBJECT, "description": "x\u202e\x00y", "title": "T\x07"},
        {"name": "b", "inputSchema": OBJECT, "description": "z" * 10_001},
        {"name": "c", "inputSchema": OBJECT, "description": 5, "title": 5},
    ]
    first, second, third = read_tools(entries, SERVER).tools
    assert (first.spec.description, first.title, len(first.repaired)) == ("xy", "T", 1)
    assert (len(second.spec.description), len(second.repaired)) == (10_000, 1)
    assert (third.spec.description, third.title, len(third.repaired)) == ("", "", 1)


@pytest.mark.req("MCP-64")
def test_globs_over_the_server_s_own_names_choose_its_tools() -> None:
    entries = [{"name": name, "inputSchema": OBJECT} for name in ("get_a", "get_b", "put_a", "Get_c")]

    def names(**globs: tuple[str, ...]) -> list[str]:
        server = McpServerSpec(name="s", allow=globs.get("allow"), deny=globs.get("deny", ()))
        return [tool.name for tool in read_tools(entries, server).tools]

    assert names(allow=("get_*",)) == ["get_a", "get_b"]
    assert names(allow=()) == []
    assert names(deny=("*_a",)) == ["get_b", "Get_c"]
    assert names(allow=("get_*",), deny=("get_b",)) == ["get_a"]
