"""Tools behind one dispatch function."""

from collections.abc import Sequence

import pytest

from hilt.core.errors import InvalidSpecError
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.source_tool import source_tools
from hilt.ports.tool import Environment, Tool


class Library:
    """A source of two tools."""

    read_only_tools = frozenset({"Find"})

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def tools(self) -> Sequence[ToolSpec]:
        return [ToolSpec("Lend", "Lends."), ToolSpec("Find", "Finds.")]

    async def dispatch(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        return ToolResult.text(call.id, f"did {call.name}")


class Plain(Library):
    read_only_tools = frozenset()


class Sloppy(Library):
    read_only_tools = "Find"  # type: ignore[assignment]  # what is tested


class Wrong(Library):
    def tools(self) -> Sequence[ToolSpec]:
        return [ToolSpec("Find"), "Lend"]  # type: ignore[list-item]  # what is tested


class Silent:
    """A source that says nothing of reading."""

    def tools(self) -> Sequence[ToolSpec]:
        return [ToolSpec("Find")]

    async def dispatch(self, call: ToolCall) -> ToolResult:
        return ToolResult.text(call.id, "")


@pytest.mark.req("CAT-90")
async def test_each_spec_is_one_tool_and_its_calls_reach_the_source_as_they_are() -> None:
    source = Library()
    lend, find = source_tools(source)
    assert isinstance(lend, Tool)
    assert [lend.spec, find.spec] == list(source.tools())
    call = ToolCall("c1", "Find", '{"title": "x"}')
    assert await find.execute(call, Environment()) == ToolResult.text("c1", "did Find")
    assert source.calls == [call]
    assert source.calls[0] is call


@pytest.mark.req("CAT-91")
def test_a_sources_tools_change_things_unless_they_are_named_as_reading() -> None:
    assert [tool.read_only for tool in source_tools(Library())] == [False, True]
    assert [tool.read_only for tool in source_tools(Plain())] == [False, False]
    assert [tool.read_only for tool in source_tools(Silent())] == [False]


def test_a_source_of_the_wrong_shape_is_refused_by_name() -> None:
    with pytest.raises(InvalidSpecError, match="Sloppy: read_only_tools is a set of names"):
        source_tools(Sloppy())
    with pytest.raises(InvalidSpecError, match=r"Wrong: tools\(\) gave a str, not a ToolSpec"):
        source_tools(Wrong())
