"""Whether filters can be run here, and the tool and the service that run them."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from hilt.adapters.query_jq.query import JqQuery, jq_library
from hilt.mcp.query import query_tools
from hilt.ports.query import JsonQuery
from hilt.ports.tool import Tool

logger = logging.getLogger(__name__)


def with_queries(
    services: Mapping[type, object], stack: AsyncExitStack, *, library: str | None = None
) -> Mapping[type, object]:
    """Return the services with one that runs filters, where the system can confine it; the stack ends its workers."""
    library = jq_library() if library is None else library
    if not library:
        logger.info("filters_unavailable: CallMcpWithQuery and jq_filter need limits that this system does not have")
        return services
    query = JqQuery(library)
    stack.push_async_callback(query.close)
    return {JsonQuery: query, **services}


def mcp_query_tools(tools: Sequence[Tool], *, library: str | None = None) -> list[Tool]:
    """Return CallMcpWithQuery over these tools of MCP servers; none without such a tool or without filters."""
    return query_tools(tools) if (jq_library() if library is None else library) else []
