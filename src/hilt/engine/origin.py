"""Where a tool of the catalog comes from: its MCP server and the name it has there."""

from hilt.engine.catalog import MCP_FAMILIES, MCP_PREFIX, Entry


def server_of(entry: Entry) -> str:
    """Return the MCP server that a tool is of, "" for any other tool."""
    if entry.family not in MCP_FAMILIES or not entry.spec.name.startswith(MCP_PREFIX):
        return ""
    server = getattr(entry.tool, "server", None)
    return server if isinstance(server, str) else entry.spec.name.removeprefix(MCP_PREFIX).partition("__")[0]


def own_name(entry: Entry) -> str:
    """Return the name that the tool's server gave it; of any other tool, its name in the catalog."""
    server = server_of(entry)
    if not server:
        return entry.spec.name
    given = getattr(entry.tool, "name_on_server", None)
    return given if isinstance(given, str) else entry.spec.name.removeprefix(f"{MCP_PREFIX}{server}__")
