"""`hilt mcp check`: what each server is and gives, as text and as JSON, and the exit codes."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hilt.app.mcp_check import definition_tokens
from hilt.core.mcp import McpServerSpec
from hilt.mcp.listing import read_tools
from tests.app.house import STDIO_REPLAY, remote
from tests.cli.kit import Hilt
from tests.mcp_servers.kit import SDK_SERVER, serving

LOOSE = {"name": "loose", "description": "No type.", "inputSchema": {"properties": {"a": {"type": "string"}}}}
WRONG = {"name": "wrong", "inputSchema": {"type": "array"}}


def added(hilt: Hilt, name: str, tools: Sequence[Mapping[str, object]] = (), *, command: str = sys.executable) -> None:
    """Add a server of the project with these tools, two resources and a prompt."""
    on = {
        "resources/list": [{"result": {"resources": [{"uri": "a://1"}, {"uri": "a://2"}]}}],
        "prompts/list": [{"result": {"prompts": [{"name": "p"}]}}],
    }
    scenario = hilt.root / f"{name}.json"
    capabilities: Mapping[str, object] = {"tools": {}, "resources": {}, "prompts": {}}
    scenario.write_text(json.dumps({"capabilities": capabilities, "tools": list(tools), "on": on}))
    ran = hilt("mcp", "add", name, "--", command, str(STDIO_REPLAY), str(scenario))
    assert ran.code == 0


def checked(hilt: Hilt, *args: str, code: int = 0, warns: str = "") -> list[dict[str, object]]:
    ran = hilt("mcp", "check", *args, "--json")
    assert (ran.code, warns in ran.err, bool(ran.err)) == (code, True, bool(warns))
    servers = ran.json["servers"]
    assert isinstance(servers, list)
    return servers


@pytest.mark.req("MCP-23", "CLI-38", "CLI-42")
def test_check_tells_era_revision_times_counts_tokens_and_credential(hilt: Hilt, tmp_path: Path) -> None:
    added(hilt, "near", [remote("a"), remote("b")])
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        assert hilt("mcp", "add", "far", "--url", served.url, "--header", "X-Key: hunter2-hunter2").code == 0
        near, far = checked(hilt)
        text = hilt("mcp", "check", "near", "far")
    tools = read_tools([remote("a"), remote("b")], McpServerSpec(name="near")).tools
    took = near.pop("connect_s")
    assert isinstance(took, float)
    assert 0 < took < 20
    assert near == {
        "name": "near",
        "origin": "project",
        "transport": "stdio",
        "state": "ready",
        "required": False,
        "credential": "none",
        "cause": "",
        "era": "handshake",
        "revision": near["revision"],
        "server": near["server"],
        "tools": 2,
        "resources": 2,
        "prompts": 1,
        "tokens": definition_tokens(tools),
        "tokens_are": "an estimate: bytes / 4",
        "repaired": [],
        "withheld": [],
    }
    assert near["revision"]
    assert (far["era"], far["credential"], far["tools"]) == ("stateless", "token", 2)
    assert "hunter2" not in text.out
    assert "near (stdio, project): ready" in text.out
    assert f"2 tools, 2 resources, 1 prompt; the tools' definitions take about {near['tokens']} tokens" in text.out
    assert "bytes / 4" in text.out
    assert "credential token" in text.out


@pytest.mark.req("MCP-23", "CLI-38", "CLI-40")
def test_check_tells_what_was_repaired_and_exits_1_for_what_is_withheld(hilt: Hilt) -> None:
    added(hilt, "near", [remote("a"), LOOSE])
    (fine,) = checked(hilt)
    repaired = {"tool": "loose", "what": '"type": "object" was added to the input schema'}
    assert fine["repaired"] == [repaired]
    added(hilt, "other", [remote("a"), WRONG])
    (odd,) = checked(hilt, "other", code=1)
    withheld = {"tool": "wrong", "reason": "the input schema describes no object but 'array'"}
    assert (odd["tools"], odd["withheld"]) == (1, [withheld])
    text = hilt("mcp", "check")
    assert text.code == 1
    assert f"  repaired loose: {repaired['what']}" in text.out
    assert f"  withheld wrong: {withheld['reason']}" in text.out


@pytest.mark.req("CLI-38", "CLI-40")
def test_a_server_that_cannot_be_reached_costs_no_other_and_exits_1_or_5_if_required(hilt: Hilt) -> None:
    added(hilt, "near", [remote("a")])
    added(hilt, "gone", command="no-such-program")
    states = {one["name"]: one["state"] for one in checked(hilt, code=1)}
    assert states == {"near": "ready", "gone": "failed"}
    (gone,) = checked(hilt, "gone", code=1)
    assert "no-such-program" in str(gone["cause"])
    assert checked(hilt, "near")[0]["state"] == "ready"
    config = hilt.root / ".hilt" / "mcp.toml"
    required = "\n".join(
        f"{line}\nrequired = true" if line == 'command = "no-such-program"' else line
        for line in config.read_text().splitlines()
    )
    config.write_text(required)
    ran = hilt("mcp", "check", "--trust-project")
    assert ran.code == 5
    assert "gone (stdio, project): failed: " in ran.out


@pytest.mark.req("CLI-38")
def test_what_is_not_connected_is_told_with_its_reason(hilt: Hilt) -> None:
    assert hilt("mcp", "check").out.startswith("No servers.")
    hilt.machine.project_servers('[[servers]]\nname = "a"\nurl = "https://a.example"\n')
    hilt.machine.user(
        '[[servers]]\nname = "b"\ncommand = "x"\nenabled = false\n'
        '[[servers]]\nname = "c"\nurl = "https://c.example/${NOWHERE}"\n',
        "mcp.toml",
    )
    b, c, a = checked(hilt, code=1, warns="this project is not trusted")
    assert (b["state"], c["state"], a["state"]) == ("disabled", "left out", "needs trust")
    assert "NOWHERE" in str(c["cause"])
    assert checked(hilt, "b", warns="this project is not trusted")[0]["state"] == "disabled"
    missing = hilt("mcp", "check", "zzz")
    assert (missing.code, missing.err.splitlines()[-1]) == (2, "hilt: no MCP server 'zzz' (known: b, c)")


def test_running_workloads_of_toolhive_are_checked_too(hilt: Hilt, tmp_path: Path) -> None:
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        running = [{"name": "time", "url": served.url, "transport_type": "streamable-http", "status": "running"}]
        script = tmp_path / "thv"
        script.write_text(f"#!/bin/sh\necho '{json.dumps(running)}'\n")
        script.chmod(0o755)
        ran = hilt("mcp", "check", "time", "--json", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
        none = hilt("mcp", "check", "--no-toolhive", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    servers = ran.json["servers"]
    assert isinstance(servers, list)
    assert [(one["name"], one["origin"], one["tools"]) for one in servers] == [("time", "toolhive", 2)]
    assert none.out.startswith("No servers.")
