"""Public reports on prompts and resources."""

import json
from pathlib import Path

import pytest

from hilt.core.errors import RequestError
from hilt.core.tool import ToolCall
from hilt.mcp.manager import McpManager
from hilt.mcp.prompts import PromptCommands
from hilt.mcp.resources import ListMcpResources, ReadMcpResource, offers_resources
from hilt.mcp.server_lists import ALL_LISTS
from hilt.ports.tool import Environment
from tests.mcp_servers.kit import INPUTS, mounted, read_log, replay_stdio, tool_of

CASES = json.loads((INPUTS / "n_prompt_args.json").read_text())


def _received(log: Path, method: str) -> list[dict[str, object]]:
    """Return the params of the requests of a method."""
    received = [line["recv"] for line in read_log(log) if "recv" in line]
    return [m["params"] for m in received if isinstance(m, dict) and m.get("method") == method]


def _asked(log: Path) -> list[object]:
    received = [line["recv"] for line in read_log(log) if "recv" in line]
    return [message.get("method") for message in received if isinstance(message, dict)]


async def _listed(manager: McpManager) -> str:
    call = ToolCall("c1", "ListMcpResources")
    return (await ListMcpResources(manager.servers).execute(call, Environment())).content


async def _read(manager: McpManager, uri: str) -> str:
    call = ToolCall("c1", "ReadMcpResource", json.dumps({"server": "near", "uri": uri}))
    result = await ReadMcpResource(manager.servers).execute(call, Environment())
    assert not result.is_error
    return result.content


@pytest.mark.req("MCP-107", "MCP-109")
async def test_n1_values_of_a_prompt_are_quoted_as_in_a_shell(tmp_path: Path) -> None:
    scenario = {
        "capabilities": {"prompts": {}},
        "on": {
            "prompts/list": [{"result": {"prompts": [{"name": "brief", "arguments": CASES["arguments"]}]}}],
            "prompts/get": [{"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "go"}}]}}],
        },
    }
    (tmp_path / "n1.json").write_text(json.dumps(scenario))
    wanted = []
    async with mounted(replay_stdio("n1.json", tmp_path, server="docs"), lists=ALL_LISTS) as manager:
        prompts = PromptCommands(lambda: manager.servers)
        for case in CASES["lines"]:
            if isinstance(case["want"], dict):
                assert await prompts.expand(case["in"]) == "go"
                wanted.append(case["want"])
            else:
                with pytest.raises(RequestError, match="topic"):
                    await prompts.expand(case["in"])
    assert [params["arguments"] for params in _received(tmp_path / "docs.log", "prompts/get")] == wanted


@pytest.mark.req("MCP-57")
async def test_n2_what_a_server_does_not_offer_is_not_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mounted(replay_stdio("n2_no_prompts", tmp_path), lists=ALL_LISTS) as manager:
        assert tool_of(manager, "echo").server
        assert not offers_resources(manager.servers)
    asked = _asked(tmp_path / "near.log")
    assert "prompts/list" not in asked
    assert "resources/list" not in asked
    assert caplog.records == []


@pytest.mark.req("MCP-57")
async def test_n2_a_refusal_all_the_same_is_an_empty_list(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    refused = [{"error": {"code": -32601, "message": "Method not found"}}]
    scenario = {
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "on": {"resources/list": refused, "prompts/list": refused},
    }
    (tmp_path / "refusing.json").write_text(json.dumps(scenario))
    async with mounted(replay_stdio("refusing.json", tmp_path), lists=ALL_LISTS) as manager:
        assert [(report.state, report.tools > 0) for report in manager.reports()] == [("ready", True)]
        assert await _listed(manager) == "No connected MCP server offers a resource."
    assert caplog.records == []


@pytest.mark.req("MCP-105")
async def test_n3_bytes_many_and_empty_documents_are_read(tmp_path: Path) -> None:
    async with mounted(replay_stdio("n3_blobs", tmp_path), lists=ALL_LISTS) as manager:
        assert await _listed(manager) == (
            "- [near] mem://empty (empty)\n- [near] mem://raw (raw)\n- [near] mem://two (two)"
        )
        assert "type unknown, 5 bytes" in await _read(manager, "mem://raw")
        assert await _read(manager, "mem://two") == "[resource mem://two]\nfirst\n[resource mem://two#b]\nsecond"
        assert await _read(manager, "mem://empty") == "[an empty document]"


@pytest.mark.req("MCP-106")
async def test_n4_a_uri_goes_back_byte_for_byte(tmp_path: Path) -> None:
    async with mounted(replay_stdio("n4_uris", tmp_path), lists=ALL_LISTS) as manager:
        uris = [resource.uri for resource in manager.servers[0].lists.resources.known]
        assert len(uris) == 4
        shown = await _listed(manager)
        for uri in uris:
            assert f"- [near] {uri} (" in shown
            assert await _read(manager, uri) == "ok"
    assert [params["uri"] for params in _received(tmp_path / "near.log", "resources/read")] == uris


@pytest.mark.req("MCP-57", "MCP-103", "MCP-107")
async def test_n5_a_server_with_resources_only_is_connected(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with mounted(replay_stdio("n5_resources_only", tmp_path), lists=ALL_LISTS) as manager:
        assert [(report.state, report.tools) for report in manager.reports()] == [("ready", 0)]
        assert offers_resources(manager.servers)
        assert await _listed(manager) == "- [near] doc://1 (one)"
        with pytest.raises(RequestError):
            # The scenario has no answer for prompts/get; what counts is that it gets there.
            await PromptCommands(lambda: manager.servers).expand("/mcp__near__brief topic=x")
    assert [params["arguments"] for params in _received(tmp_path / "near.log", "prompts/get")] == [{"topic": "x"}]
    assert caplog.records == []
