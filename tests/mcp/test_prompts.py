"""Prompts of MCP servers as commands."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hilt.core.errors import RequestError
from hilt.mcp.prompts import PromptCommands, read_arguments
from hilt.mcp.server_lists import ListedPrompt, PromptArgument
from hilt.ports.mcp import Fault, McpFault, ServerFacts
from hilt.testing.mcp import FakeConnection, FakeDialer, Handler
from tests.mcp.mount import fails, managed
from tests.mcp_servers.kit import http_spec

CASES = json.loads((Path(__file__).parents[1] / "bugs" / "inputs" / "n_prompt_args.json").read_text())
BRIEF = {"name": "brief", "arguments": CASES["arguments"]}
COMMAND = "mcp__docs__brief"


def said(*contents: object, role: str = "user") -> Handler:
    """Answer with a message for each of the contents."""
    return lambda params: {"messages": [{"role": role, "content": content} for content in contents]}


def text(value: str) -> dict[str, object]:
    return {"type": "text", "text": value}


def prompting(*prompts: Mapping[str, object], get: Handler | None = None) -> FakeConnection:
    connection = FakeConnection(
        {"prompts/list": lambda params: {"prompts": list(prompts)}, "prompts/get": get or said(text("ok"))}
    )
    connection.facts = ServerFacts(name="fake", capabilities={"prompts": {}})
    return connection


@asynccontextmanager
async def commands(
    *connections: FakeConnection | McpFault, names: tuple[str, ...] = ("docs",)
) -> AsyncIterator[PromptCommands]:
    specs = [http_spec("http://127.0.0.1:9/x", name=name) for name in names]
    async with managed(FakeDialer(*connections), *specs, lists=("prompts",)) as manager:
        yield PromptCommands(lambda: manager.servers)


def gets(connection: FakeConnection) -> list[object]:
    return [request.params for request in connection.sent if request.method == "prompts/get"]


@pytest.mark.req("MCP-107", "MCP-109")
@pytest.mark.parametrize("case", CASES["lines"], ids=lambda case: case["in"])
async def test_arguments_reach_the_server_as_they_were_quoted(case: Mapping[str, object]) -> None:
    connection = prompting(BRIEF)
    async with commands(connection) as prompts:
        if isinstance(case["want"], dict):
            assert await prompts.expand(str(case["in"])) == "ok"
            assert gets(connection) == [{"name": "brief", "arguments": case["want"]}]
        else:
            with pytest.raises(RequestError, match="topic is missing; write /mcp__docs__brief topic=… "):
                await prompts.expand(str(case["in"]))
            assert gets(connection) == []


@pytest.mark.req("MCP-109")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("topic='a", "never closed"),
        ("topic=a loose", "'loose' is no key=value"),
        ("=a", "'=a' is no key=value"),
        ("topic=a topic=b", "topic is given twice"),
        ("topic=a other=b", "there is no argument 'other'"),
    ],
)
async def test_what_cannot_be_read_is_told_before_the_server_is_asked(given: str, told: str) -> None:
    connection = prompting(BRIEF)
    async with commands(connection) as prompts:
        with pytest.raises(RequestError, match=told):
            await prompts.expand(f"/{COMMAND} {given}")
    assert gets(connection) == []


def test_a_prompt_that_lists_no_arguments_takes_any_and_says_so_for_a_loose_word() -> None:
    prompt = ListedPrompt(name="p")
    assert read_arguments("a=b", prompt, command="c") == {"a": "b"}
    with pytest.raises(RequestError, match="write /c alone"):
        read_arguments("a", prompt, command="c")
    two = ListedPrompt(name="p", arguments=(PromptArgument(name="x", required=True), PromptArgument(name="y")))
    with pytest.raises(RequestError, match=r"write /c x=… \[y=…\]"):
        read_arguments("", two, command="c")


@pytest.mark.req("MCP-107")
async def test_the_server_ends_at_the_next_two_underscores_and_may_have_a_dash() -> None:
    connection = prompting({"name": "a__b"}, {"name": "b"})
    async with commands(connection, names=("my-docs",)) as prompts:
        assert prompts.names() == ["mcp__my_docs__a__b", "mcp__my_docs__b"]
        assert await prompts.expand("/mcp__my_docs__a__b") == "ok"
    assert gets(connection) == [{"name": "a__b", "arguments": {}}]


@pytest.mark.req("MCP-107", "SKL-60")
@pytest.mark.parametrize("line", ["/other", "/mcp__docs__none", "/mcp__none__brief", "/mcp__docs", "/"])
async def test_a_name_that_is_not_there_is_left_to_others(line: str) -> None:
    async with commands(prompting(BRIEF)) as prompts:
        assert await prompts.expand(line) is None


@pytest.mark.req("MCP-107", "MCP-97")
async def test_the_snapshot_is_that_of_the_connect_until_the_server_says_that_it_changed() -> None:
    listed = [BRIEF]
    connection = FakeConnection(
        {"prompts/list": lambda params: {"prompts": list(listed)}, "prompts/get": said(text("ok"))}
    )
    connection.facts = ServerFacts(name="fake", capabilities={"prompts": {}})
    async with commands(connection) as prompts:
        listed.append({"name": "later"})
        assert await prompts.expand("/mcp__docs__later") is None
        connection.notify("notifications/prompts/list_changed", {})
        assert await prompts.expand("/mcp__docs__later") == "ok"
        assert "mcp__docs__later" in prompts.names()


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
SOUND = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
FILE = {"type": "resource", "resource": {"uri": "a://1", "text": "inside"}}


@pytest.mark.req("MCP-107")
@pytest.mark.parametrize(
    ("get", "want"),
    [
        (said(text("as\r\nit is ")), "as\r\nit is "),
        (said(text("one"), text("two")), "one\n\ntwo"),
        (said(text("hm"), role="assistant"), "[assistant]\nhm"),
        (said(text("look"), FILE), "look\n\n[resource a://1]\ninside"),
        (said(IMAGE, SOUND), "[image image/png, 3 bytes: not shown]\n\n[audio audio/wav, 3 bytes: not shown]"),
        (said(text("one"), {"type": "new"}), "one\n\n[a content block of unknown type 'new' was left out]"),
        (lambda params: {"messages": [7, {"role": "user", "content": text("ok")}]}, "ok"),
    ],
)
async def test_messages_become_one_text(get: Handler, want: str) -> None:
    async with commands(prompting(BRIEF, get=get)) as prompts:
        assert await prompts.expand(f"/{COMMAND} topic=x") == want


@pytest.mark.req("MCP-87")
async def test_an_expansion_takes_the_path_of_calls_and_is_sent_again_as_one_that_only_reads() -> None:
    cut, fine = prompting(BRIEF, get=fails(Fault.CUT)), prompting(BRIEF)
    async with commands(cut, fine) as prompts:
        assert await prompts.expand(f"/{COMMAND} topic=x") == "ok"
    assert [request.method for request in fine.sent] == ["prompts/get"]


@pytest.mark.req("SKL-59")
@pytest.mark.parametrize(
    ("get", "told"),
    [
        (fails(Fault.DECLARED, "no", code=-32602), "answered 'brief' with error -32602: no"),
        (fails(Fault.TIMEOUT), "gave 'brief' no answer in 600 s"),
        (lambda params: {"messages": []}, "gave nothing for 'brief'"),
        (lambda params: {"messages": 7}, "gave nothing for 'brief'"),
    ],
)
async def test_a_server_that_does_not_give_the_prompt_is_an_error_to_the_user(get: Handler, told: str) -> None:
    async with commands(prompting(BRIEF, get=get)) as prompts:
        with pytest.raises(RequestError, match=told) as caught:
            await prompts.expand(f"/{COMMAND} topic=x")
    assert caught.value.code == "unavailable"


async def test_a_server_that_is_away_has_no_commands() -> None:
    async with commands(McpFault(Fault.NOT_SENT, "refused")) as prompts:
        assert prompts.names() == []
        assert await prompts.expand(f"/{COMMAND} topic=x") is None
