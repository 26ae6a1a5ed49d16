"""The front door: what is on, what stops a build, what is left after it (catalog.md section 9, builtins.md)."""

import asyncio
import inspect
import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.app.agent import Agent
from hilt.app.build import build
from hilt.app.catalog import MCP_META_NAMES
from hilt.app.categories import CATEGORY_TOOLS
from hilt.app.config import Config
from hilt.app.settings import ShellSettings
from hilt.core.errors import ConfigError, ConflictError, RequestError, UnreachableError
from hilt.core.event import AskOpened, RunResult
from hilt.core.mcp import McpServerSpec
from hilt.core.session import StopReason
from hilt.core.tool import ToolCall
from hilt.engine.sessions import Sessions
from hilt.ports.tool import Environment
from tests.adapters.marked import NAME, Mark
from tests.app.house import house, names, remote, script_server
from tests.flows.kit import FunctionTool, allow, call, says

META = {"ReadResult", "ToolSearch"}
FILES = {*CATEGORY_TOOLS["files"]}
SHELL = {*CATEGORY_TOOLS["shell"]}
READS = {"Read", "ListDir", "Glob", "Grep"}


async def built(root: Path, **options: object) -> set[str]:
    """Return the names in the catalog of an application."""
    async with house(root, **options) as home:
        return set(home.app.catalog.names)


# ---------------------------------------------------------------- categories


@pytest.mark.req("BLT-01")
async def test_nothing_is_on_by_default(tmp_path: Path) -> None:
    assert await built(tmp_path) == set()
    async with build() as app:
        session = await app.sessions.create()
        assert (set(app.catalog.names), list(session.specs())) == (set(), [])


@pytest.mark.req("BLT-09", "BLT-04")
@pytest.mark.parametrize(
    ("enable", "tools"),
    [
        ({"files"}, FILES),
        ({"files.read"}, READS),
        ({"files", "files.read"}, FILES),
        ({"shell"}, SHELL),
        ({"memory"}, {*CATEGORY_TOOLS["memory"]}),
        ({"files.read", "shell"}, READS | SHELL),
    ],
)
async def test_a_category_gives_exactly_its_tools(tmp_path: Path, enable: set[str], tools: set[str]) -> None:
    assert await built(tmp_path, enable=enable) == tools | META


@pytest.mark.req("BLT-02")
async def test_two_agents_of_one_process_may_have_different_categories(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    async with house(tmp_path, enable={"files", "shell"}) as one, house(tmp_path, enable={"files.read"}) as two:
        everything = await one.app.sessions.create()
        reads = await one.app.sessions.create(enable=["files.read"])
        shell = await one.app.sessions.create(enable=["shell"])
        nothing = await one.app.sessions.create(enable=[])
        other = await two.app.sessions.create()
        shown = [set(names(session)) - META for session in (everything, reads, shell, nothing, other)]
        assert shown == [FILES | SHELL, READS, SHELL, set(), READS]
        good, denied = await one.turn(reads, call("Read", {"path": "a"}), call("Remove", {"path": "a"}))
        with pytest.raises(RequestError, match="'shell' is not enabled"):
            await two.app.sessions.create(enable=["shell"])
    assert not good.is_error
    assert json.loads(denied.content)["error"] == "access_denied"
    assert (tmp_path / "a").exists()


@pytest.mark.req("BLT-03")
async def test_each_of_the_five_switches_enables_its_category_and_none_enables_nothing(tmp_path: Path) -> None:
    assert await built(tmp_path, enable_shell=True) == SHELL | META
    assert await built(tmp_path, enable_builtins=True) == {*CATEGORY_TOOLS["tasks"], *META}
    assert await built(tmp_path, enable_memory=True) == {*CATEGORY_TOOLS["memory"], *META}
    assert await built(tmp_path, enable_subagents=True) == {*CATEGORY_TOOLS["agents"], *META}
    assert await built(tmp_path, enable_comms=True) == {*CATEGORY_TOOLS["comms"], *META}
    assert await built(tmp_path) == set()


@pytest.mark.req("BLT-05")
async def test_an_unknown_category_stops_the_build_and_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        await built(tmp_path, enable={"files", "filez"})
    assert "'filez'" in str(caught.value)
    for known in CATEGORY_TOOLS:
        assert known in str(caught.value)


@pytest.mark.req("BLT-06")
async def test_a_category_that_cannot_work_stops_the_build_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(shell=ShellSettings(program="no-such-shell"), environment=dict(os.environ))
    with pytest.raises(ConfigError, match="no program 'no-such-shell' is on PATH"):
        await built(tmp_path, enable={"shell"}, config=config)
    assert await built(tmp_path, enable={"files"}, config=config) == FILES | META
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="neither bash nor sh"):
        await built(tmp_path, enable={"shell"})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"store": "redis:x"}, "unknown store 'redis:x'"),
        ({"store": "sqlite:x"}, "not part of this version"),
        ({"store": "jsonl:"}, "needs a directory"),
        ({"skill_sources": [object()]}, "neither skills nor commands"),
        ({"mcp_servers": [McpServerSpec(name="a__b", url="http://127.0.0.1:1/mcp")]}, "not allowed"),
    ],
)
async def test_what_does_not_fit_stops_the_build_and_is_named(
    tmp_path: Path, options: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        await built(tmp_path, **options)


async def test_a_workspace_that_is_not_there_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="workspace"):
        await built(tmp_path / "nowhere", enable={"files"})


# ---------------------------------------------------------------- ReadResult


@pytest.mark.req("BLT-97")
async def test_read_result_is_there_with_any_other_tool_and_reads_nothing_but_handles(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    far = script_server(tmp_path, "far", [remote("a")])
    alone: Iterable[dict[str, object]] = (
        {"tools": [says("Look")]},
        {"enable": {"shell"}},
        {"mcp_servers": [far]},
    )
    for options in alone:
        assert "ReadResult" in await built(tmp_path, **options)
    async with house(tmp_path, tools=[says("Look")]) as home:
        session = await home.app.sessions.create()
        assert "ReadResult" in names(session)
        found = [await session.call_tool("ReadResult", json.dumps({"handle": h})) for h in ("a", "r1-x", "../a")]
    for result in found:
        assert json.loads(result.content)["error"] == "execution_failed"
        assert "unknown" in result.content
    async with house(tmp_path) as home:
        session = await home.app.sessions.create(mcp_servers=[script_server(tmp_path, "own", [remote("a")])])
        assert set(session.catalog.names) - {*MCP_META_NAMES} == {"mcp__own__a", *META}


@pytest.mark.req("BLT-95", "BLT-96")
async def test_a_long_result_is_cut_and_read_on_by_its_own_session_alone(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} \u00e9" for number in range(5000))
    async with house(tmp_path, tools=[says("Long", text)]) as home:
        session, other = await home.app.sessions.create(), await home.app.sessions.create()
        (cut,) = await home.turn(session, call("Long"))
        assert len(cut.content.encode()) <= 26_000
        found = re.search(r"\br\d+-[0-9a-f]+", cut.content)
        assert found is not None
        arguments = {"handle": found.group(), "offset": 30_001}
        (stretch,) = await home.turn(session, call("ReadResult", arguments))
        (lines,) = await home.turn(session, call("ReadResult", {**arguments, "offset": 0, "pattern": "line 4321 "}))
        (foreign,) = await home.turn(other, call("ReadResult", arguments))
        await session.close()
        again = await home.app.sessions.open(session.id)
        (gone,) = await home.turn(again, call("ReadResult", arguments))
    head, _, body = stretch.content.partition("\n")
    at = int(head.split()[1])
    assert 29_998 <= at <= 30_001
    assert str(len(text.encode())) in head
    assert text.encode()[at:].decode().startswith(body)
    assert "line 4321 \u00e9" in lines.content
    assert "of another session" in foreign.content
    assert gone.is_error
    for result in (foreign, gone):
        assert json.loads(result.content)["error"] == "execution_failed"


# ---------------------------------------------------------------- asks of a caller


@pytest.mark.req("DSP-50")
async def test_the_first_verdict_counts_and_another_is_a_conflict(tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    async with house(tmp_path, tools=[tool], approver=hilt.VIA_SESSION) as home:
        session = await home.app.sessions.create()
        home.model.add({"calls": [call("Change")]}, {"text": "done"})
        refused: list[str] = []
        async for event in session.prompt("go"):
            if isinstance(event.body, AskOpened):
                for ask_id, verdict in (("ask_other", "deny"), (event.body.ask_id, "maybe")):
                    with pytest.raises(RequestError) as caught:
                        await session.approve(ask_id, verdict)
                    refused.append(caught.value.code)
                await session.approve(event.body.ask_id, "allow_once")
                with pytest.raises(ConflictError):
                    await session.approve(event.body.ask_id, "deny")
        assert len(tool.calls) == 1
        assert refused == ["conflict", "bad_request"]


# ---------------------------------------------------------------- nothing is left


@pytest.mark.req("CAT-99")
async def test_leaving_the_context_ends_every_task_process_and_connection(tmp_path: Path) -> None:
    mark = Mark()
    far = script_server(tmp_path, "far", [remote("a")])
    far = McpServerSpec(
        name="far", transport="stdio", command=far.command, args=far.args, env={**far.env, NAME: mark.value}
    )
    tasks, threads, open_files = asyncio.all_tasks(), threading.active_count(), set(os.listdir("/proc/self/fd"))
    waiting = anyio.Event()

    async def hang(call: ToolCall, env: Environment) -> str:
        waiting.set()
        await anyio.sleep_forever()
        return ""

    options: dict[str, object] = {
        "config": Config(environment={**os.environ, NAME: mark.value}),
        "enable": {"files", "shell"},
        "tools": [FunctionTool("Hang", hang)],
        "mcp_servers": [far],
        "store": f"jsonl:{tmp_path / 'store'}",
        "rules": allow("*"),
    }
    with anyio.fail_after(30):
        async with house(tmp_path, **options) as home:
            one, two, idle = [await home.app.sessions.create() for _ in range(3)]
            home.model.add({"calls": [call("Hang")]}, {"calls": [call("shell", {"command": "sleep 50; true"})]})
            runs = [one.prompt("go")]
            await waiting.wait()
            runs.append(two.prompt("go"))
            await mark.reach(3)
            assert idle.state == "idle"
    assert mark.alive() == []
    assert asyncio.all_tasks() == tasks
    results = [await run.finished() for run in runs]
    assert [result.stop_reason for result in results if result is not None] == [StopReason.CANCELLED] * 2
    assert set(os.listdir("/proc/self/fd")) <= open_files
    assert threading.active_count() <= threads + 4  # the idle workers of anyio's pool


@pytest.mark.req("CAT-99")
async def test_an_exception_inside_and_a_build_that_fails_leave_nothing_either(tmp_path: Path) -> None:
    mark = Mark()
    good = script_server(tmp_path, "good", [remote("a")])
    env = {**good.env, NAME: mark.value}
    good = McpServerSpec(name="good", transport="stdio", command=good.command, args=good.args, env=env)
    dead = McpServerSpec(name="dead", transport="stdio", command="no-such-program", required=True)
    tasks = asyncio.all_tasks()

    async def breaks() -> None:
        async with house(tmp_path, mcp_servers=[good]):
            assert mark.alive() != []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await breaks()
    assert (mark.alive(), asyncio.all_tasks()) == ([], tasks)
    with pytest.raises(UnreachableError, match="dead"):
        async with house(tmp_path, mcp_servers=[good, dead]):
            raise AssertionError
    assert (mark.alive(), asyncio.all_tasks()) == ([], tasks)


# ---------------------------------------------------------------- the public face

PARAMETERS: dict[Callable[..., object], str] = {
    build: "config workspace store model tools sources enable own_names hooks guardrails rules approver recorder clock "
    "services mcp_servers skill_sources session_catalog on_event enable_builtins enable_shell enable_subagents "
    "enable_memory enable_comms",
    Sessions.create: "id title mode model system_prompt profile enable tools limits mcp_servers",
    Agent.__init__: "catalog model env hooks rules approver recorder clock limits",
}


def test_the_front_door_has_these_parameters_all_by_keyword() -> None:
    for function, expected in PARAMETERS.items():
        parameters = {name: p for name, p in inspect.signature(function).parameters.items() if name != "self"}
        assert [name for name in parameters if name in expected.split()] == expected.split()
        assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        Agent(model=None)  # type: ignore[call-arg, arg-type]  # CAT-30: a catalog has no default


@pytest.mark.req("CAT-101")
def test_public_names_are_sorted_described_and_complete() -> None:
    public: list[str] = getattr(hilt, "__all__", [])
    assert public == sorted(set(public))
    undescribed = []
    for name in public:
        value = getattr(hilt, name)
        written = (value.__doc__ or "") if isinstance(value, type) or callable(value) else "constant"
        if not written.strip() or written.startswith(f"{name}("):
            undescribed.append(name)
    assert undescribed == []
    assert not hasattr(hilt, "SessionAssembler")
    assert {"Agent", "App", "Session", "build", "tool", "hook"} <= set(public)


async def test_the_apps_parts_are_what_was_built(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"files"}, rules=allow("Write")) as home:
        app = home.app
        assert isinstance(app, hilt.App)
        assert app.workspace == os.path.realpath(tmp_path)
        assert list(app.rules) == allow("Write")
        assert app.catalog.describe("Read") is not None
        session = await app.sessions.create()
        result = await home.run(session, {"text": "hello"})
        assert isinstance(result, RunResult)
        assert result.final_text == "hello"
