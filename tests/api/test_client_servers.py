"""MCP servers that a session's creator brings over the API: all or none, theirs alone, gone with the session."""

import json
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import pytest

from hilt.adapters.fetch_http import public_network
from hilt.adapters.mcp_transport import OriginTransport
from hilt.app.config import Config
from hilt.app.settings import ServeSettings
from tests.api.kit import Api, kinds, served
from tests.flows.kit import allow, call, says
from tests.mcp_servers.raw_http import RawServer, Received, hangs, http, raw_server, result

SECRET = "value-of-the-header"


async def _names(api: Api, id_: str) -> list[str]:
    tools = (await api.get(f"/v1/sessions/{id_}/tools"))["tools"]
    assert isinstance(tools, list)
    return [tool["name"] for tool in tools]


async def _echo(request: Received, stream: anyio.abc.SocketStream) -> None:
    """Answer a call with the headers that came with it."""
    text = json.dumps({key: value for key, value in request.headers.items() if key.startswith(("x-", "auth"))})
    await stream.send(http(result(request, {"content": [{"type": "text", "text": text}]})))


@pytest.mark.req("SES-54", "SES-04", "MCP-115")
@pytest.mark.parametrize("spelling", ["mcp_servers", "mcpServers"])
async def test_servers_are_brought_in_both_spellings_for_one_session_and_end_with_it(
    tmp_path: Path, spelling: str
) -> None:
    async with raw_server(tools__call=_echo) as far:
        answers = [{"calls": [call("mcp__mine__t")]}, {"text": "done"}]
        async with served(tmp_path, *answers, rules=allow("mcp__mine__*"), tools=[says("Look")]) as api:
            entry = {"name": "mine", "url": far.url, "headers": {"X-Key": SECRET}}
            id_ = await api.create(**{spelling: [entry]})
            other = await api.create()
            assert "mcp__mine__t" in await _names(api, id_)
            assert "mcp__mine__t" not in await _names(api, other)
            assert (await api.get("/v1/mcp/servers")) == {"servers": []}
            frames = await api.run(id_)
            assert kinds(frames)[-1] == "result"
            told = next(frame.data for frame in frames if frame.event == "tool.result")
            assert "[masked]" in str(told["result"])
            assert [one.headers["x-key"] for one in far.received if one.method == "tools/call"] == [SECRET]
            for route in ("events", "calls"):
                answer = await api.ask("GET", f"/v1/sessions/{id_}/{route}")
                assert SECRET not in answer.text
            ends = far.methods().count("DELETE")
            assert (await api.ask("DELETE", f"/v1/sessions/{id_}")).status_code == 204
            assert far.methods().count("DELETE") == ends + 1
            assert (await api.refused("POST", "/v1/sessions", {"mcp_servers": [], "mcpServers": []}))[:2] == (
                400,
                "bad_request",
            )


BAD = {
    "process": ({"name": "a", "command": "sh", "args": ["-c", "true"]}, "command"),
    "process by transport": ({"name": "a", "url": "https://a.example", "transport": "stdio"}, "stdio"),
    "env": ({"name": "a", "url": "https://a.example", "env": {"A": "b"}}, "env"),
    "name": ({"name": "a__b", "url": "https://a.example"}, "a__b"),
    "scheme": ({"name": "a", "url": "ftp://a.example"}, "http"),
    "plain http": ({"name": "a", "url": "http://a.example/mcp"}, "https"),
    "host header": ({"name": "a", "url": "https://a.example", "headers": {"Host": SECRET}}, "Host"),
    "hop header": ({"name": "a", "url": "https://a.example", "headers": {"Transfer-Encoding": SECRET}}, "Transfer"),
    "mcp header": ({"name": "a", "url": "https://a.example", "headers": {"Mcp-Session-Id": SECRET}}, "Mcp-Session-Id"),
    "variable": ({"name": "a", "url": "https://a.example", "headers": {"X-A": "${HOME}" + SECRET}}, "headers"),
    "wait": ({"name": "a", "url": "https://a.example", "connect_timeout_s": 11}, "connect_timeout_s"),
    "auth": ({"name": "a", "url": "https://a.example", "auth": {"mode": "oauth"}}, "auth"),
}


@pytest.mark.req("SES-55", "MCP-31", "MCP-116")
@pytest.mark.parametrize("which", BAD)
async def test_a_bad_entry_is_refused_and_no_session_and_no_connection_is_left(tmp_path: Path, which: str) -> None:
    entry, told = BAD[which]
    async with raw_server() as good, served(tmp_path, tools=[says("Look")]) as api:
        servers = [{"name": "good", "url": good.url}, entry]
        status, code, message = await api.refused("POST", "/v1/sessions", {"mcp_servers": servers})
        assert (status, code) == (400, "bad_request")
        assert told in message
        assert SECRET not in message
        assert await _nothing_left(api, good)


@pytest.mark.req("SES-55", "MCP-116")
async def test_nine_servers_or_two_of_one_name_are_refused(tmp_path: Path) -> None:
    async with raw_server() as good, served(tmp_path, tools=[says("Look")]) as api:
        nine = [{"name": f"s{number}", "url": good.url} for number in range(9)]
        assert (await api.refused("POST", "/v1/sessions", {"mcp_servers": nine}))[:2] == (400, "bad_request")
        twins = [{"name": "a-b", "url": good.url}, {"name": "A_b", "url": good.url}]
        assert (await api.refused("POST", "/v1/sessions", {"mcp_servers": twins}))[:2] == (400, "bad_request")
        assert await _nothing_left(api, good)
        await api.create(mcp_servers=nine[:8])


@pytest.mark.req("SES-55")
async def test_one_that_does_not_answer_is_told_and_the_others_are_closed(tmp_path: Path) -> None:
    async with (
        raw_server() as good,
        raw_server(initialize=hangs) as silent,
        served(tmp_path, tools=[says("Look")]) as api,
    ):
        for dead in ("http://127.0.0.1:9/mcp", silent.url):
            entry = {"name": "dead", "url": dead, "connect_timeout_s": 0.5, "headers": {"X-A": SECRET}}
            body = {"id": "mine", "mcp_servers": [{"name": "good", "url": good.url}, entry]}
            status, code, message = await api.refused("POST", "/v1/sessions", body)
            assert (status, code) == (503, "client_mcp_unreachable")
            assert "'dead'" in message
            assert SECRET not in message
            assert await _nothing_left(api, good)
        await api.create(id="mine")


async def _nothing_left(api: Api, good: RawServer) -> bool:
    """Tell whether no session exists, no place is held, and every session at the good server was ended."""
    listed = await api.get("/v1/sessions")
    opened, ended = good.methods().count("initialize"), good.methods().count("DELETE")
    return listed["sessions"] == [] and api.app.sessions.places.open == 0 and opened == ended


@pytest.mark.req("MCP-117")
@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1/mcp", "http://127.0.0.1:9/mcp", "https://10.0.0.1/mcp", "https://[::1]/", "https://metadata/"],
)
async def test_where_others_call_an_address_inside_is_refused_before_anything_is_dialled(
    tmp_path: Path, url: str
) -> None:
    async with served(tmp_path, config=Config(client_mcp_guarded=True), tools=[says("Look")]) as api:
        refusal = await api.refused("POST", "/v1/sessions", {"mcp_servers": [{"name": "a", "url": url}]})
        assert refusal[:2] == (400, "bad_request")


@pytest.mark.req("MCP-117")
async def test_where_others_call_a_name_that_resolves_inside_is_refused_when_it_is_dialled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    asked: list[str] = []
    async with raw_server() as inside:
        port = int(inside.url.rpartition(":")[2].partition("/")[0])
        transport = OriginTransport(tls=ssl.create_default_context(), network=public_network(resolve=resolve))
        async with httpx2.AsyncClient(transport=transport) as client:
            with pytest.raises(httpx2.ConnectError, match="address"):
                await client.post(f"https://inside.example:{port}/mcp", json={})
        assert asked == ["inside.example"]
        assert inside.received == []
    async with served(tmp_path, config=Config(client_mcp_guarded=True), tools=[says("Look")]) as api:
        entry = {"name": "a", "url": "https://name.invalid/mcp", "connect_timeout_s": 5}
        refusal = await api.refused("POST", "/v1/sessions", {"mcp_servers": [entry]})
        assert refusal[:2] == (503, "client_mcp_unreachable")


@pytest.mark.req("MCP-117")
async def test_client_servers_can_be_turned_off(tmp_path: Path) -> None:
    config = replace(Config(), serve=ServeSettings(client_mcp="off"))
    async with raw_server() as far, served(tmp_path, config=config, tools=[says("Look")]) as api:
        refusal = await api.refused("POST", "/v1/sessions", {"mcp_servers": [{"name": "a", "url": far.url}]})
        assert refusal[:2] == (403, "forbidden")
        assert far.received == []
        await api.create(mcp_servers=[])
        info = await api.get("/v1/info")
        assert info["features"]["client_mcp"] is False  # type: ignore[index]  # an object, by the document
