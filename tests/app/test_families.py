"""Who brings which tool, who wins a name, what a session's catalog has (catalog.md sections 4 and 8)."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from hilt.app.catalog import Families, SessionContext, assemble
from hilt.app.categories import CATEGORY_TOOLS
from hilt.core.errors import ConfigError
from hilt.core.event import ToolCallTaken, ToolEnd, ToolSettled, ToolStart
from hilt.core.hook import HookInput
from hilt.core.session import ToolFilter
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.function_hook import hook
from hilt.engine.function_tool import tool
from hilt.engine.session import Session
from hilt.ports.tool import Environment, Tool
from tests.app.house import House, house, remote, script_server
from tests.flows.kit import FunctionTool, Recorder, allow, ask, call, deny, says


class Source:
    """A source of tools."""

    read_only_tools = frozenset({"sourced"})

    def __init__(self, *more: str) -> None:
        self._names = ("sourced", *more)

    def tools(self) -> list[ToolSpec]:
        """Return the specs."""
        return [ToolSpec(name, "For tests.") for name in self._names]

    async def dispatch(self, call: ToolCall) -> ToolResult:
        """Answer."""
        return ToolResult.text(call.id, "ok")


@tool(read_only=True)
def decorated() -> str:
    """Answer."""
    return "ok"


# ---------------------------------------------------------------- one funnel for all


EACH = ("ListDir", "shell", "Look", "decorated", "sourced", "mcp__far__look", "mcp__own__look")


async def each(home: House, session: Session) -> dict[str, ToolResult]:
    """Call one tool of every source and return the results by name."""
    calls = [call(name, {"command": "echo ok"} if name == "shell" else {}) for name in EACH]
    return dict(zip(EACH, await home.turn(session, *calls), strict=True))


@pytest.mark.req("DSP-03", "HOK-01", "CAT-55")
async def test_the_tools_of_every_source_pass_the_same_funnel(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    @hook("PreToolUse")
    async def before(told: HookInput) -> None:
        seen.append(("before", told.tool_name))

    @hook("PostToolUse")
    async def after(told: HookInput) -> None:
        assert told.tool_response is not None
        seen.append(("after", told.tool_name))

    work = tmp_path / "work"
    work.mkdir()
    recorder = Recorder()
    options: dict[str, object] = {
        "enable": {"files", "shell"},
        "tools": [says("Look"), decorated],
        "sources": [Source()],
        "mcp_servers": [script_server(tmp_path, "far", [remote("look")])],
        "hooks": [before, after],
        "recorder": recorder,
    }
    own = [script_server(tmp_path, "own", [remote("look")])]
    async with house(work, rules=allow(*EACH), **options) as home:
        session = await home.app.sessions.create(mcp_servers=own)
        results = await each(home, session)
        assert [name for name in home.listed() if name in EACH] == sorted(EACH)
        bodies = [event.body for event in home.events]
        # step 2: a filter hides each of them in the same way
        await session.set(tools=ToolFilter(deny=EACH))
        hidden = await each(home, session)
        assert set(home.listed()) & set(EACH) == set()
    assert {name: result.is_error for name, result in results.items()} == dict.fromkeys(EACH, False)
    assert [tool for when, tool in seen if when == "before"] == list(EACH)
    assert sorted(tool for when, tool in seen if when == "after") == sorted(EACH)
    for kind in (ToolCallTaken, ToolStart, ToolEnd, ToolSettled):
        assert sorted(body.tool for body in bodies if isinstance(body, kind)) == sorted(EACH)
    assert [record.call.name for record in recorder.records[: len(EACH)]] == list(EACH)
    assert all(record.detail["decision"] == "allow" for record in recorder.records[: len(EACH)])
    assert [json.loads(result.content)["error"] for result in hidden.values()] == ["access_denied"] * len(EACH)


@pytest.mark.req("DSP-03")
async def test_rules_modes_arguments_and_deadlines_hold_for_every_source(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    options: dict[str, object] = {
        "enable": {"files", "shell"},
        "tools": [says("Look"), decorated],
        "sources": [Source()],
        "mcp_servers": [script_server(tmp_path, "far", [remote("look", read_only=False)])],
    }
    own = [script_server(tmp_path, "own", [remote("look", read_only=False)])]
    async with house(work, rules=[*allow(*EACH), *deny("*")], **options) as home:
        session = await home.app.sessions.create(mcp_servers=own)
        denied = await each(home, session)
    async with house(work, rules=ask(*EACH), **options) as home:
        session = await home.app.sessions.create(mcp_servers=own)
        unasked = await each(home, session)
        broken = await home.turn(session, *(call(name, "{oops") for name in EACH))
    async with house(work, rules=allow(*EACH), **options) as home:
        plan = await home.app.sessions.create(mcp_servers=own, mode="plan")
        planned = await each(home, plan)
    assert all("not allowed by policy" in result.content for result in denied.values())
    assert all("no approver" in result.content for result in unasked.values())
    assert {json.loads(result.content)["error"] for result in broken} == {"invalid_arguments"}
    refused = {name for name, result in planned.items() if result.is_error}
    assert refused == {"shell", "mcp__far__look", "mcp__own__look"}


# ---------------------------------------------------------------- who wins


class Remote(FunctionTool):
    """A tool as an MCP server brings it, answering with whose it is."""

    def __init__(self, name: str, whose: str) -> None:
        async def body(call: ToolCall, env: Environment) -> str:
            return whose

        super().__init__(name, body)


def mcp(*tools: str, whose: str) -> Sequence[Tool]:
    """Return tools of a server."""
    return [Remote(name, whose) for name in tools]


async def answer(catalog: Catalog, name: str) -> str:
    """Return what the tool of this name answers."""
    found = catalog.lookup(name)
    assert found is not None
    return (await found.execute(ToolCall("a", name), Environment())).content


FAMILIES_OF_CHILDREN = ["subagent"] * 8 + ["parallel"] + ["team"] * 2


@pytest.mark.req("CAT-50")
@pytest.mark.parametrize("session", [False, True])
def test_families_are_registered_in_the_one_order(session: bool) -> None:
    families = Families(
        enable=frozenset({"files", "agents", "delegation"}),
        tools=[says("Zulu"), says("Alpha")],
        sources=[Source()],
        mcp=mcp("mcp__b__t", "mcp__a__t", whose="global"),
    )
    client = mcp("mcp__0__t", whose="client") if session else ()
    catalog = assemble(families, SessionContext(session_id="s" if session else ""), client=client)
    expected = [
        *CATEGORY_TOOLS["files"],
        "ReadResult",
        "ToolSearch",
        "Zulu",
        "Alpha",
        "sourced",
        "mcp__b__t",
        "mcp__a__t",
        *(["mcp__0__t"] if session else []),
        *("Subagent", "InspectSubagent", "SubagentStatus"),
        *("agent_spawn", "agent_fork", "agent_status", "agent_cancel", "agent_list"),
        *("Parallel", "Team", "InspectMember"),
    ]
    assert sorted(catalog.names) == sorted(expected)
    assert list(catalog.names)[9:] == expected[9:]
    assert set(list(catalog.names)[:9]) == set(expected[:9])
    told = {name: catalog.describe(name) for name in expected}
    families_of = [one.family for one in told.values() if one is not None]
    assert families_of == ["core"] * 14 + ["mcp"] * 2 + ["client-mcp"] * session + FAMILIES_OF_CHILDREN


@pytest.mark.req("CAT-50")
@pytest.mark.parametrize("profile", ["", "no-fs"])
async def test_memory_and_the_user_model_stand_behind_mcp_in_their_order(tmp_path: Path, profile: str) -> None:
    async with house(tmp_path, enable={"memory", "tasks"}, mcp_servers=[script_server(tmp_path, "far", [])]) as home:
        session = await home.app.sessions.create(profile=profile)
        described = {name: session.catalog.describe(name) for name in session.catalog.names}
    found = {name: one.family for name, one in described.items() if one is not None and one.family != "core"}
    memory = CATEGORY_TOOLS["memory"]
    assert [name for name in session.catalog.names if name in memory] == list(memory)
    assert {found[name] for name in memory[:7]} == {"memory"}
    assert {found[name] for name in memory[7:]} == {"user-model"}
    assert sorted(set(found.values()), key=list(found.values()).index) == ["mcp", "memory", "user-model"]


@pytest.mark.req("CAT-51", "CAT-52")
async def test_core_wins_over_all_and_a_global_server_over_a_client_one(caplog: pytest.LogCaptureFixture) -> None:
    families = Families(
        enable=frozenset({"files"}),
        tools=[Remote("Ping", "host")],
        mcp=mcp("Read", "Ping", "mcp__x__t", whose="global"),
    )
    client = mcp("Read", "Ping", "mcp__x__t", "mcp__y__t", whose="client")
    catalog = assemble(families, SessionContext(session_id="s"), client=client)
    assert await answer(catalog, "Ping") == "host"
    assert await answer(catalog, "mcp__x__t") == "global"
    assert await answer(catalog, "mcp__y__t") == "client"
    read = catalog.describe("Read")
    assert read is not None
    assert (read.family, read.source) == ("core", "builtin")
    with caplog.at_level(logging.WARNING):
        catalog.report_skipped()
    (line,) = [record.getMessage() for record in caplog.records]
    for name in ("Read", "Ping", "mcp__x__t"):
        assert name in line


@pytest.mark.req("CAT-51", "CAT-34")
async def test_a_global_server_keeps_its_tool_beside_a_clients_server_of_the_same_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "client").mkdir()
    mine = script_server(tmp_path, "far", [remote("look")])
    theirs = script_server(tmp_path / "client", "far", [remote("look"), remote("more")])
    async with house(tmp_path, mcp_servers=[mine], rules=allow("mcp__*")) as home:
        with caplog.at_level(logging.WARNING):
            session = await home.app.sessions.create(mcp_servers=[theirs])
        (result,) = await home.turn(session, call("mcp__far__look"))
        log = (tmp_path / "client" / "far.log").read_text()
    assert result.content == "far look"
    assert "tools/call" not in log
    told = [record.getMessage() for record in caplog.records if "tool_names_skipped" in record.getMessage()]
    assert len(told) == 1
    assert "mcp__far__look" in told[0]


@pytest.mark.req("CAT-53")
@pytest.mark.parametrize(
    ("options", "origins"),
    [
        ({"tools": [says("Same"), says("Same")]}, ("the host's tools", "the host's tools")),
        ({"tools": [says("sourced")], "sources": [Source()]}, ("the host's tools", "source 1")),
        ({"sources": [Source(), Source()]}, ("source 1", "source 2")),
        (
            {"enable": {"files"}, "tools": [says("Read")], "own_names": {"Read"}},
            ("builtin", "the host's tools"),
        ),
        ({"tools": [says("ReadResult")], "own_names": {"ReadResult"}}, ("builtin", "the host's tools")),
    ],
)
async def test_one_name_twice_in_the_core_family_stops_the_build_and_names_both_origins(
    tmp_path: Path, options: dict[str, object], origins: tuple[str, str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        async with house(tmp_path, **options):
            raise AssertionError
    for origin in origins:
        assert origin in str(caught.value)
    assert str(caught.value).count(origins[0]) >= origins.count(origins[0])


@pytest.mark.req("CAT-54")
@pytest.mark.parametrize("name", ["Read", "shell", "task_create", "Remember", "WebFetch", "CallMcpWithQuery"])
async def test_the_name_of_a_built_in_that_is_off_is_not_free_unless_listed(tmp_path: Path, name: str) -> None:
    mine = says(name, "mine", read_only=True)
    with pytest.raises(ConfigError, match="own_names"):
        async with house(tmp_path, tools=[mine]):
            raise AssertionError
    with pytest.raises(ConfigError, match="own_names"):
        async with house(tmp_path, sources=[Source(name)]):
            raise AssertionError
    async with house(tmp_path, tools=[mine], own_names={name}, rules=allow(name)) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call(name))
    assert result.content == "mine"
