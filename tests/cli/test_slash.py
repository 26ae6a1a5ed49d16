"""`/mcp__server__prompt` in `chat` and `run`."""

import json
import sys
from pathlib import Path

import pytest

from tests.app.house import STDIO_REPLAY
from tests.cli.kit import Hilt
from tests.mcp_servers.kit import read_log


def docs(hilt: Hilt) -> Path:
    """Add a server with the prompt `brief`, which needs `topic`, and return its log."""
    prompt = {"name": "brief", "arguments": [{"name": "topic", "required": True}]}
    on = {
        "prompts/list": [{"result": {"prompts": [prompt]}}],
        "prompts/get": [{"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Be brief."}}]}}],
    }
    scenario = hilt.root / "docs.json"
    scenario.write_text(json.dumps({"capabilities": {"prompts": {}}, "on": on}))
    log = hilt.root / "docs.log"
    added = hilt(
        "mcp", "add", "docs", "--env", f"REPLAY_LOG={log}", "--", sys.executable, str(STDIO_REPLAY), str(scenario)
    )
    assert added.code == 0
    return log


def asked(log: Path) -> list[object]:
    received = [line["recv"] for line in read_log(log) if "recv" in line]
    return [m["params"]["arguments"] for m in received if isinstance(m, dict) and m.get("method") == "prompts/get"]


@pytest.mark.req("MCP-107", "MCP-109")
def test_run_sends_the_model_what_the_prompt_gives(hilt: Hilt) -> None:
    log = docs(hilt)
    model = hilt.script({"text": "done", "when": "Be brief."})
    ran = hilt("run", '/mcp__docs__brief topic="two words"', "--model", model)
    assert (ran.code, ran.out, ran.err) == (0, "done\n", "")
    assert asked(log) == [{"topic": "two words"}]


@pytest.mark.req("MCP-109", "SKL-59")
def test_run_tells_wrong_arguments_before_the_model_or_the_server_is_asked(hilt: Hilt) -> None:
    log = docs(hilt)
    ran = hilt("run", "/mcp__docs__brief topic='a", "--model", hilt.script({"text": "never"}))
    assert (ran.code, ran.out) == (2, "")
    assert "never closed: 'a" in ran.err
    assert asked(log) == []


@pytest.mark.req("SKL-60")
def test_run_leaves_a_name_that_nobody_knows_as_it_is(hilt: Hilt) -> None:
    model = hilt.script({"text": "done", "when": "/unknown topic=a"})
    assert hilt("run", "/unknown topic=a", "--model", model).out == "done\n"


@pytest.mark.req("CLI-23")
def test_without_the_switch_a_prompt_is_no_command(hilt: Hilt) -> None:
    log = docs(hilt)
    model = hilt.script({"text": "done", "when": "/mcp__docs__brief topic=a"})
    assert hilt("run", "/mcp__docs__brief topic=a", "--model", model, "--mcp-prompts=false").out == "done\n"
    assert asked(log) == []


@pytest.mark.req("MCP-107")
def test_chat_takes_prompts_as_commands_and_lists_them(hilt: Hilt) -> None:
    log = docs(hilt)
    model = hilt.script({"text": "done", "when": "Be brief."})
    typed = "/help\n/mcp__docs__brief\n/mcp__docs__brif topic=a\n/mcp__docs__brief topic=a\n/session\n"
    ran = hilt.really("chat", "--model", model, stdin=typed)
    assert (ran.code, ran.err) == (0, "")
    assert "\n/mcp__docs__brief  " in ran.out
    assert "topic is missing; write /mcp__docs__brief topic=…" in ran.out
    assert "no command /mcp__docs__brif; did you mean 'mcp__docs__brief'?" in ran.out
    assert "\ndone\n" in ran.out
    assert ": 1 turns" in ran.out
    assert asked(log) == [{"topic": "a"}]


@pytest.mark.req("MCP-108")
def test_the_help_says_that_prompts_are_for_trusted_servers(hilt: Hilt) -> None:
    words = " ".join(hilt("run", "--help").out.split())
    assert "They steer the model: for trusted servers only." in words
