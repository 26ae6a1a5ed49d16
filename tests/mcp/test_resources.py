"""ListMcpResources and ReadMcpResource."""

import json
from collections.abc import Mapping

import anyio
import pytest

from hilt.core.content import EmbeddedResourcePart
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.mcp.resources import ListMcpResources, ReadMcpResource, offers_resources
from hilt.ports.mcp import Fault, McpConnection, McpFault, ServerFacts
from hilt.ports.tool import Environment
from hilt.testing.mcp import FakeConnection, FakeDialer
from tests.mcp.mount import SPEC, UNAVAILABLE, fails, managed
from tests.mcp_servers.kit import http_spec

B = {"uri": "b://2", "name": "two", "mimeType": "text/plain", "description": "The\nsecond."}
A = {"uri": "a://1"}
LISTS = ("resources",)


def library(*resources: Mapping[str, object], contents: object = ()) -> FakeConnection:
    """Return a connection with these resources, each of which reads as `contents`."""
    connection = FakeConnection(
        {
            "resources/list": lambda params: {"resources": list(resources)},
            "resources/read": lambda params: {"contents": list(contents) if isinstance(contents, tuple) else contents},
        }
    )
    connection.facts = ServerFacts(name="fake", revision="2025-11-25", capabilities={"resources": {}})
    return connection


async def listed(manager: McpManager, **args: object) -> ToolResult:
    return await ListMcpResources(manager.servers).execute(_call("ListMcpResources", args), Environment())


async def read(manager: McpManager, uri: str = "a://1", server: str = "far") -> ToolResult:
    call = _call("ReadMcpResource", {"server": server, "uri": uri})
    return await ReadMcpResource(manager.servers).execute(call, Environment())


def _call(name: str, args: Mapping[str, object]) -> ToolCall:
    return ToolCall("c1", name, json.dumps(args))


@pytest.mark.req("MCP-104")
async def test_the_list_has_a_line_each_by_server_then_uri() -> None:
    specs = [http_spec("http://127.0.0.1:9/x", name=name) for name in ("zoo", "ark", "nil")]
    dialer = FakeDialer(library(B, A), library({**A, "name": "one"}), library())
    async with managed(dialer, *specs, lists=LISTS) as manager:
        every = await listed(manager)
        one = await listed(manager, server="zoo")
        none = await listed(manager, server="nil")
        with pytest.raises(ToolError, match="no connected MCP server is named 'far'; there are: ark, nil, zoo"):
            await listed(manager, server="far")
    assert every.content.splitlines() == [
        "- [ark] a://1 (one)",
        "- [zoo] a://1",
        "- [zoo] b://2 (two) [text/plain]: The second.",
    ]
    assert one.content.splitlines() == every.content.splitlines()[1:]
    assert none.content == "MCP server 'nil' offers no resource."


@pytest.mark.req("MCP-104")
async def test_without_any_resource_the_list_is_one_fixed_sentence() -> None:
    async with managed(FakeDialer(library()), lists=LISTS) as manager:
        assert (await listed(manager)).content == "No connected MCP server offers a resource."
        assert not offers_resources(manager.servers)


@pytest.mark.req("MCP-104")
async def test_a_server_that_is_away_is_neither_listed_nor_known() -> None:
    specs = [http_spec("http://127.0.0.1:9/x", name=name) for name in ("ark", "zoo")]
    dialer = FakeDialer(library(A), McpFault(Fault.NOT_SENT, "refused"))
    async with managed(dialer, *specs, lists=LISTS) as manager:
        assert (await listed(manager)).content == "- [ark] a://1"
        with pytest.raises(ToolError, match="there are: ark"):
            await read(manager, server="zoo")


@pytest.mark.req("MCP-54")
async def test_a_server_that_is_still_connecting_is_named() -> None:
    async def never() -> McpConnection:
        await anyio.sleep_forever()
        raise AssertionError

    specs = [http_spec("http://127.0.0.1:9/x", name=name) for name in ("ark", "zoo")]
    async with background_tasks() as tasks:
        manager = McpManager(specs, FakeDialer(library(A), never), lists=LISTS)
        with anyio.fail_after(5):
            await manager.start(tasks, wait="fast")
            try:
                every = await listed(manager)
            finally:
                await manager.close()
    assert every.content.splitlines() == ["- [ark] a://1", "- [zoo] is still connecting"]


@pytest.mark.req("MCP-97")
async def test_a_list_that_changed_is_read_by_the_next_call() -> None:
    resources = [A]
    connection = library()
    connection = FakeConnection({"resources/list": lambda params: {"resources": list(resources)}})
    connection.facts = ServerFacts(name="fake", capabilities={"resources": {}})
    async with managed(FakeDialer(connection), lists=LISTS) as manager:
        resources.append(B)
        assert len((await listed(manager)).content.splitlines()) == 1
        connection.notify("notifications/resources/list_changed", {})
        assert len((await listed(manager)).content.splitlines()) == 2


TEXT = {"uri": "a://1", "mimeType": "text/plain", "text": "line\r\n  é\x1b[0m"}
BYTES = {"uri": "a://1#b", "blob": "/wD+gIE="}
MARKED = {**BYTES, "mimeType": "image/png"}


@pytest.mark.req("MCP-105")
@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ((TEXT,), TEXT["text"]),
        ((TEXT, {**TEXT, "uri": "a://2", "text": "two"}), f"[resource a://1]\n{TEXT['text']}\n[resource a://2]\ntwo"),
        ((BYTES,), "[resource a://1#b: type unknown, 5 bytes]"),
        ((MARKED,), "[resource a://1#b: image/png, 5 bytes]"),
        ((TEXT, MARKED), f"[resource a://1]\n{TEXT['text']}\n[resource a://1#b: image/png, 5 bytes]"),
        (({**TEXT, "text": ""},), "[an empty document]"),
        (({"text": "no uri"},), "no uri"),
        (({"uri": "a://1"},), "[a malformed content block of type 'resource' was left out]"),
        ((7,), "[a malformed content block of type 'resource' was left out]"),
        ((), "[the server has nothing under this URI]"),
    ],
)
async def test_a_document_is_read(contents: tuple[object, ...], text: str) -> None:
    async with managed(FakeDialer(library(A, contents=contents)), lists=LISTS) as manager:
        result = await read(manager)
    assert (result.content, result.is_error) == (text, False)


async def test_contents_are_kept_as_parts() -> None:
    async with managed(FakeDialer(library(A, contents=(TEXT, MARKED))), lists=LISTS) as manager:
        result = await read(manager)
    assert result.parts == (
        EmbeddedResourcePart(uri="a://1", mime_type="text/plain", text="line\r\n  é\x1b[0m"),
        EmbeddedResourcePart(uri="a://1#b", mime_type="image/png", blob="/wD+gIE="),
    )


@pytest.mark.req("MCP-105")
async def test_an_answer_that_is_none_and_a_refusal_are_error_results() -> None:
    connection = library(A, contents=7)
    refusing = FakeConnection({"resources/read": fails(Fault.DECLARED, "no such thing", code=-32002)})
    refusing.facts = connection.facts
    specs = [http_spec("http://127.0.0.1:9/x", name=name) for name in ("ark", "zoo")]
    async with managed(FakeDialer(connection, refusing), *specs, lists=LISTS) as manager:
        wrong, refused = await read(manager, server="ark"), await read(manager, server="zoo")
    assert (wrong.is_error, "'ark' answered with no MCP result" in wrong.content) == (True, True)
    assert (refused.is_error, refused.content) == (
        True,
        "MCP server \"zoo\" answered 'a://1' with error -32002: no such thing",
    )


@pytest.mark.req("MCP-87")
async def test_a_read_takes_the_path_of_calls_and_is_sent_again_as_one_that_only_reads() -> None:
    cut, fine = library(A), library(A, contents=(TEXT,))
    cut._handlers["resources/read"] = fails(Fault.CUT)
    async with managed(FakeDialer(cut, fine), lists=LISTS) as manager:
        assert (await read(manager)).content == TEXT["text"]
    assert [request.method for request in fine.sent] == ["resources/read"]
    gone = library(A)
    gone._handlers["resources/read"] = fails(Fault.CUT)
    async with managed(FakeDialer(gone, McpFault(Fault.NOT_SENT, "refused")), lists=LISTS) as manager:
        result = await read(manager)
    assert f"error: {result.content}" == UNAVAILABLE


@pytest.mark.req("PRM-10")
def test_subjects_are_the_uri_and_the_server() -> None:
    reading, listing = ReadMcpResource([]), ListMcpResources([])
    uri, server = (Subject(text="a://1"),), (Subject(text="far"),)
    call = _call("ReadMcpResource", {"server": "far", "uri": "a://1"})
    assert reading.subjects(call) == Subjects(unnamed=uri, named={"uri": uri, "server": server})
    assert listing.subjects(_call("x", {"server": "far"})) == Subjects(
        unnamed=server, named={"server": server, "uri": ()}
    )
    assert listing.subjects(_call("x", {})) == Subjects(unnamed=None, named={"server": (), "uri": ()})
    assert (reading.read_only, listing.read_only) == (True, True)


async def test_the_deadline_is_that_of_the_servers_entry() -> None:
    async with managed(FakeDialer(library(A)), lists=LISTS) as manager:
        tool = ReadMcpResource(manager.servers)
        assert tool.deadline_s(_call("x", {"server": "far", "uri": "a"})) == SPEC.call_timeout_s
        assert tool.deadline_s(_call("x", {"server": "other", "uri": "a"})) > SPEC.call_timeout_s
