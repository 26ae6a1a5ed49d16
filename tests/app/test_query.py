"""Where filters cannot be confined, nothing that needs them is there, and the log says so."""

import logging
from contextlib import AsyncExitStack

import pytest

from hilt.app.query import mcp_query_tools, with_queries
from hilt.ports.query import JsonQuery
from hilt.testing.mcp import FakeConnection, FakeDialer
from tests.mcp.mount import LOOK, managed


@pytest.mark.req("RES-44", "RES-53")
async def test_a_system_without_limits_has_no_filters(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with AsyncExitStack() as stack, managed(FakeDialer(FakeConnection(tools=[LOOK]))) as manager:
        assert with_queries({int: 1}, stack, library="") == {int: 1}
        assert "filters_unavailable" in caplog.text
        assert mcp_query_tools(manager.tools(), library="") == []
        (tool,) = mcp_query_tools(manager.tools())
        assert tool.spec.name == "CallMcpWithQuery"
        assert JsonQuery in with_queries({}, stack)


async def test_a_service_of_the_host_comes_first() -> None:
    own = object()
    async with AsyncExitStack() as stack:
        assert with_queries({JsonQuery: own}, stack)[JsonQuery] is own
