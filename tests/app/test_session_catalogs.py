"""What a session's catalog has beside the shared one (catalog.md section 8)."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from hilt.app.catalog import MCP_META_NAMES, NEEDS_FILES, SessionContext, check_parity
from hilt.app.categories import CATEGORY_TOOLS
from hilt.app.config import Config
from hilt.core.errors import InvalidSpecError, RequestError
from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.ports.tool import Environment, Tool
from tests.adapters.marked import NAME, Mark
from tests.app.house import house, names, remote, script_server
from tests.flows.kit import FunctionTool, allow, call, says

META = {"ReadResult", "ToolSearch"}


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


@pytest.mark.req("CAT-92", "CAT-93")
async def test_every_session_has_the_shared_tools_and_those_of_its_own_servers_exactly(tmp_path: Path) -> None:
    far = script_server(tmp_path, "far", [remote("a"), remote("b")])
    own = script_server(tmp_path, "own", [remote("c"), remote("d")])
    made: list[str] = []

    def factory(context: SessionContext) -> Tool:
        made.append(context.session_id)
        return says("Made")

    for tools in ([says("Look")], [says("Look"), factory]):
        async with house(tmp_path, enable={"files"}, tools=tools, sources=[Source()], mcp_servers=[far]) as home:
            shared = set(home.app.catalog.names)
            assert {"Look", "sourced", "Read", "mcp__far__a", "mcp__far__b", *META} <= shared
            plain = await home.app.sessions.create(id="plain")
            with_own = await home.app.sessions.create(id="own", mcp_servers=[own])
            assert set(plain.catalog.names) == shared
            assert set(names(plain)) == shared - {"ToolSearch"}
            assert set(with_own.catalog.names) == shared | {"mcp__own__c", "mcp__own__d"}
            looked = home.app.catalog.lookup("Look")
            assert looked is plain.catalog.lookup("Look") is with_own.catalog.lookup("Look")
    assert made == ["", "plain", "own"]


@pytest.mark.req("CAT-93")
async def test_a_catalog_that_differs_is_refused() -> None:
    shared, own = Catalog(), Catalog()
    for name in ("a", "b"):
        shared.register(says(name))
    own.register(says("a"))
    with pytest.raises(RequestError, match="'b'"):
        check_parity(shared, own, client=(), profile="")
    own.register(says("b"))
    check_parity(shared, own, client=(), profile="")
    own.register(says("c"))
    with pytest.raises(RequestError, match="'c'"):
        check_parity(shared, own, client=(), profile="")
    check_parity(shared, own, client=[says("c")], profile="")


@pytest.mark.req("CAT-46")
async def test_a_factory_makes_a_tool_for_every_session(tmp_path: Path) -> None:
    class Mine(FunctionTool):
        def __init__(self, context: SessionContext) -> None:
            async def body(call: ToolCall, env: Environment) -> str:
                return f"{context.session_id} {env.session_id} {context.profile}"

            super().__init__("Mine", body)

    async with house(tmp_path, tools=[Mine]) as home:
        one = await home.app.sessions.create(id="one")
        two = await home.app.sessions.create(id="two", profile="no-fs")
        told = [result.content for s in (one, two) for result in await home.turn(s, call("Mine"))]
    assert told == ["one one ", "two two no-fs"]


@pytest.mark.req("CAT-46", "CAT-93")
async def test_a_factory_whose_tool_changes_its_name_fails_the_creation(tmp_path: Path) -> None:
    def factory(context: SessionContext) -> Tool:
        return says(f"Tool{context.session_id}")

    async with house(tmp_path, tools=[factory]) as home:
        with pytest.raises(RequestError, match="differs from the shared one"):
            await home.app.sessions.create(id="one")
        assert await home.app.sessions.list() == ([], "")


@pytest.mark.req("CAT-95")
async def test_the_profile_without_files_lacks_exactly_what_needs_them(tmp_path: Path) -> None:
    far = script_server(tmp_path, "far", [remote("a"), remote("b", read_only=False)])
    environments: list[Environment] = []

    async def body(call: ToolCall, env: Environment) -> str:
        environments.append(env)
        return "ok"

    options: dict[str, object] = {
        "enable": {"files", "shell"},
        "tools": [FunctionTool("Look", body), says("Parallel"), says("SkillDraft")],
        "own_names": {"Parallel", "SkillDraft"},
        "mcp_servers": [far],
    }
    async with house(tmp_path, **options) as home:
        full = await home.app.sessions.create()
        bare = await home.app.sessions.create(profile="no-fs")
        lacks = set(full.catalog.names) - set(bare.catalog.names)
        assert lacks == {*CATEGORY_TOOLS["files"], *CATEGORY_TOOLS["shell"], "Parallel", "SkillDraft"}
        assert lacks <= NEEDS_FILES
        assert set(bare.catalog.names) - {*MCP_META_NAMES} == {"mcp__far__a", "mcp__far__b", "Look", *META}
        results = await home.turn(bare, call("Look"), call("Read", {"path": "x"}))
        with pytest.raises(RequestError, match="no-fs"):
            await home.app.sessions.create(profile="other")
    assert json.loads(results[1].content)["error"] == "tool_not_found"
    assert (environments[0].workspace, environments[0].runner) == (None, None)


@pytest.mark.req("CAT-96")
async def test_a_clients_tools_are_seen_by_its_session_alone_and_end_with_it(tmp_path: Path) -> None:
    mark = Mark()
    own = script_server(tmp_path, "own", [remote("a")])
    own = replace(own, env={**own.env, NAME: mark.value})
    async with house(tmp_path, tools=[says("Look")], rules=allow("mcp__*")) as home:
        other = await home.app.sessions.create()
        session = await home.app.sessions.create(mcp_servers=[own])
        later = await home.app.sessions.create()
        (mine,) = await home.turn(session, call("mcp__own__a"))
        theirs = [*await home.turn(other, call("mcp__own__a")), *await home.turn(later, call("mcp__own__a"))]
        assert "mcp__own__a" in names(session)
        assert "mcp__own__a" not in {*names(other), *names(later), *home.app.catalog.names}
        assert len(mark.alive()) >= 1
        await session.close()
        with anyio.fail_after(10):
            await mark.end()
    assert mine.content == "own a"
    assert [json.loads(result.content)["error"] for result in theirs] == ["tool_not_found"] * 2


@pytest.mark.req("CAT-97")
async def test_closing_a_session_disturbs_no_other_sessions_calls_to_a_global_server(tmp_path: Path) -> None:
    far = script_server(tmp_path, "far", [remote("slow")])
    scenario = tmp_path / "far.json"
    written = json.loads(scenario.read_text())
    answer = {"result": {"content": [{"type": "text", "text": "far slow"}]}}
    written["on"]["tools/call:slow"] = [{"sleep": 0.5}, answer]
    scenario.write_text(json.dumps(written))
    async with house(tmp_path, mcp_servers=[far], rules=allow("mcp__*")) as home:
        closing = await home.app.sessions.create()
        going_on = await home.app.sessions.create()
        found: list[ToolResult] = []

        async def calls() -> None:
            found.extend(await home.turn(going_on, call("mcp__far__slow")))

        async with anyio.create_task_group() as group:
            group.start_soon(calls)
            with anyio.fail_after(10):
                while "tools/call" not in (tmp_path / "far.log").read_text():
                    await anyio.sleep(0.01)
            await closing.close()
        found.extend(await home.turn(going_on, call("mcp__far__slow")))
    assert [result.content for result in found] == ["far slow"] * 2


@pytest.mark.req("CAT-98")
async def test_a_host_that_makes_sessions_catalogs_itself_is_not_checked_and_one_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def factory(context: SessionContext) -> Catalog:
        catalog = Catalog()
        catalog.register(says(f"Only{context.session_id}"))
        return catalog

    with caplog.at_level(logging.INFO):
        async with house(tmp_path, enable={"files"}, session_catalog=factory) as home:
            for id_ in ("1", "2"):
                session = await home.app.sessions.create(id=id_)
                assert names(session) == [f"Only{id_}"]
                assert (await home.turn(session, call(f"Only{id_}")))[0].content == "ok"
    told = [record for record in caplog.records if "session_catalog_by_host" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.INFO]


class Plain:
    """A tool that takes nothing."""

    spec = ToolSpec("Plain", "For tests.")
    read_only = True

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Answer."""
        return ToolResult.text(call.id, "plain")


class Bound(Plain):
    """A tool that is made for a session; as a class it is a factory."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Answer with the session."""
        return ToolResult.text(call.id, self._context.session_id)


@pytest.mark.req("CAT-46")
async def test_a_class_is_a_factory_where_it_takes_the_session_and_else_refused_by_name(tmp_path: Path) -> None:
    async with house(tmp_path, tools=[Bound]) as home:
        session = await home.app.sessions.create(id="s1")
        assert (await home.turn(session, call("Plain")))[0].content == "s1"
    with pytest.raises(InvalidSpecError, match=r"Plain: .*pass an instance"):
        async with house(tmp_path, tools=[Plain]):
            raise AssertionError
    with pytest.raises(InvalidSpecError, match=r"Plain: .*pass an instance"):
        Catalog().register(Plain)  # type: ignore[arg-type]  # what is refused


FORBIDDEN: dict[str, tuple[list[McpServerSpec], str]] = {
    "name": ([McpServerSpec(name="a__b", url="https://127.0.0.1:9/mcp")], "'a__b'"),
    "twice": (
        [McpServerSpec(name="a-b", url="https://x.invalid"), McpServerSpec(name="A_b", url="https://y.invalid")],
        "one name",
    ),
    "address": ([McpServerSpec(name="a", url="ftp://127.0.0.1/")], "http"),
    "variable": ([McpServerSpec(name="a", url="https://x.invalid/${SECRET}")], "SECRET"),
    "process": ([McpServerSpec(name="a", transport="stdio", command="true")], "--no-stdio"),
}


@pytest.mark.parametrize("which", FORBIDDEN)
async def test_a_server_that_a_client_may_not_bring_fails_the_creation(tmp_path: Path, which: str) -> None:
    servers, told = FORBIDDEN[which]
    config = Config(no_stdio=True, environment={"SECRET": "hush"})
    async with house(tmp_path, config=config, tools=[says("Look")]) as home:
        with pytest.raises(RequestError) as caught:
            await home.app.sessions.create(mcp_servers=servers)
        assert told in str(caught.value)
        assert "hush" not in str(caught.value)
        assert await home.app.sessions.list() == ([], "")


@pytest.mark.req("CAT-96")
async def test_a_clients_server_that_does_not_answer_leaves_no_session_and_none_of_the_others(tmp_path: Path) -> None:
    mark = Mark()
    good = script_server(tmp_path, "good", [remote("a")])
    good = replace(good, env={**good.env, NAME: mark.value})
    dead = McpServerSpec(name="dead", transport="stdio", command="no-such-program")
    async with house(tmp_path, tools=[says("Look")]) as home:
        with pytest.raises(RequestError, match="'dead'") as caught:
            await home.app.sessions.create(mcp_servers=[good, dead])
        assert caught.value.code == "client_mcp_unreachable"
        with anyio.fail_after(10):
            await mark.end()
        assert await home.app.sessions.list() == ([], "")
        await home.app.sessions.create(mcp_servers=[good])
        assert list(home.app.mcp) == []


@pytest.mark.req("CAT-92")
@pytest.mark.parametrize("profile", ["", "no-fs"])
async def test_a_tool_that_is_registered_in_the_shared_catalog_later_is_in_every_new_sessions(
    tmp_path: Path, profile: str
) -> None:
    own = script_server(tmp_path, "own", [remote("a")])
    async with house(tmp_path, tools=[says("Look"), says("Gone")], own_names={"Write"}) as home:
        home.app.catalog.register(says("Late"))
        home.app.catalog.register(says("Write"))
        home.app.catalog.withdraw("Gone", "asleep")
        plain = await home.app.sessions.create()
        other = await home.app.sessions.create(mcp_servers=[own], profile=profile)
        for session in (plain, other):
            late, gone = await home.turn(session, call("Late"), call("Gone"))
            assert late.content == "ok"
            assert json.loads(gone.content)["error"] == "tool_unavailable"
            assert "Gone" not in home.listed()
        assert "Write" in plain.catalog.names
        assert ("Write" in other.catalog.names) is not bool(profile)
