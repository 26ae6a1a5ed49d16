"""What MCP servers give an application beside their tools, and what a session may bring."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.app.config import Config
from hilt.app.mcp_servers import client_servers
from hilt.core.errors import RequestError
from hilt.core.host_rules import deny
from hilt.core.mcp import McpServerSpec
from hilt.core.session import Mode
from tests.app.house import STDIO_REPLAY, house, names, remote, script_server
from tests.app.places import Machine
from tests.flows.kit import allow, call, says
from tests.mcp_servers.kit import SDK_SERVER, read_log, serving

READING = {"ListMcpResources", "ReadMcpResource"}


def library(
    folder: Path, name: str, uris: Sequence[str] = ("doc://1",), *, tools: Sequence[Mapping[str, object]] = ()
) -> McpServerSpec:
    """Return an entry for a server with these resources, each of which reads as its URI, and a prompt `brief`."""
    on: dict[str, object] = {
        "resources/list": [{"result": {"resources": [{"uri": uri, "name": "x"} for uri in uris]}}],
        "prompts/list": [{"result": {"prompts": [{"name": "brief", "arguments": [{"name": "topic"}]}]}}],
        "prompts/get": [{"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "be brief"}}]}}],
    }
    on |= {f"resources/read:{uri}": [{"result": {"contents": [{"uri": uri, "text": f"{name} {uri}"}]}}] for uri in uris}
    capabilities: Mapping[str, object] = {"resources": {}, "prompts": {}, **({"tools": {}} if tools else {})}
    scenario = folder / f"{name}.json"
    scenario.write_text(json.dumps({"capabilities": capabilities, "tools": list(tools), "on": on}))
    return McpServerSpec(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=(str(STDIO_REPLAY), str(scenario)),
        env={"REPLAY_LOG": str(folder / f"{name}.log")},
        connect_timeout_s=20.0,
    )


def asked(folder: Path, name: str) -> list[object]:
    received = [line["recv"] for line in read_log(folder / f"{name}.log") if "recv" in line]
    return [message.get("method") for message in received if isinstance(message, dict)]


@pytest.mark.req("MCP-103")
async def test_resources_are_read_where_a_server_has_one_in_plan_mode_too(tmp_path: Path) -> None:
    async with house(tmp_path, mcp_servers=[library(tmp_path, "far")]) as home:
        plan = await home.app.sessions.create(mode=Mode.PLAN, profile="no-fs")
        assert set(names(plan)) >= READING
        shown, read = await home.turn(
            plan, call("ListMcpResources"), call("ReadMcpResource", {"server": "far", "uri": "doc://1"})
        )
    assert (shown.content, read.content) == ("- [far] doc://1 (x)", "far doc://1")


@pytest.mark.req("MCP-103")
async def test_without_a_resource_or_the_switch_neither_tool_exists(tmp_path: Path) -> None:
    off = Config(mcp=replace(Config().mcp, resource_tools=False, prompts=False))
    for name, uris, config in (("none", (), None), ("off", ("doc://1",), off)):
        server = library(tmp_path, name, uris, tools=[remote("a")])
        async with house(tmp_path, mcp_servers=[server], config=config) as home:
            assert f"mcp__{name}__a" in home.app.catalog.names
            assert not READING & set(home.app.catalog.names)
            assert bool(home.app.slash.names()) == (config is None)
    assert "resources/list" in asked(tmp_path, "none")
    assert not {"resources/list", "prompts/list"} & set(asked(tmp_path, "off"))


@pytest.mark.req("MCP-107")
async def test_prompts_of_the_processes_servers_are_commands(tmp_path: Path) -> None:
    async with house(tmp_path, mcp_servers=[library(tmp_path, "far")]) as home:
        assert home.app.slash.names() == ["mcp__far__brief"]
        assert await home.app.slash.expand("/mcp__far__brief topic=x") == "be brief"


@pytest.mark.req("MCP-114")
async def test_servers_of_the_process_are_in_every_session_and_outlive_them(tmp_path: Path) -> None:
    far = script_server(tmp_path, "far", [remote("a")])
    async with house(tmp_path, mcp_servers=[far], rules=allow("mcp__*")) as home:
        for profile in ("", "no-fs", ""):
            session = await home.app.sessions.create(profile=profile)
            (result,) = await home.turn(session, call("mcp__far__a"))
            assert result.content == "far a"
            await session.close()
    assert asked(tmp_path, "far").count("tools/list") == 1
    assert asked(tmp_path, "far").count("tools/call") == 3


@pytest.mark.req("MCP-115", "MCP-119")
async def test_a_sessions_own_server_brings_what_the_shared_catalog_lacks(tmp_path: Path) -> None:
    far = script_server(tmp_path, "far", [remote("a")])
    async with house(tmp_path, mcp_servers=[far], rules=allow("mcp__*")) as home:
        plain = await home.app.sessions.create()
        own = await home.app.sessions.create(mcp_servers=[library(tmp_path, "own")])
        assert not READING & set(plain.catalog.names)
        assert set(own.catalog.names) == set(plain.catalog.names) | READING
        theirs, mine = await home.turn(
            own, call("mcp__far__a"), call("ReadMcpResource", {"server": "own", "uri": "doc://1"})
        )
        assert (theirs.content, mine.content) == ("far a", "own doc://1")
        assert home.app.slash.names() == []


@pytest.mark.req("MCP-115", "MCP-119")
async def test_a_sessions_own_resources_come_on_top_of_those_of_the_process(tmp_path: Path) -> None:
    async with house(tmp_path, mcp_servers=[library(tmp_path, "far")]) as home:
        own = await home.app.sessions.create(mcp_servers=[library(tmp_path, "own", ["doc://2"])])
        (both,) = await home.turn(own, call("ListMcpResources"))
        plain = await home.app.sessions.create()
        (one,) = await home.turn(plain, call("ListMcpResources"))
    assert both.content.splitlines() == ["- [far] doc://1 (x)", "- [own] doc://2 (x)"]
    assert one.content.splitlines() == ["- [far] doc://1 (x)"]


SECRET = "hunter2-hunter2"
LOCAL = McpServerSpec(name="a", url="http://127.0.0.1:9/mcp")
BAD: dict[str, tuple[list[McpServerSpec], str]] = {
    "nine": ([replace(LOCAL, name=f"s{number}") for number in range(9)], "9 MCP servers are brought; 8 are the most"),
    "name": ([replace(LOCAL, name="a b")], "'a b' is not allowed"),
    "twice": ([replace(LOCAL, name="a-b"), replace(LOCAL, name="A_B")], "have one name: 'a-b' and 'A_B'"),
    "http": ([replace(LOCAL, url="http://example.com/mcp")], "neither https nor on this machine"),
    "lifted": ([replace(LOCAL, url="http://example.com/mcp", insecure_http=True)], "neither https nor on this machine"),
    **{
        header: ([replace(LOCAL, headers={header: SECRET})], f"may not set the header '{header}'")
        for header in ("Connection", "Host", "mcp-session-id", "Mcp-Protocol-Version", "TE", "Transfer-Encoding")
    },
    "line end": ([replace(LOCAL, headers={"X-Key": f"{SECRET}\r\nX: y"})], "no line end"),
    "zero": ([replace(LOCAL, headers={"X-Key": f"{SECRET}\0"})], "no other control character"),
    "header name": ([replace(LOCAL, headers={"X Key": SECRET})], "a header's name"),
    "no header name": ([replace(LOCAL, headers={"": SECRET})], "a header's name"),
    "euro": ([replace(LOCAL, headers={"X-Key": f"{SECRET}\u20ac"})], "Latin-1"),
    "variable": ([replace(LOCAL, headers={"X-Key": "${" + "hunter2" + "}"})], "headers.X-Key of an MCP server names"),
    "token": ([replace(LOCAL, url="http://example.com", headers={"Authorization": SECRET})], "token"),
}


@pytest.mark.req("MCP-116")
@pytest.mark.parametrize("which", BAD)
async def test_what_a_session_may_not_bring_is_refused_without_a_headers_value(tmp_path: Path, which: str) -> None:
    servers, told = BAD[which]
    async with house(tmp_path, tools=[says("Look")]) as home:
        with pytest.raises(RequestError, match=told) as caught:
            await home.app.sessions.create(mcp_servers=servers)
        assert caught.value.code == "bad_request"
        assert "hunter2" not in str(caught.value)
        assert await home.app.sessions.list() == ([], "")


@pytest.mark.req("MCP-116")
async def test_eight_servers_and_harmless_headers_are_taken(tmp_path: Path) -> None:
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        specs = [McpServerSpec(name=f"s{n}", url=served.url, headers={"X-Key": SECRET}) for n in range(8)]
        async with house(tmp_path, rules=allow("mcp__*")) as home:
            session = await home.app.sessions.create(mcp_servers=specs)
            (result,) = await home.turn(session, call("mcp__s7__add", {"a": 1, "b": 2}))
    assert "3" in result.content


@pytest.mark.req("MCP-116")
async def test_a_sessions_server_is_given_ten_seconds_and_no_redirect(tmp_path: Path) -> None:
    given = replace(LOCAL, connect_timeout_s=60.0, insecure_http=True, pass_headers=("x",), required=True)
    (ready,) = client_servers(Config(), [given])
    assert (ready.connect_timeout_s, ready.insecure_http, ready.pass_headers, ready.required, ready.origin) == (
        10.0,
        False,
        None,
        False,
        "client",
    )
    asked_for: list[bytes] = []

    async def redirect(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked_for.append((await stream.receive()).partition(b"\r\n")[0])
            await stream.send(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, redirect)
        async with house(tmp_path, tools=[says("Look")]) as home:
            with pytest.raises(RequestError, match="'a' cannot be reached") as caught:
                await home.app.sessions.create(mcp_servers=[replace(LOCAL, url=url)])
        tasks.cancel_scope.cancel()
    assert caught.value.code == "client_mcp_unreachable"
    assert asked_for
    assert not any(b"/other" in line for line in asked_for)


@pytest.mark.req("PRM-10", "MCP-103")
async def test_rules_see_the_uri_and_the_server_of_a_read(tmp_path: Path) -> None:
    server = library(tmp_path, "far", ["doc://1", "secret://1"])
    for rule in ("ReadMcpResource(secret://*)", "ReadMcpResource(uri=secret://*)"):
        async with house(tmp_path, mcp_servers=[server], rules=[deny(rule)]) as home:
            session = await home.app.sessions.create()
            reads = [call("ReadMcpResource", {"server": "far", "uri": uri}) for uri in ("doc://1", "secret://1")]
            fine, denied = [(await home.turn(session, read))[0] for read in reads]
            assert (fine.content, denied.is_error) == ("far doc://1", True)
            assert rule in denied.content
    async with house(tmp_path, mcp_servers=[server], rules=[deny("ReadMcpResource(server=far)")]) as home:
        session = await home.app.sessions.create()
        (denied,) = await home.turn(session, call("ReadMcpResource", {"server": "far", "uri": "doc://1"}))
        assert denied.is_error


@pytest.mark.req("MCP-118")
async def test_an_allow_of_a_file_does_not_cover_a_sessions_server_of_a_global_servers_name(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user("permissions: {allow: ['mcp__far__*', 'mcp__own__*'], deny: ['mcp__far__d']}")
    config = replace(machine.load(), mcp=replace(Config().mcp, toolhive=False))
    far = script_server(tmp_path, "far", [remote("a")])
    (tmp_path / "client").mkdir()
    mine = script_server(tmp_path / "client", "Far", [remote("a"), remote("b"), remote("d")])
    mine = replace(mine, name="far")
    own = script_server(tmp_path / "client", "own", [remote("c")])
    async with house(machine.root, config=config, mcp_servers=[far]) as home:
        session = await home.app.sessions.create(mcp_servers=[mine, own])
        tools = ("mcp__far__a", "mcp__far__b", "mcp__far__d", "mcp__own__c")
        shared, client, denied, other = [(await home.turn(session, call(tool)))[0] for tool in tools]
    assert (shared.content, other.content) == ("far a", "own c")
    assert (client.is_error, "approver" in client.content or "asked" in client.content) == (True, True)
    assert "mcp__far__d" in denied.content


def thv(folder: Path, *workloads: Mapping[str, object]) -> Mapping[str, str]:
    """Put a ToolHive on a PATH of its own, and return the environment."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "thv"
    script.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(workloads)}\nEOF\n")
    script.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder), "MCP_TIME_TOKEN": SECRET}


@pytest.mark.req("MCP-110", "MCP-112", "CLI-22", "MCP-04")
async def test_running_workloads_are_mounted_and_a_name_that_is_taken_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = script_server(tmp_path, "far", [remote("a")])
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        running = {"url": served.url, "transport_type": "streamable-http", "status": "running"}
        environment = thv(
            tmp_path,
            {**running, "name": "time"},
            {**running, "name": "Far"},
            {**running, "name": "papers", "group": "research"},
        )
        config = Config(environment=environment, home=str(tmp_path))
        async with house(tmp_path, config=config, mcp_servers=[far], rules=allow("mcp__*")) as home:
            assert {"mcp__far__a", "mcp__time__add"} <= set(home.app.catalog.names)
            assert not any("papers" in name or "Far" in name for name in home.app.catalog.names)
            (result,) = await home.turn(await home.app.sessions.create(), call("mcp__time__add", {"a": 1, "b": 2}))
            (manager,) = home.app.mcp
            assert [dict(server.spec.headers) for server in manager.servers if server.spec.name == "time"] == [{}]
    assert "3" in result.content
    assert [r.getMessage() for r in caplog.records if "hidden" in r.getMessage()] == [
        "mcp_server_hidden server=Far winner=user loser=toolhive"
    ]


@pytest.mark.req("CLI-22", "MCP-113")
async def test_toolhive_is_not_asked_without_the_switch_or_without_settings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    environment = thv(tmp_path, {"name": "x", "url": "http://127.0.0.1:9/mcp", "status": "running"})
    off = Config(environment=environment, mcp=replace(Config().mcp, toolhive=False))
    for config in (off, None):
        async with house(tmp_path, config=config) as home:
            assert home.app.mcp == []
    assert not any("toolhive" in record.getMessage() for record in caplog.records)


@pytest.mark.req("CLI-22", "MCP-113")
async def test_an_absent_toolhive_says_one_info_line_and_starts_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config = Config(environment={"PATH": str(tmp_path)}, home=str(tmp_path))
    assert (config.mcp.toolhive, config.mcp.toolhive_group) == (True, "default")
    async with house(tmp_path, config=config) as home:
        assert home.app.mcp == []
    assert [record.levelname for record in caplog.records if "toolhive" in record.getMessage()] == ["INFO"]
