"""`hilt tools search`, `hilt tools tokens` and `hilt tools lint`."""

import json

import pytest

from tests.cli.kit import Hilt

TOOLS = [
    {"name": "fine", "description": "Does it.", "inputSchema": {"type": "object", "properties": {}}},
    {
        "name": "told",
        "description": "Does it.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}},
    },
]
LOST = {"name": "lost", "description": "x", "inputSchema": {"type": "string"}}


@pytest.mark.req("SRC-35")
def test_search_ranks_as_tool_search_does(hilt: Hilt) -> None:
    found = hilt("tools", "search", "entries of a directory", "--json").json["tools"]
    assert isinstance(found, list)
    assert found[0]["name"] == "ListDir"
    assert hilt("tools", "search", "Read").out.splitlines()[0].startswith("Read ")
    assert hilt("tools", "search", "zebra +stripes").out == "No tool matches 'zebra +stripes'.\n"
    names = [tool["name"] for tool in hilt("tools", "search", "write", "--json").json["tools"]]  # type: ignore[attr-defined]  # a list, as above
    assert "Write" not in names


@pytest.mark.req("SRC-49")
def test_tokens_shows_what_tools_cost_largest_first(hilt: Hilt) -> None:
    costs = hilt("tools", "tokens", "--json").json
    tools, servers = costs["tools"], costs["servers"]
    assert isinstance(tools, list)
    assert isinstance(servers, list)
    sizes = [tool["full"] for tool in tools]
    assert sizes == sorted(sizes, reverse=True)
    assert costs["full"] == sum(sizes) == sum(server["full"] for server in servers)
    assert (costs["counter"], costs["window"], costs["tier"]) == ("bytes/4", 128_000, "full")
    text = hilt("tools", "tokens").out
    assert text.startswith("SERVER")
    assert "a new session has the tier 'full'" in text


@pytest.mark.req("PRV-30", "PRV-33")
def test_lint_reads_a_file_and_its_exit_code_says_what_was_found(hilt: Hilt) -> None:
    file = hilt.root / "tools.json"
    file.write_text(json.dumps({"result": {"tools": TOOLS}}))
    ran = hilt("tools", "lint", "tools.json", "--provider", "generic", "--json")
    findings = ran.json["findings"]
    assert isinstance(findings, list)
    assert (ran.code, ran.json["tools"]) == (0, 2)
    assert findings == [
        {
            "server": "file",
            "tool": "told",
            "provider": "generic",
            "pointer": "/properties/a/maxLength",
            "rule": "told",
            "kind": "told",
            "text": "maxLength is said in the description",
        }
    ]
    assert hilt("tools", "lint", "tools.json", "--provider", "openai", "--strict").code == 0
    assert hilt("tools", "lint", "tools.json", "--strict").code == 1
    assert hilt("tools", "lint", "tools.json", "--server", "other").out == "0 tools, 0 findings.\n"
    file.write_text(json.dumps([*TOOLS, LOST]))
    lost = hilt("tools", "lint", "tools.json")
    assert lost.code == 1
    assert "withheld" in lost.out


@pytest.mark.req("PRV-33")
def test_lint_of_what_cannot_be_read_exits_2(hilt: Hilt) -> None:
    (hilt.root / "no.json").write_text("{")
    (hilt.root / "other.json").write_text('{"a": 1}')
    (hilt.root / "binary.json").write_bytes(b"\xff")
    for file in ("no.json", "other.json", "binary.json", "missing.json"):
        ran = hilt("tools", "lint", file)
        assert (ran.code, file in ran.err) == (2, True)
    assert hilt("tools", "lint", "no.json", "--provider", "nobody").code == 2


@pytest.mark.req("PRV-30")
def test_lint_without_a_file_looks_at_the_tools_of_the_application(hilt: Hilt) -> None:
    ran = hilt("tools", "lint", "--provider", "generic", "--json")
    assert ran.code == 0
    assert isinstance(ran.json["tools"], int)
    assert ran.json["tools"] >= 5
