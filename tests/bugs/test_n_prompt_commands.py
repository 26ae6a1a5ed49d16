"""Kind n, where a prompt is a command: a line that a person types, through the application's commands."""

import json
from pathlib import Path

import pytest

from hilt.core.errors import RequestError
from hilt.core.mcp import McpServerSpec
from tests.app.house import house, script_server

INPUTS = Path(__file__).parent / "inputs"
CASES = json.loads((INPUTS / "n_prompt_args.json").read_text())
WIRE = INPUTS / "wire"


def docs(folder: Path, scenario: object) -> McpServerSpec:
    """Return a server `docs` that plays a scenario."""
    spec = script_server(folder, "docs", [])
    (folder / "docs.json").write_text(json.dumps(scenario))
    return spec


def asked(folder: Path) -> list[object]:
    """Return what the server was asked for with `prompts/get`."""
    lines = [json.loads(line) for line in (folder / "docs.log").read_text().splitlines()]
    received = [line["recv"] for line in lines if "recv" in line]
    return [message["params"]["arguments"] for message in received if message.get("method") == "prompts/get"]


def got(text: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


@pytest.mark.req("SKL-56", "SKL-59", "MCP-107")
async def test_n1_a_typed_line_reaches_the_server_with_its_quoted_values(tmp_path: Path) -> None:
    scenario = {
        "capabilities": {"prompts": {}},
        "on": {
            "prompts/list": [{"result": {"prompts": [{"name": "brief", "arguments": CASES["arguments"]}]}}],
            "prompts/get": [{"result": got("go")}],
        },
    }
    wanted = [case["want"] for case in CASES["lines"] if isinstance(case["want"], dict)]
    async with house(tmp_path, mcp_servers=[docs(tmp_path, scenario)]) as home:
        for case in CASES["lines"]:
            if isinstance(case["want"], dict):
                assert await home.app.slash.expand(case["in"]) == "go"
            else:
                with pytest.raises(RequestError, match="topic"):
                    await home.app.slash.expand(case["in"])
        (listed,) = home.app.slash.listing()
    assert asked(tmp_path) == wanted
    assert (listed.entry.kind, listed.entry.place) == ("prompt", "MCP server docs")
    assert listed.entry.argument_hint == "topic=… [count=…] [trail=…]"


@pytest.mark.req("SKL-56")
async def test_n5_the_prompt_of_a_server_without_tools_is_a_command(tmp_path: Path) -> None:
    scenario = json.loads((WIRE / "n5_resources_only.stdio.json").read_text())
    scenario["on"]["prompts/get"] = [{"result": got("brief")}]
    async with house(tmp_path, mcp_servers=[docs(tmp_path, scenario)]) as home:
        assert home.app.slash.names() == ["mcp__docs__brief"]
        assert await home.app.slash.expand("/mcp__docs__brief topic=x") == "brief"
    assert asked(tmp_path) == [{"topic": "x"}]
