"""Tools to lint: those of a running application, or of a file with a server's answer."""

import json
from collections.abc import Mapping, Sequence

from hilt.app.application import App
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec
from hilt.core.tool_lint import EVERY, LintedTool, ToolFinding
from hilt.engine.origin import own_name, server_of
from hilt.mcp.listing import WithheldTool, read_tools

FILE_SERVER = "file"


def mounted_tools(app: App) -> tuple[list[LintedTool], list[ToolFinding]]:
    """Return the tools of the catalog, and what servers offer that is withheld whatever the provider."""
    reports = [report for manager in app.mcp for report in manager.reports()]
    repaired = {(report.name, name): texts for report in reports for name, texts in report.repaired}
    tools = []
    for entry in app.catalog.entries():
        server, own = server_of(entry), own_name(entry)
        tools.append(LintedTool(server=server, own_name=own, spec=entry.spec, repaired=repaired.get((server, own), ())))
    withheld = [finding for report in reports for finding in _withheld(report.name, report.withheld)]
    return tools, withheld


def file_tools(text: str, *, source: str) -> tuple[list[LintedTool], list[ToolFinding]]:
    """Return the same of a file: a `tools/list` answer or a list of tools.

    Raises:
        ConfigError: It is neither.
    """
    entries = _entries(text, source)
    hints = {
        name: entry["annotations"]
        for entry in entries
        if isinstance(entry, Mapping)
        and isinstance(name := entry.get("name"), str)
        and isinstance(entry.get("annotations"), Mapping)
    }
    listing = read_tools(entries, McpServerSpec(name=FILE_SERVER, transport="stdio", command=FILE_SERVER))
    tools = [
        LintedTool(
            server=FILE_SERVER,
            own_name=tool.name,
            spec=tool.spec,
            repaired=tool.repaired,
            hints=hints.get(tool.name),
        )
        for tool in listing.tools
    ]
    return tools, _withheld(FILE_SERVER, listing.withheld)


def _withheld(server: str, tools: Sequence[WithheldTool]) -> list[ToolFinding]:
    return [ToolFinding(server, tool.name, EVERY, "", "listing", "withheld", tool.reason) for tool in tools]


def _entries(text: str, source: str) -> Sequence[object]:
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError("is no JSON", source=source) from None
    for key in ("result", "tools"):
        if isinstance(body, Mapping) and key in body:
            body = body[key]
    if not isinstance(body, list):
        raise ConfigError("is neither a tools/list answer nor a list of tools", source=source)
    return body
