"""Every example runs as its reader would run it and prints what it is about; together they use the whole front door."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import hilt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DENIED = '{{"error": "access_denied", "message": "Tool {!r} is not allowed by policy: {}"}}'

PRINTED: dict[str, list[str]] = {
    "agent": [
        "15 degrees in hall",
        "hall is heated to 21",
        "",
        "It takes an hour.",
        "> Done. (end_turn, 2 calls)",
        DENIED.format("heat", "the rule 'heat(degrees=4*)' (CLI) denies it"),
        "> I may not. (end_turn, 1 calls)",
    ],
    "agents": [
        "How many texts are there?",
        '  {"files": 1}',
        "Have another one written.",
        "  It works in the background. A notice tells its end; agent_status shows how it stands, agent_cancel ends it.",
        "Is it there?",
        "The background agent agent-2 has ended: completed",
        "a.txt",
    ],
    "comms": [
        "request: sent, response: sent",
        'builder read: intent: build, params: {"tag": "v1"}',
        'planner read: result: {"ok": true}',
    ],
    "custom_tool_class": [
        "StockLevel: 12 pieces of bolt",
        "StockLevel: no article 'gold'; try one of bolt, nut",
    ],
    "custom_tool_function": [
        '{"description":"Count the words or lines of a text.","name":"word_count","schema":{'
        '"additionalProperties":false,"properties":{"text":{"description":"what to count","type":"string"},'
        '"unit":{"default":"words","description":"what counts as one","enum":["words","lines"],"type":"string"}},'
        '"required":["text"],"type":"object"}}',
        "Read: 1\ta b c",
        "word_count: 3",
        "… uploading",
        'publish: {"url": "https://pages.example/home"}',
        "7",
    ],
    "embed": [
        "asked: Write hello.txt -> allow_once",
        "created hello.txt: 6 bytes",
        "asked: Write other.txt -> deny",
        DENIED.format("Write", "the person who was asked denied it: one is enough"),
        "end_turn: One of two is written.",
        "First visit: 4 messages, events to result",
        "hello",
    ],
    "hook": [
        "  small_queries: allow, rewrote",
        "  small_queries: allow, rewrote",
        "  small_queries: allow, rewrote",
        "  no_salaries: deny",
        "  no-addresses: block",
        "rows of 'sum of sales', at most 50; contact: ann@example.com",
        DENIED.format("query", "hook 'no_salaries': salaries are not for agents"),
        DENIED.format("query", "guardrail 'no-addresses' withheld the result: a mail address. The call ran"),
    ],
    "mcp_servers": [
        "mcp__clock__convert_time, mcp__clock__get_current_time - for everyone",
        "mcp__guest__convert_time, mcp__guest__get_current_time - for this session",
        "mcp__clock__convert_time 15:30",
        "mcp__guest__convert_time 15:30",
    ],
    "memory": [
        "build/test-command: How to run the tests",
        "pytest -q",
        "Tool execution failed: 'build/test-command' has version 1, not '2'; "
        "look at it with InspectMemory and try again",
        "earlier: the magic number is 4711",
    ],
    "permission_file": [
        "sees Edit, Glob, Grep, ListDir, Read, ReadResult, Write",
        "created notes/today.md: 6 bytes",
        DENIED.format("Write", "no approver was present"),
        DENIED.format("Write", "the rule 'Write(secrets/**)' (CLI) denies it"),
        DENIED.format("Remove", "the tool filter of this session hides it"),
    ],
    "recorder": [
        'agent: pay {"to": "ann", "amount": 20} allow_once ok',
        'agent: pay {"to": "ann", "amount": 2000} deny error',
        'visit-2: pay {"to": "ann", "amount": 20} allow_once ok',
        'visit-2: pay {"to": "ann", "amount": 2000} deny error',
    ],
    "service": [
        "asked: Write plan.md",
        "created plan.md: 7 bytes",
        "end_turn: It is in plan.md.",
        "['Write allow_once']",
        "ended with 0",
    ],
    "skill_sources": [
        "skills: house-style, write-a-custom-tool, write-a-permission-file",
        "> Write in short sentences. Use British spelling.",
        "asset: colour, not color",
        "/house-style: Write in short sentences. Use British spelling.",
    ],
    "tasks": [
        "Sand the boards: completed by worker",
        "Paint the boards: pending, waits for 1",
        "invalid_arguments",
    ],
    "tenants": [
        "acme:1 ['invoice', 'report']",
        "tiny:1 ['invoice']",
        "bolt in the basket of customer-7",
        "no-fs ['ReadResult', 'report']",
    ],
    "tool_source": [
        "WebSearch: Release",
        "wiki_delete: " + DENIED.format("wiki_delete", "no approver was present"),
    ],
}


def test_every_example_has_its_output_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
        check=False,
    )
    assert (ran.stdout.splitlines(), ran.returncode) == (PRINTED[name], 0), ran.stderr
    assert ran.stderr == ""


def test_every_example_says_what_it_shows() -> None:
    docs = {path.stem: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for path in EXAMPLES.glob("*.py")}
    assert [name for name, text in docs.items() if not text] == []


def _calls() -> Iterator[tuple[str, set[str]]]:
    """Yield the name of everything that the examples call, with the keywords that they give."""
    for path in EXAMPLES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node.func.attr, {word.arg for word in node.keywords if word.arg is not None}


def _used(function: str) -> set[str]:
    return set().union(*(words for name, words in _calls() if name == function))


def _keywords(function: Callable[..., object]) -> set[str]:
    """Return the parameters of the function, which are keyword-only, all of them."""
    parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    given = {name: each.kind for name, each in parameters.items() if name != "self"}
    assert set(given.values()) == {inspect.Parameter.KEYWORD_ONLY}
    return set(given)


BUILD = (
    "config workspace store model tools sources enable own_names hooks guardrails rules approver recorder clock "
    "services mcp_servers skill_sources session_catalog on_event enable_builtins enable_shell enable_subagents "
    "enable_memory enable_comms"
)
CREATE = "id title mode model system_prompt profile enable tools limits mcp_servers"
AGENT = "catalog model env hooks rules approver recorder clock limits"


@pytest.mark.req("CAT-100")
async def test_the_front_door_has_its_parameters_and_examples_use_each() -> None:
    async with hilt.build() as app:
        create = app.sessions.create
    assert _keywords(hilt.build) == set(BUILD.split())
    assert _keywords(create) == set(CREATE.split())
    assert _keywords(hilt.Agent.__init__) >= set(AGENT.split())
    assert set(BUILD.split()) - _used("build") == set()
    assert set(CREATE.split()) - _used("create") == set()
    assert set(AGENT.split()) - _used("Agent") == set()
    assert {"prompt", "approve", "close"} <= {name for name, _ in _calls()}
