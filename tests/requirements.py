"""The promises of `docs/spec` that no test proves yet, each with its reason. The list only ever shrinks.

`span("AUT", 1, 8, reason)` stands for the promises from AUT-01 to AUT-08; an id is in one entry at most.
`python -m tests.promises --stale` names the entries that are proved by now.
"""

from typing import Final

from tests.spec import merged, span

_NOT_WRITTEN: Final = "no test yet"
_AUTH: Final = "OAuth profiles, login and the credential store are not built yet"
_CHILDREN: Final = "child agents are not built yet"
_GATEWAY: Final = "the gateway is not built yet"
_FAULTS: Final = "the fault kit is not built yet"
_LATER_TOOLS: Final = "this category of tools is not built yet"
_MCP_RESILIENCE: Final = "the MCP client reconnects, replays and resumes in its next form"
_MCP_ERAS: Final = "the MCP client speaks one protocol era until its next form"
_MCP_EXTRAS: Final = "resources, prompts, ToolHive and notifications come with the MCP client's next form"
_PROVIDERS: Final = "the table of provider limits and its repair are not built yet"
_RESULTS: Final = "typed MCP results, structured results, jq and fetching are not built yet"
_SEARCH: Final = "disclosure and tool search are not built yet"
_SERVE: Final = "`hilt serve`, with HTTP, gRPC and callers, is not built yet"
_SKILLS: Final = "skills and slash commands are not built yet"
_REPLICAS: Final = "the SQL store, and with it several replicas, is not built yet"

GAPS: Final[dict[str, str]] = merged(
    # The funnel
    span("CAT", 1, 101, _NOT_WRITTEN),
    span("DSP", 1, 98, _NOT_WRITTEN),
    span("PRM", 1, 77, _NOT_WRITTEN),
    span("HOK", 1, 35, _NOT_WRITTEN),
    # Built-in tools
    span("BLT", 1, 38, _NOT_WRITTEN),
    span("BLT", 39, 44, "shell jobs in the background are not built yet"),
    span("BLT", 45, 45, _NOT_WRITTEN),
    span("BLT", 50, 56, _LATER_TOOLS),
    span("BLT", 60, 73, _CHILDREN),
    span("BLT", 75, 93, _LATER_TOOLS),
    span("BLT", 95, 97, _NOT_WRITTEN),
    # Sessions
    span("SES", 1, 45, _NOT_WRITTEN),
    span("SES", 46, 46, "background jobs and child agents are not built yet"),
    span("SES", 50, 82, _SERVE),
    span("SES", 85, 90, _REPLICAS),
    span("SES", 95, 96, _SERVE),
    # The command line
    span("CLI", 1, 32, _NOT_WRITTEN),
    span("CLI", 33, 33, _AUTH),
    span("CLI", 34, 37, _NOT_WRITTEN),
    span("CLI", 38, 38, "`hilt mcp check` comes with the next form of the MCP client"),
    span("CLI", 39, 39, _GATEWAY),
    span("CLI", 40, 62, _NOT_WRITTEN),
    # MCP servers
    span("MCP", 1, 14, _NOT_WRITTEN),
    span("MCP", 15, 16, _MCP_RESILIENCE),
    span("MCP", 17, 20, _NOT_WRITTEN),
    span("MCP", 21, 23, _MCP_RESILIENCE),
    span("MCP", 24, 39, _MCP_RESILIENCE),
    span("MCP", 40, 48, _MCP_ERAS),
    span("MCP", 49, 59, _MCP_RESILIENCE),
    span("MCP", 60, 60, _NOT_WRITTEN),
    span("MCP", 61, 61, _MCP_RESILIENCE),
    span("MCP", 62, 62, _NOT_WRITTEN),
    span("MCP", 63, 95, _MCP_RESILIENCE),
    span("MCP", 96, 113, _MCP_EXTRAS),
    span("MCP", 114, 120, _MCP_RESILIENCE),
    # Results
    span("RES", 1, 23, _RESULTS),
    span("RES", 24, 26, _NOT_WRITTEN),
    span("RES", 27, 29, _RESULTS),
    span("RES", 30, 31, _NOT_WRITTEN),
    span("RES", 32, 38, _RESULTS),
    span("RES", 39, 39, _NOT_WRITTEN),
    span("RES", 40, 40, _RESULTS),
    span("RES", 41, 42, _NOT_WRITTEN),
    span("RES", 43, 84, _RESULTS),
    # What further stages bring
    span("AUT", 1, 61, _AUTH),
    span("FLT", 1, 77, _FAULTS),
    span("GTW", 1, 51, _GATEWAY),
    span("PRV", 1, 34, _PROVIDERS),
    span("SKL", 1, 81, _SKILLS),
    span("SRC", 1, 50, _SEARCH),
)
