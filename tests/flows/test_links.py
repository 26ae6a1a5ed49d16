"""Links in what servers send: told to the model, fetched when it asks, and never by themselves."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.core.content import ResourceLinkPart
from hilt.core.errors import ErrorCode
from hilt.core.fetched import Fetched
from hilt.core.mcp import McpServerSpec
from hilt.mcp.fetch import FetchMcpResource
from hilt.ports.fetch import Fetcher, FetchFailedError, FetchRequest
from hilt.ports.tool import Environment
from tests.app.house import STDIO_REPLAY, house, remote, script_server
from tests.flows.kit import allow, call, run_turn
from tests.flows.results_kit import content, far
from tests.web.world import answer, world

URL = "https://example.com/doc"


@dataclass(kw_only=True)
class Trap:
    """An address where nobody should call; `calls` counts who did."""

    url: str = ""
    calls: int = 0
    fetched: list[str] = field(default_factory=list)

    async def fetch(self, request: FetchRequest) -> Fetched:
        """See `Fetcher`: keep what was asked for."""
        self.fetched.append(request.url)
        raise FetchFailedError("nothing is fetched here")


@asynccontextmanager
async def trap() -> AsyncIterator[Trap]:
    """Listen until the block ends."""
    found = Trap()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    found.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"

    async def count(stream: anyio.abc.ByteStream) -> None:
        found.calls += 1
        await stream.aclose()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, count)
        yield found
        tasks.cancel_scope.cancel()


def luring_server(folder: Path, url: str) -> McpServerSpec:
    """Return an entry of a server that offers the address wherever a URI can stand."""

    def at(place: str) -> str:
        return f"{url}/{place}"

    def extras(place: str) -> dict[str, object]:
        icons = [{"src": at(f"{place}-icon"), "mimeType": "image/png", "sizes": ["48x48"]}]
        return {"icons": icons, "_meta": {"url": at(f"{place}-meta"), "ui/resourceUri": at(f"{place}-ui")}}

    schema = {
        "$schema": at("dialect"),
        "$id": at("id"),
        "type": "object",
        "properties": {"a": {"$ref": at("schema-a")}, "b": {"$ref": at("schema-b#/$defs/x"), "format": "uri"}},
    }
    output = {"type": "object", "properties": {"c": {"$ref": at("schema-c")}}}
    tool = {**remote("lure"), "inputSchema": schema, "outputSchema": output, **extras("tool")}
    blocks = [
        {"type": "text", "text": f"see {at('text')} and ![x]({at('image')})", **extras("text")},
        {"type": "resource_link", "uri": at("link"), "name": "n", "mimeType": "text/html", **extras("link")},
        {"type": "resource", "resource": {"uri": at("embedded"), "text": at("inside"), **extras("embedded")}},
        {"type": "image", "data": "", "mimeType": "image/png", "uri": at("image-uri")},
    ]
    result = {"content": blocks, "structuredContent": {"c": at("structured")}, **extras("result")}
    resource = {"uri": at("resource"), "name": "r", **extras("resource")}
    prompt = {"name": "p", "description": at("prompt"), **extras("prompt")}
    notices = [
        {"notify": {"method": "notifications/message", "params": {"level": "info", "data": {"url": at("log")}}}},
        {"notify": {"method": "notifications/resources/updated", "params": {"uri": at("updated")}}},
        {"notify": {"method": "notifications/elicitation/complete", "params": {"url": at("elicited")}}},
    ]
    server = {"name": "lure", "version": "1", "websiteUrl": at("website"), **extras("server")}
    scenario = {
        "tools": [tool],
        "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}},
        "on": {
            "initialize": [
                {
                    "result": {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
                        "serverInfo": server,
                        "instructions": at("instructions"),
                    }
                }
            ],
            "resources/list": [{"result": {"resources": [resource]}}],
            "resources/templates/list": [{"result": {"resourceTemplates": [{"uriTemplate": at("{x}"), "name": "t"}]}}],
            "prompts/list": [{"result": {"prompts": [prompt]}}],
            "tools/call": [*notices, {"result": result}],
        },
    }
    (folder / "lure.json").write_text(json.dumps(scenario))
    return McpServerSpec(
        name="lure",
        transport="stdio",
        command=sys.executable,
        args=(str(STDIO_REPLAY), str(folder / "lure.json")),
        connect_timeout_s=20.0,
    )


@pytest.mark.req("RES-64", "RES-65")
async def test_no_address_that_a_server_offers_is_fetched_by_itself(tmp_path: Path) -> None:
    async with trap() as lure:
        services: Mapping[type, object] = {Fetcher: lure}
        spec = luring_server(tmp_path, lure.url)
        async with house(tmp_path, mcp_servers=[spec], rules=allow("*"), services=services) as home:
            session = await home.app.sessions.create()
            [result] = await home.turn(session, call("mcp__lure__lure"))
            await session.close()
    assert result.is_error is False
    assert f"[resource {lure.url}/link (n): read it with ReadMcpResource, server 'lure']" in result.content
    assert any(isinstance(part, ResourceLinkPart) and part.uri == f"{lure.url}/link" for part in result.parts)
    assert (lure.calls, lure.fetched) == (0, [])


@pytest.mark.req("RES-66")
async def test_what_the_model_asks_for_is_fetched(tmp_path: Path) -> None:
    link = {"type": "resource_link", "uri": URL, "name": "doc"}
    async with world(tmp_path) as web:
        web.page(URL, answer("the document"))
        services = {Fetcher: web.fetcher()}
        async with far(tmp_path, {"find": content(link)}, services=services) as home:
            session = await home.app.sessions.create()
            [told] = await home.turn(session, call("mcp__far__find"))
            assert (told.content, web.dialled) == (f"[resource {URL} (doc): read it with FetchMcpResource]", [])
            [read] = await home.turn(session, call("FetchMcpResource", {"uri": URL}))
    assert read.content.endswith("\nthe document")
    assert len(web.asked) == 1


@pytest.mark.req("RES-67")
async def test_the_tool_is_there_when_an_mcp_server_is_mounted(tmp_path: Path) -> None:
    spec = script_server(tmp_path, "near", [remote("look")])
    async with house(tmp_path, enable={"files.read"}) as home:
        without = await home.app.sessions.create()
        own = await home.app.sessions.create(mcp_servers=[spec])
        assert "FetchMcpResource" not in without.catalog.names
        assert "FetchMcpResource" in own.catalog.names
    async with house(tmp_path, mcp_servers=[spec], rules=allow("*")) as home:
        session = await home.app.sessions.create()
        assert "FetchMcpResource" in session.catalog.names
        [read] = await home.turn(session, call("FetchMcpResource", {"uri": "https://127.0.0.1/"}))
    assert "only public addresses are fetched from" in read.content


@pytest.mark.req("RES-67")
async def test_a_server_without_tools_is_mounted_too_and_a_dead_one_is_not(tmp_path: Path) -> None:
    bare = script_server(tmp_path, "bare", [])
    dead = McpServerSpec(
        name="dead", transport="stdio", command=sys.executable, args=("-c", ""), connect_timeout_s=20.0
    )
    async with house(tmp_path, mcp_servers=[bare]) as home:
        assert home.app.catalog.names >= {"FetchMcpResource", "ReadResult"}
        await home.app.sessions.create()
    async with house(tmp_path, mcp_servers=[dead]) as home:
        assert "FetchMcpResource" not in home.app.catalog.names


@pytest.mark.req("RES-72")
async def test_long_text_is_cut_and_long_json_is_withheld_with_its_outline(tmp_path: Path) -> None:
    rows = json.dumps([{"id": number, "name": "x" * 50} for number in range(1000)])
    async with world(tmp_path) as web:
        web.page(URL, answer("line of text\n" * 5000))
        web.page("https://example.com/json", answer(rows, "application/json"))
        flow = await run_turn(
            [FetchMcpResource()],
            [call("FetchMcpResource", {"uri": URL}), call("FetchMcpResource", {"uri": "https://example.com/json"})],
            env=Environment(services={Fetcher: web.fetcher()}),
            rules=allow("*"),
        )
    text, rest = flow.results
    assert len(text.content.encode()) <= 25_000
    assert text.content.startswith(f"[{URL}: text/plain, 65000 bytes")
    assert "bytes are missing here" in text.content
    assert rest.is_error
    withheld = json.loads(rest.content)
    assert withheld["error"] == ErrorCode.RESULT_TOO_LARGE
    assert "outline" in withheld["data"]
    assert "xxxxx" not in rest.content
