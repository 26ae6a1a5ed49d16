"""What an application makes of its settings: models, hooks, guardrails, servers."""

import logging
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hilt.app.build import build
from hilt.app.catalog import MCP_META_NAMES
from hilt.app.config import Config
from hilt.core.errors import ConfigError
from hilt.core.event import ToolSettled
from hilt.core.mcp import ChosenServer, McpServerSpec
from hilt.core.session import StopReason, UserMessage
from tests.app.house import house, remote, script_server
from tests.app.places import Machine
from tests.contracts.hook_endpoint import endpoint
from tests.flows.kit import call, says

META = {"ReadResult", "ToolSearch"}
READS = {"Read", "ListDir", "Glob", "Grep"}


async def built(root: Path, **options: object) -> set[str]:
    """Return the names in the catalog of an application."""
    async with house(root, **options) as home:
        return set(home.app.catalog.names)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("anthropic/claude-x", "ANTHROPIC_API_KEY"),
        ("openai/gpt-x", "OPENAI_API_KEY"),
        ("openai-responses/gpt-x", "OPENAI_API_KEY"),
        ("gpt-x", "unknown model 'gpt-x'"),
        ("scripted:no-such-file", "no-such-file"),
    ],
)
async def test_a_model_that_cannot_be_had_fails_the_session_and_is_named(tmp_path: Path, model: str, told: str) -> None:
    async with build(workspace=tmp_path, model=model) as app:
        with pytest.raises(ConfigError, match=re.escape(told)):
            await app.sessions.create()


async def test_a_script_is_played_from_its_start_by_each_session_and_a_model_with_a_key_is_shared(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "from the script"}\n')
    config = Config(environment={"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    async with build(workspace=tmp_path, model=f"scripted:{script}", config=config) as app:
        for _ in range(2):
            run = (await app.sessions.create()).prompt("go")
            result = await run.finished()
            assert result is not None
            assert result.final_text == "from the script"
        for _ in range(2):
            session = await app.sessions.create(model="openai/gpt-x")
            assert session.record.model == "openai/gpt-x"


async def test_a_session_without_a_model_tells_so_when_it_is_prompted(tmp_path: Path) -> None:
    async with build(workspace=tmp_path) as app:
        session = await app.sessions.create()
        result = await session.prompt("go").finished()
        assert result is not None
        assert result.stop_reason is StopReason.ERROR
        assert "model" in result.error


async def test_hooks_of_the_settings_run_over_http_and_one_without_its_variable_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine.below(tmp_path)
    with endpoint() as served, caplog.at_level(logging.WARNING):
        served.body = b'{"decision": "block", "reason": "not by me"}'
        header = "headers: {X-Key: '${HOOK_KEY}'}"
        missing = "headers: {X-Key: '${NOT_THERE}'}"
        machine.user(
            "hooks:\n  PreToolUse:\n"
            f"    - {{name: lost, url: '{served.url}', {missing}}}\n"
            f"    - {{name: far, url: '{served.url}', {header}}}\n"
        )
        config = machine.load(HOOK_KEY="k1")
        async with house(machine.root, config=config, tools=[says("Look")]) as home:
            assert [one.name for one in home.app.hooks] == ["far"]
            (result,) = await home.turn(await home.app.sessions.create(), call("Look"))
        assert [got["x-key"] for got in served.got_headers] == ["k1"]
    assert "not by me" in result.content
    (told,) = [record.getMessage() for record in caplog.records if "hook_left_out" in record.getMessage()]
    assert "lost" in told
    assert "NOT_THERE" in told


async def test_a_guardrail_of_the_settings_asks_the_model_or_holds_its_own_patterns(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user(
        "guardrails:\n"
        "  - {name: asks, direction: in, reviewer: model, match: [Look]}\n"
        "  - {name: words, direction: out, reviewer: patterns, patterns: ['hush+']}\n"
    )
    tools = [says("Look"), says("Tell", "it is hushhh")]
    async with house(machine.root, config=machine.load(), tools=tools) as home:
        session = await home.app.sessions.create()
        answers = [{"text": "BLOCK: too curious"}, {"text": "ALLOW"}, {"text": "done"}]
        calls = [call("Look", {"n": 1}), call("Look", {"n": 2}), call("Tell")]
        home.model.add({"calls": calls}, *answers)
        run = session.prompt("go")
        results = [event.body.result async for event in run if isinstance(event.body, ToolSettled)]
        asked = [message for request in home.model.requests[1:3] for message in request.messages]
    assert [result.is_error for result in results] == [True, False, True]
    assert "too curious" in results[0].content
    assert "words" in results[2].content
    assert "hush" not in results[2].content
    assert [isinstance(message, UserMessage) and '"Look"' in message.text for message in asked] == [True, True]


async def test_servers_of_the_settings_that_are_off_or_lack_a_variable_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def chosen(name: str, **more: object) -> ChosenServer:
        return ChosenServer(spec=replace(script_server(tmp_path, name, [remote("a")]), **more))  # type: ignore[arg-type]  # keys of an entry

    hidden = McpServerSpec(name="far", url="https://x.invalid", origin="user")
    servers = (
        replace(chosen("far"), hidden=(hidden,)),
        chosen("off", enabled=False),
        chosen("lost", env={"A": "${NOT_THERE}"}),
        chosen("host", command="no-such-program"),
    )
    config = Config(mcp_servers=servers, environment=dict(os.environ))
    given = [script_server(tmp_path, "host", [remote("b")])]
    with caplog.at_level(logging.WARNING):
        found = await built(tmp_path, config=config, mcp_servers=given)
    assert found - {*MCP_META_NAMES} == {"mcp__far__a", "mcp__host__b", *META, *READS}
    told = [record.getMessage() for record in caplog.records]
    assert [line.split()[0] for line in told if line.startswith("mcp_server_")] == [
        "mcp_server_hidden",
        "mcp_server_left_out",
    ]
    with pytest.raises(ConfigError, match="--no-stdio"):
        await built(tmp_path, config=replace(config, no_stdio=True))
